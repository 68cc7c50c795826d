"""Memories with a bound: the oldest entry goes first, and each one that goes is counted by what it was."""

from __future__ import annotations

from collections import Counter
from typing import Final, TypeVar

__all__ = ["MEMORIES", "trim"]

MEMORIES: Final = (
    "open_spans",
    "ended_spans",
    "traces",
    "agents",
    "calls",
    "marks",
    "stamps",
    "remarks",
    "digests",
    "paces",
)
"""What is remembered. All but open spans, marks and stamps fall out in the course of a long run."""

_K = TypeVar("_K")
_V = TypeVar("_V")


def trim(entries: dict[_K, _V], limit: int, dropped: Counter[str], what: str) -> list[tuple[_K, _V]]:
    """Drop the oldest entries over the limit, count them as `what`, and return them."""
    gone: list[tuple[_K, _V]] = []
    while len(entries) > limit:
        # Another thread may have been here first, where the owner holds no lock.
        oldest = next(iter(entries), None)
        if oldest is None or oldest not in entries:
            break
        gone.append((oldest, entries.pop(oldest)))
        dropped[what] += 1
    return gone
