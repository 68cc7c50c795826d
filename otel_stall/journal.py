"""`Journal`: what lanes were told since it was last asked, so that a lane is saved without writing all of it.

A lane grows with its run, an entry does not. A saved lane is a dump and the entries since; folding them again
gives the lane, as the fold is deterministic. Entries hold observations, digests and no content.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

from otel_stall.calls import Hints, Reading, ToolCall
from otel_stall.errors import UNREADABLE, SnapshotError
from otel_stall.observations import Observation

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["Entry", "Journal", "LaneChange", "LaneKey"]

LaneKey = tuple[str, str]
"""Conversation and lane."""

WHOLE_EVERY: Final = 256
"""Entries after which a lane is saved whole, so that little has to be folded again."""

_TOOL: Final = ToolCall("")


@dataclass(frozen=True, slots=True)
class Entry:
    """What the monitor was called with for one lane, and when; `mark`: milestones of a span that was still open."""

    reading: Reading
    observed: Observation | None
    agent: str
    now_ns: int = 0
    mark: bool = False

    @classmethod
    def of(
        cls, reading: Reading, observed: Observation | None, agent: str, now_ns: int = 0, *, mark: bool = False
    ) -> Entry:
        """Return the entry of a call, without what the span held."""
        record = _without_content(reading.record) if isinstance(reading.record, ToolCall) else None
        return cls(replace(reading, record=record, name="", scope=""), observed, agent, now_ns, mark)

    def dump(self) -> str:
        """Return the entry as JSON."""
        tool = self.reading.record.hints if isinstance(self.reading.record, ToolCall) else None
        value = {
            "reading": _plain(replace(self.reading, record=None)),
            "tool": _plain(tool) if tool is not None else None,
            "kind": type(self.observed).__name__ if self.observed is not None else None,
            "observed": _plain(self.observed) if self.observed is not None else None,
            "agent": self.agent,
            "now": self.now_ns,
            "mark": self.mark,
        }
        # pydantic's own JSON refuses lone surrogates.
        return json.dumps(value, default=sorted, separators=(",", ":"))

    @staticmethod
    def load(data: str) -> Entry:
        """Return the entry of a dump; raises SnapshotError where it is damaged."""
        try:
            value = json.loads(data)
            reading: Reading = _adapter(Reading).validate_python(value["reading"])
            if value["tool"] is not None:
                hints = _adapter(Hints).validate_python(value["tool"])
                reading = replace(reading, record=replace(_TOOL, hints=hints))
            kind = value["kind"]
            observed = _adapter(_KINDS[kind]).validate_python(value["observed"]) if kind is not None else None
            return Entry(reading, observed, str(value["agent"]), int(value["now"]), bool(value["mark"]))
        except UNREADABLE as error:
            raise SnapshotError(f"an entry of a lane cannot be read: {type(error).__name__}") from None


class LaneChange(NamedTuple):
    """What changed of one lane: entries to be added, or `anew`: all of it, in a dump, None where it is gone."""

    anew: bool
    state: str | None
    entries: tuple[str, ...]

    def after(self, earlier: LaneChange | None) -> LaneChange:
        """Return both changes as one."""
        if earlier is None or self.anew:
            return self
        return earlier._replace(entries=earlier.entries + self.entries)


class Journal:
    """Takes down entries until they are collected; not thread-safe, its owner holds one lock around it."""

    def __init__(self, whole_every: int = WHOLE_EVERY) -> None:
        self._whole_every = whole_every
        self._entries: dict[LaneKey, list[Entry]] = {}
        self._since: dict[LaneKey, int] = {}
        self._anew: set[LaneKey] = set()

    def add(self, key: LaneKey, entry: Entry) -> None:
        """Take down what a lane was told."""
        self._entries.setdefault(key, []).append(entry)

    def anew(self, key: LaneKey) -> None:
        """Take note that a lane fell out, or was put together from others: entries no longer lead to it."""
        self._entries.pop(key, None)
        self._anew.add(key)

    def collect(self, dump: Callable[[LaneKey], str | None]) -> dict[LaneKey, LaneChange]:
        """Return what changed since this was last asked; `dump` gives a lane whole, None where it is gone."""
        for key, entries in self._entries.items():
            self._since[key] = self._since.get(key, 0) + len(entries)
            if self._since[key] >= self._whole_every:
                self._anew.add(key)
        changes = {key: LaneChange(True, dump(key), ()) for key in self._anew}
        for key, entries in self._entries.items():
            if key not in changes:
                changes[key] = LaneChange(False, None, tuple(entry.dump() for entry in entries))
        for key in self._anew:
            self._since.pop(key, None)
        self._entries, self._anew = {}, set()
        return changes


_KINDS: Final[dict[str, Any]] = {kind.__name__: kind for kind in get_args(Observation)}


def _without_content(call: ToolCall) -> ToolCall:
    """Return what folding looks at of a call beside its observation."""
    return replace(_TOOL, hints=replace(_TOOL.hints, compaction=call.hints.compaction))


def _plain(value: Any) -> object:
    kind: Any = type(value)
    return _adapter(kind).dump_python(value, exclude_defaults=True)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
