"""`analyze`: exported spans in, what stalled, where and why out.

Each span is read once and its contents dropped; then doubles and lineage are settled with the whole
traces known, and every conversation is folded by itself in end-time order. The result depends on the
spans alone: files, shards and their order make no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from otel_stall import dialects
from otel_stall.calls import Capture, ModelCall, Reading
from otel_stall.clocks import SetClock, confirmed
from otel_stall.config import StallConfig
from otel_stall.dialects import doubles
from otel_stall.findings import Analysis, ConversationAnalysis, Counters, Cut, StepDetail, summarize
from otel_stall.lineage import Lineage, Whose
from otel_stall.monitor import MAIN, Monitor, at_mark
from otel_stall.observations import Effect, Step
from otel_stall.runs import Run, RunCount, Said
from otel_stall.spans import SpanView
from otel_stall.values import replace
from otel_stall.verdicts import Change, Declaration, Judged, Milestone, Stall

__all__ = ["Part", "Watch", "analyze", "joined", "judge_part", "readings"]


class Watch(Protocol):
    """Who is told how far an analysis is, on its thread, often; it must be quick and not raise."""

    def read(self, conversation: str) -> None:
        """Take note that a span was read, and which conversation it names, "" for none."""

    def judged(self, done: int, of: int) -> None:
        """Take note of how many conversations are judged, once before the first and after each."""


def analyze(
    views: Iterable[SpanView],
    config: StallConfig | None = None,
    *,
    details: bool = False,
    each: Callable[[Judged, int], None] | None = None,
    only: Callable[[Sequence[str]], Collection[str]] | None = None,
    watch: Watch | None = None,
    monitor: Callable[[StallConfig], Monitor] = Monitor,
) -> Analysis:
    """Return what the fold says of all conversations in these spans.

    `details` keeps one entry per step; `each` is called with every judgement and the end of its span in
    ns, conversation by conversation, for what a caller wants beside the analysis; `monitor` makes the
    fold of one conversation. `only` is given the ids of all conversations, sorted, and returns those to be
    judged: lanes and summary are of these alone. `watch` is told how far it is. Never raises on content;
    what `only` raises passes.
    """
    config = config or StallConfig()
    given = readings(views, watch)
    part = judge_part(given, config, details=details, each=each, only=only, watch=watch, monitor=monitor)
    return joined([part], config)


class Part(NamedTuple):
    """What was found in conversations that share nothing with any other: spans read, lanes with their beginning."""

    spans: int
    lanes: Sequence[tuple[int, ConversationAnalysis]]


def readings(views: Iterable[SpanView], watch: Watch | None = None) -> Iterator[Reading]:
    """Yield what the dialects make of spans and log records, without log records that say nothing."""
    for view in views:
        reading = dialects.read(view)
        if watch is not None:
            watch.read(reading.conversation)
        if not reading.log or reading.record is not None:
            yield reading


def judge_part(
    given: Iterable[Reading],
    config: StallConfig,
    *,
    details: bool = False,
    each: Callable[[Judged, int], None] | None = None,
    only: Callable[[Sequence[str]], Collection[str]] | None = None,
    watch: Watch | None = None,
    monitor: Callable[[StallConfig], Monitor] = Monitor,
) -> Part:
    """Return what the fold says of all conversations in these readings; parts may be judged apart and `joined`."""
    spans, conversations = _conversations(given)
    lanes: dict[tuple[str, str], _Lane] = {}
    said: dict[str, Said] = {}
    wanted = conversations if only is None else conversations.keys() & only(_judgeable(conversations))
    for conversation in _told(sorted(wanted), watch):
        fold, clock = monitor(config), SetClock()
        fold.clock = clock
        listed = conversations.pop(conversation)
        for (own, reading), clock.now_ns in zip(listed, confirmed([one.end_ns for _, one in listed]), strict=True):
            said.setdefault(conversation, Said()).take(reading)
            for judged in _take(lanes, own, reading, fold, details):
                if each is not None:
                    each(judged, reading.end_ns)
    return Part(spans, [(lane.start_ns, lane.result(*key, said[key[0]])) for key, lane in lanes.items()])


def joined(parts: Iterable[Part], config: StallConfig) -> Analysis:
    """Return the analysis of parts that have no conversation and no trace in common."""
    spans = 0
    lanes: list[tuple[int, ConversationAnalysis]] = []
    for part in parts:
        spans += part.spans
        lanes += part.lanes
    lanes.sort(key=lambda lane: (lane[0], lane[1].conversation, lane[1].lane))
    found = tuple(lane for _, lane in lanes)
    return Analysis(found, summarize(found), spans, config.detection.tool_call_budget)


def _told(conversations: Sequence[str], watch: Watch | None) -> Iterator[str]:
    """Yield the conversations, and tell how many of them are done."""
    for done, conversation in enumerate(conversations):
        if watch is not None:
            watch.judged(done, len(conversations))
        yield conversation
    if watch is not None:
        watch.judged(len(conversations), len(conversations))


def _traces(given: Iterable[Reading]) -> dict[str, dict[str, Reading]]:
    """Return one reading per span by trace id and span id; of copies of one span the fullest stands."""
    traces: dict[str, dict[str, Reading]] = {}
    for reading in given:
        trace = traces.setdefault(reading.trace_id, {})
        other = trace.get(reading.span_id)
        trace[reading.span_id] = reading if other is None else max(other, reading, key=_fullness)
    return traces


def _order(reading: Reading) -> tuple[int, int, str, str]:
    return reading.end_ns, reading.start_ns, reading.span_id, reading.trace_id


def _fullness(reading: Reading) -> tuple[int, int, str]:
    text = repr(reading)
    return reading.end_ns, len(text), text


def _conversations(given: Iterable[Reading]) -> tuple[int, dict[str, list[tuple[Whose, Reading]]]]:
    """Return how many spans there are, and each conversation's readings in order, every call once."""
    traces = _traces(given)
    lineage = Lineage.of(sorted((r for trace in traces.values() for r in trace.values()), key=_order))
    spans = sum(not reading.log for trace in traces.values() for reading in trace.values())
    once = sorted(doubles.merge(r for trace in traces.values() for r in trace.values()), key=_order)
    marked = [reading for trace in traces.values() for reading in trace.values() if reading.marks]
    traces.clear()
    conversations: dict[str, list[tuple[Whose, Reading]]] = {}
    for reading in once:
        if reading.record or reading.run_outcome or reading.task_id or reading.task_class:
            own = lineage.resolve(reading)
            conversations.setdefault(own.conversation, []).append((own, replace(reading, marks=())))
    for own, reading in _marks(marked, lineage):
        conversations.setdefault(own.conversation, []).append((own, reading))
    for listed in conversations.values() if marked else ():
        listed.sort(key=lambda entry: _order(entry[1]))
    return spans, conversations


