"""`doctor`: whether exported traces can be judged, and what to switch on where they cannot.

Says nothing of stalls. Every span is read as for the analysis; what was taken for a tool call, what was
not and why, and what the calls lack, is counted. Contents are dropped when the counting ends.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from otel_stall.calls import (
    Capture,
    CompactionMark,
    Content,
    HostHint,
    ModelCall,
    Reading,
    ToolCall,
    UserMark,
)
from otel_stall.dialects import carriers, content_switch, conversation_switch, merge, read
from otel_stall.dialects.known_hosts import HOSTS, LOGS, TRACES, host_of
from otel_stall.lineage import Lineage, Whose
from otel_stall.observations import Effect, Step
from otel_stall.passed_over import Sort, sort_of
from otel_stall.spans import SpanView
from otel_stall.steps import observation

__all__ = ["Ability", "Advice", "Calls", "Double", "Examination", "LeftOut", "Scope", "Silent", "Turns", "examine"]

ENOUGH: Final = 0.9
"""Share of calls with content from which the traces can be judged as a whole; chosen, not measured."""
_EXAMPLES: Final = 3
_SORTS: Final = 1_000


class Ability(StrEnum):
    """How far these traces can be judged."""

    YES = "yes"
    IN_PART = "in part"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Calls:
    """The tool calls, each once; every other number says how many of them have something.

    `pending` calls wait for an approval and are not among `calls`. Of the `results`, `failures` have no
    content: that the call failed is all there is to tell. `named` are in a conversation that
    the traces name, `exit_codes` is of `commands`. `tools` counts the different ones.
    """

    calls: int = 0
    pending: int = 0
    tools: int = 0
    arguments: int = 0
    results: int = 0
    failures: int = 0
    call_ids: int = 0
    named: int = 0
    agents: int = 0
    commands: int = 0
    exit_codes: int = 0


@dataclass(frozen=True, slots=True)
class Turns:
    """The model turns, each once, and how many of them tell something; `asking` are those that ask for tools."""

    turns: int = 0
    texts: int = 0
    asking: int = 0
    user_messages: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Scope:
    """What one instrumentation wrote, by its scope's name; calls that another wrote too are among its own.

    `arguments` and `results` count its tool spans, those that wait included, by capture.
    """

    scope: str
    dialects: tuple[str, ...]
    calls: Calls
    turns: Turns
    arguments: Mapping[Capture, int]
    results: Mapping[Capture, int]
    agent_spans: int
    compactions: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Spans that look like an agent's work and were taken for nothing; at most three names as examples."""

    scope: str
    sort: Sort
    spans: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Double:
    """Calls that two instrumentations wrote; `carrier` is the one whose span carries the verdict."""

    carrier: str
    other: str
    calls: int


@dataclass(frozen=True, slots=True)
class Advice:
    """What the calls of one instrumentation lack, and what turns it on; `switch` "" where none is known.

    `missing` is `arguments`, `results` or `conversation`; `capture` tells why contents are not there.
    """

    scope: str
    missing: str
    calls: int
    of: int
    capture: Capture
    switch: str


@dataclass(frozen=True, slots=True)
class Silent:
    """A signal that a host has and that is not here; `lost` says what each of its signals and switches brings."""

    host: str
    signal: str
    switch: str
    lost: str


