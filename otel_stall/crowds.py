"""`Crowds`: which traces and conversations have to be judged together, because a span belongs to both.

A conversation may take several traces, and a trace may hold several conversations. What hangs together by any
span is one crowd; crowds share nothing, and can be judged one after the other or at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable

from otel_stall.calls import Reading
from otel_stall.fingerprints import digest
from otel_stall.lineage import ID_CHARS, UNNAMED

__all__ = ["Crowds", "names_of"]


def names_of(reading: Reading) -> tuple[int, ...]:
    """Return digests of the trace and the conversations that a span speaks of, the trace first.

    A trace that names no conversation stands for one, so that both are names of one kind.
    """
    named = [reading.trace_id or UNNAMED, reading.conversation[:ID_CHARS], reading.resource_conversation[:ID_CHARS]]
    named += [mark.conversation for mark in reading.marks]
    return tuple(digest(name) for name in dict.fromkeys(named) if name)


class Crowds:
    """Joins names that some span has in common; takes some hundred bytes for each name."""

    def __init__(self) -> None:
        self._above: dict[int, int] = {}

    def join(self, names: Iterable[int]) -> None:
        """Take note that these names hang together."""
        heads = {self.of(name) for name in names}
        # The smallest name stands for all, so that the order of joining makes no difference.
        least = min(heads)
        for head in heads:
            self._above[head] = least

    def of(self, name: int) -> int:
        """Return the name that stands for the crowd of a name."""
        above = self._above.setdefault(name, name)
        while above != name:
            self._above[name] = self._above[above]
            name, above = above, self._above[above]
        return name
