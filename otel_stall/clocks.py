"""Which times of spans are believed, so that one with a wrong time moves no clock that others are measured by.

Live there is a better witness than any span, the clock of arrival: what ends later than it has a time of another
clock, and is taken to end now. Counting on a second span to confirm a time would not do there: a host that gives
one time in a wrong unit gives all of them so. Afterwards nobody knows when a span arrived, and the result
must not depend on the day of the analysis: there a time counts once another span has reached it, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from otel_stall.calls import Reading
from otel_stall.values import replace

__all__ = ["AHEAD_NS", "SetClock", "arrived", "confirmed"]

AHEAD_NS: Final = 86_400 * 10**9
"""How far ahead a time may be: a day. A clock set to another time zone is less, a wrong unit far more."""


def arrived(reading: Reading, now_ns: int) -> Reading:
    """Return a reading as it can be believed at `now_ns`, the time of its arrival: itself, but for a far future."""
    if reading.end_ns <= now_ns + AHEAD_NS:
        return reading
    return replace(reading, start_ns=min(reading.start_ns, now_ns), end_ns=now_ns)


def confirmed(ends_ns: Sequence[int]) -> Iterator[int]:
    """Yield for each end, all in order, the latest time up to it that another span has reached, too.

    That is the end itself, but for the last one: the end before it. A last one alone cannot be told from a wrong
    time, and one that goes on with what was known before costs no more than a single step.
    """
    yield from ends_ns[:-1]
    yield from ends_ns[-2:][:1]


class SetClock:
    """A clock that stands where it was set, for readings that are folded long after their time."""

    def __init__(self, now_ns: int = 0) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        """Return the time it was set to."""
        return self.now_ns
