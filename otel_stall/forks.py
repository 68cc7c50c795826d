"""What is renewed in a forked child: a lock that a thread of the parent held would never be given back there."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable

__all__ = ["renew_in_children"]


def renew_in_children(renew: Callable[[], None]) -> None:
    """Have `renew` called in every process forked from this one; a method while its object lives, which this keeps not.

    Does nothing where processes cannot be forked.
    """
    if not hasattr(os, "register_at_fork"):
        return
    held = weakref.WeakMethod(renew) if hasattr(renew, "__self__") else lambda: renew

    def in_child() -> None:
        if (known := held()) is not None:
            known()

    os.register_at_fork(after_in_child=in_child)