def _judgeable(conversations: dict[str, list[tuple[Whose, Reading]]]) -> list[str]:
    """Return the ids of those that make a lane, sorted; the others hold no more than what is said of a run."""
    lanes = (id_ for id_, listed in conversations.items() if any(one.record or one.marks for _, one in listed))
    return sorted(lanes)


def _marks(marked: Iterable[Reading], lineage: Lineage) -> Iterator[tuple[Whose, Reading]]:
    """Yield each milestone that the host marked, at its own time: the span around it may end long after."""
    for reading in sorted(marked, key=_order):
        own = lineage.resolve(reading)
        for mark in reading.marks:
            elsewhere = mark.conversation not in ("", own.conversation)
            yield Whose(mark.conversation, "") if elsewhere else own, at_mark(reading, mark)


def _take(
    lanes: dict[tuple[str, str], _Lane], own: Whose, reading: Reading, monitor: Monitor, details: bool
) -> Iterator[Judged]:
    """Yield what the fold says of a reading, entered in its lane; model turns alone make a lane too."""
    if reading.record is None and not reading.marks:
        return
    name = own.lane or monitor.lanes.latest(own.conversation) or MAIN
    lane = lanes.setdefault((own.conversation, name), _Lane(reading.start_ns or reading.end_ns))
    lane.meet(own, reading)
    judge = monitor.mark if reading.marks else monitor.observe
    for judged in judge(reading, own.conversation, name, own.agent):
        lane.take(judged, reading, details)
        yield judged


