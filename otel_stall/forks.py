"""What is renewed in a forked child: a lock that a thread of the parent held would never be given back there."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any

__all__ = ["renew_in_children"]

_renewed: dict[Callable[[], Any], None] = {}
"""What gives each function to call, or None, in the order in which they came."""


def renew_in_children(renew: Callable[[], None]) -> None:
    """Have `renew` called in every process forked from this one; a method while its object lives, which this keeps not.

    Does nothing where processes cannot be forked.
    """
    held: Callable[[], Any] = weakref.WeakMethod(renew, _gone) if hasattr(renew, "__self__") else lambda: renew
    _renewed[held] = None


def _gone(held: Callable[[], Any]) -> None:
    _renewed.pop(held, None)


def _in_child() -> None:
    for held in list(_renewed):
        if (known := held()) is not None:
            known()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)  # once: what is registered there stays for ever