@dataclass(frozen=True, slots=True)
class Examination:
    """All that was found. `headless` traces miss a parent of some span; `judged` spans carry verdicts already.

    `logs` are the log records that tell something, `people` the turns that hosts say a person took, `signs`
    their own signs of a stall.
    """

    spans: int
    traces: int
    conversations: int
    unsampled: int
    headless: int
    judged: int
    compactions: int
    calls: Calls
    turns: Turns
    scopes: tuple[Scope, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    doubles: tuple[Double, ...] = ()
    advice: tuple[Advice, ...] = ()
    logs: int = 0
    people: int = 0
    signs: int = 0
    silent: tuple[Silent, ...] = ()

    @property
    def ability(self) -> Ability:
        """Whether the calls have what a verdict needs: arguments and results."""
        calls = self.calls
        if calls.arguments + calls.results == calls.failures:
            return Ability.NO
        enough = min(calls.arguments, calls.results) >= ENOUGH * calls.calls
        return Ability.YES if enough else Ability.IN_PART


def examine(views: Iterable[SpanView]) -> Examination:
    """Return what these spans can tell. Never raises on content."""
    collected = _Read()
    for view in views:
        collected.take(view)
    return collected.examined()


@dataclass(slots=True)
class _Read:
    """All spans while they are counted."""

    traces: dict[str, dict[str, Reading]] = field(default_factory=dict)
    left_out: dict[tuple[str, Sort], list[str]] = field(default_factory=lambda: defaultdict(list))
    left_out_spans: Counter[tuple[str, Sort]] = field(default_factory=Counter)
    signals: set[tuple[str, str]] = field(default_factory=set)

    def take(self, view: SpanView) -> None:
        reading = read(view)
        if (host := host_of(view.scope)) is not None:
            self.signals.add((host.name, LOGS if view.log else TRACES))
        trace = self.traces.setdefault(reading.trace_id, {})
        if reading.span_id in trace:
            return
        if reading.record is not None or not reading.log:
            trace[reading.span_id] = reading
        if reading.record is None and not reading.is_agent and (sort := sort_of(view)) is not None:
            key = (reading.scope, sort)
            if key not in self.left_out and len(self.left_out) >= _SORTS:
                return
            self.left_out_spans[key] += 1
            names = self.left_out[key]
            if len(names) < _EXAMPLES and reading.name not in names:
                names.append(reading.name)

    def examined(self) -> Examination:
        readings = [reading for trace in self.traces.values() for reading in trace.values()]
        spans = [reading for reading in readings if not reading.log]
        lineage = Lineage.of(sorted(readings, key=lambda r: (r.end_ns, r.start_ns, r.span_id)))
        whose = [(r, lineage.resolve(r)) for r in merge(readings) if r.record]
        return Examination(
            spans=len(spans),
            traces=len({reading.trace_id for reading in spans}),
            conversations=len({own.conversation for _, own in whose}),
            unsampled=sum(not reading.sampled for reading in readings),
            headless=sum(map(_is_headless, self.traces.values())),
            judged=sum(reading.judged for reading in readings),
            compactions=sum(map(_compacts, (reading for reading, _ in whose))),
            calls=_calls(whose),
            turns=_turns([reading for reading, _ in whose]),
            scopes=tuple(_scopes((reading, lineage.resolve(reading)) for reading in readings)),
            left_out=tuple(
                LeftOut(scope, sort, spans, tuple(self.left_out[scope, sort]))
                for (scope, sort), spans in sorted(self.left_out_spans.items(), key=lambda item: (-item[1], item[0]))
            ),
            doubles=tuple(_doubles(readings)),
            advice=tuple(_advice(whose)),
            logs=len(readings) - len(spans),
            people=sum(isinstance(reading.record, UserMark) for reading, _ in whose),
            signs=sum(isinstance(r.record, HostHint) and bool(r.record.sign) for r, _ in whose),
            silent=tuple(_silent(self.signals)),
        )


def _is_headless(trace: Mapping[str, Reading]) -> bool:
    return any(r.parent_id and r.parent_id not in trace for r in trace.values() if not r.log)


def _silent(signals: Set[tuple[str, str]]) -> Iterator[Silent]:
    """Yield the signals that hosts seen here have beside those seen."""
    seen = {name for name, _ in signals}
    for host in HOSTS:
        for signal in host.needs:
            if host.name in seen and (host.name, signal) not in signals:
                yield Silent(host.name, signal, host.switch, host.lost)


def _compacts(reading: Reading) -> bool:
    record = reading.record
    if isinstance(record, ToolCall):
        return record.hints.compaction
    return isinstance(record, CompactionMark) or (isinstance(record, ModelCall) and record.compacted)


def _made(whose: Sequence[tuple[Reading, Whose]]) -> Iterator[tuple[Reading, Whose, ToolCall, Step]]:
    """Yield the calls that were made, with the step the analysis makes of each."""
    for reading, own in whose:
        if isinstance(reading.record, ToolCall) and not reading.record.pending:
            step = observation(reading)
            if isinstance(step, Step):
                yield reading, own, reading.record, step


def _calls(whose: Sequence[tuple[Reading, Whose]]) -> Calls:
    made = list(_made(whose))
    commands = [step for *_, step in made if step.effect in (Effect.COMMAND, Effect.CHECK)]
    return Calls(
        calls=len(made),
        pending=sum(isinstance(r.record, ToolCall) and r.record.pending for r, _ in whose),
        tools=len({step.tool for *_, step in made}),
        arguments=sum(step.arguments is Capture.CAPTURED for *_, step in made),
        results=sum(step.result is Capture.CAPTURED or _only_failed(step) for *_, step in made),
        failures=sum(_only_failed(step) for *_, step in made),
        call_ids=sum(bool(call.call_id) for _, _, call, _ in made),
        named=sum(not own.provisional for _, own, _, _ in made),
        agents=sum(bool(own.agent) for _, own, _, _ in made),
        commands=len(commands),
        exit_codes=sum(step.exit_code is not None for step in commands),
    )


def _only_failed(step: Step) -> bool:
    return step.failed and step.result is Capture.ABSENT


def _turns(readings: Iterable[Reading]) -> Turns:
    turns = [reading.record for reading in readings if isinstance(reading.record, ModelCall)]
    return Turns(
        turns=len(turns),
        texts=sum(bool(turn.text) for turn in turns),
        asking=sum(turn.calls_tools for turn in turns),
        user_messages=sum(turn.user_messages is not None for turn in turns),
        input_tokens=sum(turn.input_tokens is not None for turn in turns),
        output_tokens=sum(turn.output_tokens is not None for turn in turns),
    )


def _scopes(whose: Iterable[tuple[Reading, Whose]]) -> Iterator[Scope]:
    by_scope: dict[str, list[tuple[Reading, Whose]]] = defaultdict(list)
    for reading, own in whose:
        if (reading.record is not None and not _is_part(reading)) or reading.is_agent:
            by_scope[reading.scope].append((reading, own))
    for scope, spans in sorted(by_scope.items(), key=lambda item: (-len(item[1]), item[0])):
        readings = [reading for reading, _ in spans]
        calls = [reading.record for reading in readings if isinstance(reading.record, ToolCall)]
        yield Scope(
            scope=scope,
            dialects=tuple(sorted({reading.dialect for reading in readings})),
            calls=_calls(spans),
            turns=_turns(readings),
            arguments=_by_capture(call.arguments for call in calls),
            results=_by_capture(call.result for call in calls),
            agent_spans=sum(reading.is_agent for reading in readings),
            compactions=sum(map(_compacts, readings)),
        )


def _is_part(reading: Reading) -> bool:
    return isinstance(reading.record, ToolCall) and reading.record.part


def _by_capture(contents: Iterable[Content]) -> dict[Capture, int]:
    counts = Counter(content.capture for content in contents)
    return {capture: counts[capture] for capture in Capture if counts[capture]}


def _doubles(readings: Sequence[Reading]) -> Iterator[Double]:
    found: Counter[tuple[str, str]] = Counter()
    scopes = {reading.span_id: reading.scope for reading in readings}
    for reading, carrier in carriers(readings):
        call = isinstance(reading.record, ToolCall) and not _is_part(reading)
        if call and carrier not in ("", reading.span_id) and carrier in scopes:
            found[scopes[carrier], reading.scope] += 1
    for (carrier, other), calls in sorted(found.items(), key=lambda item: (-item[1], item[0])):
        yield Double(carrier, other, calls)


def _advice(whose: Sequence[tuple[Reading, Whose]]) -> Iterator[Advice]:
    """Yield what is missing by instrumentation, contents first; a call that a double completes lacks nothing."""
    of: Counter[str] = Counter()
    missing: Counter[tuple[str, str, Capture]] = Counter()
    for reading, own, _, step in _made(whose):
        of[reading.scope] += 1
        if step.arguments is not Capture.CAPTURED:
            missing[reading.scope, "arguments", step.arguments] += 1
        if step.result is not Capture.CAPTURED and not _only_failed(step):
            missing[reading.scope, "results", step.result] += 1
        if own.provisional:
            missing[reading.scope, "conversation", Capture.ABSENT] += 1
    for (scope, what, capture), calls in sorted(missing.items(), key=lambda item: (item[0][1] == "conversation", item)):
        switch = conversation_switch(scope) if what == "conversation" else content_switch(scope)
        yield Advice(scope, what, calls, of[scope], capture, switch)
