"""What is renewed in a forked child: a lock that a thread of the parent held would never be given back there."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from types import MethodType
from typing import Any

__all__ = ["renew_in_children"]

_Held = tuple[weakref.ref[Any] | None, Callable[..., None]]

_renewed: dict[int, _Held] = {}
"""Each function to call, with its object where it is a method, by what tells them apart; in the order they came."""


def renew_in_children(renew: Callable[[], None]) -> None:
    """Have `renew` called in every process forked from this one; a method while its object lives, which this keeps not.

    Does nothing where processes cannot be forked.
    """
    if isinstance(renew, MethodType):
        # A WeakMethod complains at the end of the interpreter, where object and function go at once.
        owner = weakref.ref(renew.__self__, _gone)
        _renewed[id(owner)] = owner, renew.__func__
    else:
        _renewed[id(renew)] = None, renew


def _gone(owner: weakref.ref[Any], renewed: dict[int, _Held] = _renewed) -> None:
    renewed.pop(id(owner), None)


def _in_child() -> None:
    for owner, renew in list(_renewed.values()):
        if owner is None:
            renew()
        elif (known := owner()) is not None:
            renew(known)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)  # once: what is registered there stays for ever
