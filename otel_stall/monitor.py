"""`Monitor`, the only orchestrator: readings in, verdicts out. It holds no rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from otel_stall.calls import HostMark, Reading, ToolCall
from otel_stall.clocks import SetClock
from otel_stall.config import StallConfig
from otel_stall.conversations import Lane, LaneKey, Lanes
from otel_stall.fold import fold
from otel_stall.journal import Entry
from otel_stall.observations import Compaction, HostMilestone, Observation
from otel_stall.rulings import Rulings
from otel_stall.status import Status, status_of
from otel_stall.steps import observation
from otel_stall.turns import with_boundaries
from otel_stall.values import replace
from otel_stall.verdicts import Judged, Verdict

__all__ = ["MAIN", "Monitor", "at_mark"]

MAIN = "main"
"""The lane of a conversation in which no agent is named."""

_MAX_SPANS = 4_096
_TIDY = 512


class Monitor:
    """Folds readings into verdicts, conversation by conversation.

    `clock` gives the time in ns by which lanes are idle, and beyond which nothing has ended: that of arrival for
    a live owner, which sets it where there is none, so that no span with a wrong time can make a lane look old.
    Without one it is the time of the readings. Not thread-safe: its owner holds one lock around it.
    """

    def __init__(self, config: StallConfig | None = None, *, clock: Callable[[], int] | None = None) -> None:
        self.config = config or StallConfig()
        self.lanes = Lanes(self.config.bounds)
        self.rulings = Rulings.of(self.config.milestones)
        self.clock = clock

    @property
    def late_steps(self) -> int:
        """Steps so far that ended before one that came earlier."""
        return self.lanes.late

    def observe(self, reading: Reading, conversation: str, lane: str, agent: str) -> Sequence[Judged]:
        """Return what the fold says of each observation this reading holds, in order.

        Called in end-time order (ties: start time, span id). `conversation`, `lane` and `agent` are what
        `lineage` found. Empty where nothing is to be said: a span seen before, a duplicate of one call, a
        call that waits for an approval, a model turn that changes nothing. Never raises on content.
        """
        return self.judge(reading, observation(reading, self.rulings), conversation, lane, agent)

    def judge(
        self, reading: Reading, observed: Observation | None, conversation: str, lane: str, agent: str
    ) -> Sequence[Judged]:
        """Return the same for a reading whose observation was made before; its raw record is not looked at."""
        listed = list(_observations(reading, observed, conversation))
        if not listed:
            return ()
        known = self.lanes.get((conversation, lane))
        if known is not None and _span_of(reading) in known.spans:
            return ()
        now_ns = self._now(reading)
        self.lanes.expire(now_ns)
        state = self.lanes.use((conversation, lane), now_ns)
        _remember(state, reading)
        if self.lanes.journal is not None:
            self.lanes.journal.add((conversation, lane), Entry.of(reading, observed, agent, now_ns))
        return self._judged(state, reading, listed, (conversation, lane), agent)

    def mark(self, reading: Reading, conversation: str, lane: str, agent: str) -> Sequence[Judged]:
        """Return what the fold says of the milestones that a reading of `at_mark` holds, whatever else its span is.

        Called in the order of time among the readings. A `lane` of "" is the one that the conversation used last.
        """
        lane, now_ns = lane or self.lanes.latest(conversation) or MAIN, self._now(reading)
        state = self.lanes.use((conversation, lane), now_ns)
        if self.lanes.journal is not None:
            self.lanes.journal.add((conversation, lane), Entry.of(reading, None, agent, now_ns, mark=True))
        listed = [HostMilestone(mark.milestone, mark.evidence) for mark in reading.marks]
        return self._judged(state, reading, listed, (conversation, lane), agent)

    def _judged(
        self, state: Lane, reading: Reading, listed: Sequence[Observation], key: LaneKey, agent: str
    ) -> Sequence[Judged]:
        self._admit(state, reading, agent)
        judged = []
        for one in with_boundaries(state, reading, listed):
            verdict = fold(state, one, self.config)
            if verdict is None:
                continue
            _trace_milestones(state, verdict, reading.trace_id)
            judged.append(
                Judged(
                    conversation=key[0],
                    lane=key[1],
                    agent=state.agent,
                    service=state.service,
                    trace_id=reading.trace_id,
                    span_id=reading.span_id,
                    observation=one,
                    verdict=verdict,
                    partial=state.partial,
                )
            )
        return judged

    def rename(self, old: str, new: str) -> None:
        """Let what was counted under the provisional conversation `old` (a trace id) go on under `new`.

        Called at most once per `old`, before the first observation under `new` that follows from it. Where
        `new` has the lane already, `old` goes on in its place, being the later, with what `new` had seen
        and reached; its steps keep the numbers that are on their spans.
        """
        self.lanes.rename(old, new)

    def status(self, conversation: str) -> tuple[Status, ...]:
        """Return where the lanes of a conversation stand, the one used last at the end; () where it is not known."""
        return tuple(status_of(key, lane) for key, lane in self.lanes if key[0] == conversation)

    def standing(self, conversation: str, *, lane: str = "", agent: str = "") -> Status | None:
        """Return where the lane of this name or agent stands, the one used last; None where there is none."""
        for key, state in reversed(self.lanes):
            if key[0] == conversation and (not lane or key[1] == lane) and (not agent or state.agent == agent):
                return status_of(key, state)
        return None

    def replay(self, key: LaneKey, lane: Lane, entries: Iterable[Entry]) -> None:
        """Take in a saved lane and fold what was told to it since; called before the first reading."""
        self.lanes.put(key, lane)
        own, clock = self.clock, SetClock()
        self.clock = clock
        for entry in entries:
            clock.now_ns = entry.now_ns or entry.reading.end_ns
            if entry.mark:
                self.mark(entry.reading, *key, entry.agent)
            else:
                self.judge(entry.reading, entry.observed, *key, entry.agent)
        self.clock = own

    def snapshot(self) -> str:
        """Return the state of all lanes as one JSON text, without any content of calls or results."""
        return self.lanes.snapshot()

    def restore(self, snapshot: str) -> None:
        """Go on where a snapshot ended; raises SnapshotError and changes nothing where it cannot be read."""
        self.lanes.restore(snapshot)

    def _admit(self, state: Lane, reading: Reading, agent: str) -> None:
        state.agent = agent or state.agent
        state.service = reading.service or state.service
        state.task_class = reading.task_class or state.task_class
        state.partial = state.partial or not reading.sampled
        if reading.end_ns < state.last_end_ns:
            state.late += isinstance(reading.record, ToolCall)
        state.last_end_ns = max(state.last_end_ns, min(reading.end_ns, state.used_ns))

    def _now(self, reading: Reading) -> int:
        return self.clock() if self.clock is not None else reading.end_ns


def at_mark(reading: Reading, mark: HostMark) -> Reading:
    """Return a reading of one milestone at its own time, with what the span says of its run; for `Monitor.mark`.

    A time outside of the span is that of another clock, and the span's end stands for it. What is another
    conversation's says nothing of the run.
    """
    within = reading.start_ns <= mark.time_ns <= reading.end_ns
    time_ns = mark.time_ns if within else reading.end_ns
    run_id = "" if mark.conversation else reading.run_id
    return replace(reading, record=None, turn="", run_id=run_id, marks=(mark,), start_ns=0, end_ns=time_ns)


def _observations(reading: Reading, observed: Observation | None, conversation: str) -> Iterator[Observation]:
    if isinstance(reading.record, ToolCall) and reading.record.hints.compaction:
        yield Compaction("stall.compaction")
    for mark in reading.marks:
        if mark.conversation in ("", conversation):
            yield HostMilestone(mark.milestone, mark.evidence)
    if observed is not None:
        yield observed


def _trace_milestones(state: Lane, verdict: Verdict, trace_id: str) -> None:
    """Say of the milestones that were just reached in which trace that was, which the fold does not know."""
    new = sum(changed.milestone is not None for changed in verdict.changes)
    if new:
        state.reached[-new:] = [replace(one, trace_id=trace_id) for one in state.reached[-new:]]


def _span_of(reading: Reading) -> str:
    return f"{reading.trace_id}{reading.span_id}"


def _remember(state: Lane, reading: Reading) -> None:
    state.spans[_span_of(reading)] = None
    if len(state.spans) > _MAX_SPANS:
        del state.spans[next(iter(state.spans))]
        state.ledger.evicted += 1
        if state.counters.step % _TIDY == 0:
            state.spans = dict(state.spans.items())
