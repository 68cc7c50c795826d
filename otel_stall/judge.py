"""`Judge`: whose a span is and what it gained, one span after the other, behind one lock."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Final, NamedTuple

from otel_stall import attributes as names
from otel_stall.bounded import trim
from otel_stall.calls import HostMark, Reading
from otel_stall.clocks import AHEAD_NS, arrived
from otel_stall.conversations import Lane
from otel_stall.dialects.doubles import Doubles
from otel_stall.forks import renew_in_children
from otel_stall.journal import Entry, LaneChange, LaneKey
from otel_stall.lineage import Lineage, Opening, TraceState, Whose
from otel_stall.monitor import Monitor
from otel_stall.silence import Pace, Silence
from otel_stall.status import Status, status_of
from otel_stall.values import replace
from otel_stall.verdicts import Judged

__all__ = ["HINTS", "Census", "Changes", "Judge", "Judgement"]

HINTS: Final = {names.RUN_ID: "run_id", names.TASK_ID: "task_id", names.TASK_CLASS: "task_class"}
"""Entries of the baggage that count for every span of its context, and the fields of a reading they fill."""


_MARKS: Final = 128
"""Milestones of an open span that are known to be counted: the events that the SDK keeps on a span."""


class Judgement(NamedTuple):
    """What is to be said of one span: its reading, completed by what is around it, and the verdicts."""

    reading: Reading
    judged: Sequence[Judged] = ()


class Census(NamedTuple):
    """How many conversations are known, and how many of them are inside a stall; what fell out, came late or was
    passed untouched so far. `forgotten` counts what else fell out of the memories of `bounded`.
    """

    conversations: int = 0
    active: int = 0
    evictions: int = 0
    late_steps: int = 0
    skipped: int = 0
    forgotten: Mapping[str, int] = MappingProxyType({})


class Changes(NamedTuple):
    """Lanes and traces by their keys; a trace is None where it is gone."""

    lanes: Mapping[LaneKey, LaneChange]
    traces: Mapping[str, TraceState | None]


class Judge:
    """Leads readings through lineage, doubles and monitor, on any thread.

    No method waits longer than `wait_seconds` for another thread. The end of a span that comes at a bad
    time is left out and counted in `skipped`, as are a start and a milestone. The agent's open span is told
    of each verdict. What the monitor raises comes through. `dropped` counts what fell out of a memory beside it,
    its owner's too.
    """

    def __init__(self, monitor: Monitor, *, wait_seconds: float = 1.0, clock: Callable[[], int] = time.time_ns) -> None:
        self.monitor = monitor
        # A monitor that was restored before it came here may have none.
        self._clock = monitor.clock = monitor.clock or clock
        self.skipped = 0
        self._wait = wait_seconds
        self._lineage = Lineage(monitor.config.bounds.open_spans)
        self._doubles = Doubles()
        self.dropped: Counter[str] = Counter()
        self._pace = Pace(monitor.config.pressure, self.dropped)
        self._marked: dict[tuple[str, str], list[HostMark]] = {}
        self._busy = False
        self._lock = threading.RLock()
        renew_in_children(self._renew_lock)

    def opened(self, opening: Opening, *, named: bool) -> str:
        """Take note of a span that started, and return the conversation it starts in, "" where not known.

        `named`: the span says at its start which agent it is.
        """
        if not self._acquire():
            self.skipped += 1
            return ""
        try:
            if opening.start_ns > (now_ns := self._clock()) + AHEAD_NS:
                opening = opening._replace(start_ns=now_ns)
            conversation = self._lineage.opened(opening)
            if named:
                self._lineage.named(opening.trace_id, opening.span_id)
            return conversation
        finally:
            self._lock.release()

    def passed(self, trace_id: str, span_id: str, end_ns: int) -> None:
        """Take note of the end of a span in which there is nothing to read, as most spans of a host."""
        if not self._acquire():
            self.skipped += 1
            return
        try:
            self._lineage.passed(trace_id, span_id, min(end_ns, self._clock() + AHEAD_NS))
        finally:
            self._lock.release()

    def ended(self, readings: Sequence[Reading], once: Sequence[Reading] | None = None) -> list[Judgement]:
        """Return what is to be said of spans that ended, in the order given: that of their ends.

        All of them are known to the lineage before the first is judged. `once` are those to judge, where the
        caller has put together what is told of one call twice.
        """
        now_ns = self._clock()
        readings = [arrived(reading, now_ns) for reading in readings]
        once = [arrived(reading, now_ns) for reading in once] if once is not None else readings
        untouched = [Judgement(reading) for reading in readings]
        if not self._acquire():
            self.skipped += len(readings)
            return untouched
        try:
            # The garbage collector can end a span of this very thread in the middle of the fold.
            if self._busy:
                self.skipped += len(readings)
                return untouched
            self._busy = True
            try:
                for reading in readings:
                    self._lineage.ended(reading)
                return [self._judge(reading) for reading in once]
            finally:
                self._busy = False
        finally:
            self._lock.release()

    def marked(self, reading: Reading) -> Judgement:
        """Return what is to be said of the milestone that a reading of `at_mark` holds, while its span is open.

        The end of the span does not count it again.
        """
        reading = arrived(reading, self._clock())
        if not self._acquire():
            self.skipped += 1
            return Judgement(reading)
        try:
            if self._busy:
                self.skipped += 1
                return Judgement(reading)
            self._busy = True
            try:
                return self._mark(reading)
            finally:
                self._busy = False
        finally:
            self._lock.release()

    def knows(self, trace_id: str, span_id: str) -> bool:
        """Return whether a span was seen at its start or end and is remembered; takes no lock."""
        return self._lineage.knows(trace_id, span_id)

    def census(self) -> Census | None:
        """Return the figures of now, None where another thread was in the way for too long."""
        if not self._acquire():
            return None
        try:
            lanes = list(self.monitor.lanes)
            evicted, late = self.monitor.lanes.evicted, self.monitor.late_steps
            forgotten = self.dropped + self._doubles.dropped + self._lineage.dropped
            forgotten["digests"] += self.monitor.lanes.dropped
        finally:
            self._lock.release()
        known = {conversation for (conversation, _), _ in lanes}
        active = {conversation for (conversation, _), lane in lanes if lane.open is not None}
        return Census(len(known), len(active), evicted, late, self.skipped, +forgotten)

    def status(self, conversation: str = "", *, limit: int = 1) -> tuple[Status, ...] | None:
        """Return where the lanes of a conversation stand, or without one the `limit` lanes used last, newest first.

        None where another thread was in the way for too long.
        """
        if not self._acquire():
            return None
        try:
            if conversation:
                return self.monitor.status(conversation)
            return tuple(status_of(key, lane) for key, lane in islice(reversed(list(self.monitor.lanes)), limit))
        finally:
            self._lock.release()

    def standing(self, conversation: str, *, lane: str = "", agent: str = "") -> Status | None:
        """Return where one lane of a conversation stands: that of this name or agent, or the one used last.

        None where there is none, or another thread was in the way for too long.
        """
        if not self._acquire():
            return None
        try:
            return self.monitor.standing(conversation, lane=lane, agent=agent)
        finally:
            self._lock.release()

    def whose(self, reading: Reading) -> Whose | None:
        """Return whose a span is that is still open; None where another thread was in the way for too long."""
        if not self._acquire():
            return None
        try:
            whose = self._lineage.resolve(reading)
            self._rename()
            return whose
        finally:
            self._lock.release()

    def late(self, now_ns: int) -> tuple[Silence, ...]:
        """Return the tool calls and agents that are open and late; () where another thread was in the way."""
        if not self._acquire():
            return ()
        try:
            config = self.monitor.config.pressure
            least = int(min(config.hung_seconds, config.silent_seconds) * 1e9)
            return self._pace.late(self._lineage.running(now_ns - least), now_ns)
        finally:
            self._lock.release()

    def changed(self) -> Changes | None:
        """Return what changed since this was last asked, to be saved; None where another thread was in the way.

        The first time nothing: from then on changes are noted.
        """
        if not self._acquire():
            return None
        try:
            return Changes(self.monitor.lanes.collect(), self._lineage.changed())
        finally:
            self._lock.release()

    def adopt(self, lanes: Mapping[LaneKey, tuple[Lane, Sequence[Entry]]], traces: Mapping[str, TraceState]) -> None:
        """Go on where what was saved ended; called before the first span."""
        for key, (lane, entries) in sorted(lanes.items(), key=_last_used):
            self.monitor.replay(key, lane, entries)
        self._lineage.adopt(traces)

    def _acquire(self) -> bool:
        return self._lock.acquire(timeout=self._wait)

    def _mark(self, reading: Reading) -> Judgement:
        (mark,) = reading.marks
        if not reading.span_id:
            return Judgement(reading, self.monitor.mark(reading, mark.conversation, "", ""))
        whose = self._lineage.resolve(reading)
        self._rename()
        counted = self._marked.setdefault((reading.trace_id, reading.span_id), [])
        counted.append(mark)
        self.dropped["marks"] += len(counted[:-_MARKS])
        del counted[:-_MARKS]
        trim(self._marked, self.monitor.config.bounds.open_spans, self.dropped, "marks")
        if mark.conversation not in ("", whose.conversation):
            return Judgement(reading, self.monitor.mark(reading, mark.conversation, "", ""))
        completed = _with_hints(reading, whose.hints)
        judged = self.monitor.mark(completed, whose.conversation, whose.lane, whose.agent)
        if judged and (agent := self._lineage.agent_above(completed)) is not None:
            agent.tell(judged)
        return Judgement(completed, judged)

    def _rename(self) -> None:
        """Let what was counted go on under the ids that became known."""
        for one in self._lineage.renamed():
            self.monitor.rename(one.old, one.new)

    def _judge(self, reading: Reading) -> Judgement:
        if self._marked and (counted := self._marked.pop((reading.trace_id, reading.span_id), None)):
            reading = replace(reading, marks=tuple(mark for mark in reading.marks if mark not in counted))
        ours = not reading.judged and (reading.record is not None or bool(reading.marks))
        admitted = self._doubles.admit(reading, self._lineage.ancestors(reading)) if ours else None
        whose = self._lineage.resolve(admitted) if admitted is not None else None
        self._rename()
        if admitted is None or whose is None:
            return Judgement(reading)
        completed = _with_hints(admitted, whose.hints)
        self._pace.saw(completed, whose.conversation, whose.lane)
        judged = self.monitor.observe(completed, whose.conversation, whose.lane, whose.agent)
        if judged and (agent := self._lineage.agent_above(completed)) is not None:
            agent.tell(judged)
        return Judgement(completed, judged)

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()
        self._busy = False


def _last_used(saved: tuple[LaneKey, tuple[Lane, Sequence[Entry]]]) -> int:
    _, (lane, entries) = saved
    return entries[-1].now_ns if entries else lane.used_ns


def _with_hints(reading: Reading, hints: tuple[tuple[str, str], ...]) -> Reading:
    missing = {HINTS[key]: value for key, value in hints if not getattr(reading, HINTS[key])}
    return replace(reading, **missing) if missing else reading  # type: ignore[arg-type] # all are strings
