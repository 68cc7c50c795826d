"""`Problem`, one thing that could not be read, and `Problems`, a bounded list of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from otel_stall.otlp import Report, Signal

__all__ = ["KEPT", "Problem", "Problems"]

KEPT = 100
"""Problems that are kept; later ones are counted."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What could not be used and where; `line` is None where lines or positions mean nothing."""

    source: str
    line: int | None
    error: str


@dataclass(slots=True)
class Problems:
    """What went wrong while reading, and what was recognised; never raises, bounded.

    `requests` counts the requests (or dumped spans) that were recognised, by signal; those of metrics are passed
    over. `items` counts the spans and log records that were read out of them.
    """

    kept: list[Problem] = field(default_factory=list)
    dropped: int = 0
    requests: Counter[Signal] = field(default_factory=Counter)
    items: int = 0

    def add(self, source: str, line: int | None, error: str) -> None:
        """Keep a problem, or count it when there are too many."""
        if len(self.kept) < KEPT:
            self.kept.append(Problem(source, line, error))
        else:
            self.dropped += 1

    def at(self, source: str, line: int | None) -> Report:
        """Return a function that adds problems of one place."""
        return lambda error: self.add(source, line, error)

    @property
    def exports(self) -> int:
        """How many requests of traces or logs there were, with anything in them or not."""
        return self.requests[Signal.TRACES] + self.requests[Signal.LOGS]

    @property
    def count(self) -> int:
        """How many problems there were, kept or not."""
        return len(self.kept) + self.dropped