@dataclass(slots=True)
class _Lane:
    start_ns: int
    end_ns: int = 0
    agent: str = ""
    service: str = ""
    steps: int = 0
    cuts: list[Cut] = field(default_factory=list)
    partial: bool = False
    counters: Counters = field(default_factory=Counters)
    milestones: list[Milestone] = field(default_factory=list)
    stalls: dict[int, Stall] = field(default_factory=dict)
    arguments: int = 0
    results: int = 0
    commands: int = 0
    exit_codes: int = 0
    details: list[StepDetail] = field(default_factory=list)
    tokens: int | None = None
    runs: list[RunCount] = field(default_factory=lambda: [RunCount()])

    def meet(self, own: Whose, reading: Reading) -> None:
        self.start_ns = min(self.start_ns, reading.start_ns or reading.end_ns)
        self.end_ns = max(self.end_ns, reading.end_ns)
        self.agent = self.agent or own.agent
        self.service = self.service or reading.service
        if reading.run_id and not reading.is_agent and reading.run_id != self.runs[-1].run_id:
            if self.runs[-1].run_id:
                self.runs.append(RunCount())
            self.runs[-1].run_id = reading.run_id
        match reading.record:
            case ModelCall(input_tokens=given, output_tokens=made) if given is not None or made is not None:
                self.tokens = (self.tokens or 0) + (given or 0) + (made or 0)

    def take(self, judged: Judged, reading: Reading, details: bool) -> None:
        verdict = judged.verdict
        self.runs[-1].take(judged)
        self.partial = self.partial or judged.partial
        self.counters = Counters(verdict.steps_since_milestone, verdict.steps_since_gain, verdict.state_changes)
        if verdict.stall is not None:
            self.stalls[verdict.stall.number] = verdict.stall
        for changed in verdict.changes:
            if changed.stall is not None:
                self.stalls[changed.stall.number] = changed.stall
            if changed.milestone is not None:
                self._reach(changed.milestone)
            if changed.change is Change.CONTEXT_COMPACTED:
                self.cuts.append(Cut(changed.step, changed.inferred))
        if verdict.counted and isinstance(judged.observation, Step):
            self._count(judged.observation, judged, reading if details else None)

    def _reach(self, milestone: Milestone) -> None:
        """Take in a milestone, and let the declared ones that it verifies say so."""
        if milestone.confirms:
            self.milestones = [
                replace(one, confirmed_at=milestone.step) if _waited(one, milestone) else one for one in self.milestones
            ]
        self.milestones.append(milestone)

    def _count(self, step: Step, judged: Judged, detailed: Reading | None) -> None:
        command = step.effect in (Effect.COMMAND, Effect.CHECK)
        self.steps += 1
        self.arguments += step.arguments is Capture.CAPTURED
        self.results += step.result is Capture.CAPTURED
        self.commands += command
        self.exit_codes += command and step.exit_code is not None
        if detailed is not None:
            self.details.append(_detail(step, judged, detailed))

    def result(self, conversation: str, lane: str, said: Said) -> ConversationAnalysis:
        return ConversationAnalysis(
            conversation=conversation,
            lane=lane,
            agent=self.agent,
            service=self.service,
            steps=self.steps,
            compactions=len(self.cuts),
            partial=self.partial,
            outcome=said.outcome,
            milestones=tuple(self.milestones),
            stalls=tuple(self.stalls[number] for number in sorted(self.stalls)),
            counters=self.counters,
            arguments=self.arguments,
            results=self.results,
            commands=self.commands,
            exit_codes=self.exit_codes,
            details=tuple(self.details),
            tokens=self.tokens,
            runs=tuple(self._run(conversation, lane, run, said) for run in self.runs if run.steps),
            cuts=tuple(self.cuts),
            start_ns=self.start_ns,
            end_ns=self.end_ns,
        )

    def _run(self, conversation: str, lane: str, run: RunCount, said: Said) -> Run:
        return Run(
            conversation,
            lane,
            self.agent,
            run.run_id,
            steps=run.steps,
            distance=run.distance,
            segments=tuple(run.segments),
            tail=run.tail,
            partial=self.partial,
            **said.of(run.run_id),
        )


def _waited(one: Milestone, by: Milestone) -> bool:
    declared = not one.evidence.verified and one.confirmed_at is None
    return declared and Declaration(one.step, one.name) in by.confirms


def _detail(step: Step, judged: Judged, reading: Reading) -> StepDetail:
    verdict = judged.verdict
    return StepDetail(
        step=verdict.step,
        tool=step.tool,
        effect=step.effect,
        arguments=step.arguments,
        result=step.result,
        failed=step.failed,
        exit_code=step.exit_code,
        gain=verdict.gain,
        reason=verdict.reason,
        waste=verdict.waste,
        dry=verdict.steps_since_gain,
        since_milestone=verdict.steps_since_milestone,
        call_fingerprint=verdict.call_fingerprint,
        outcome_fingerprint=verdict.outcome_fingerprint,
        command=step.command,
        trace_id=judged.trace_id,
        span_id=reading.parent_id if reading.log else judged.span_id,
        end_ns=reading.end_ns,
    )
