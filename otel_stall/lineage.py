"""`Lineage`: whose step is it. It knows each span's parent, and what the span says of agent and conversation.

Live, spans are `opened` at their start, `ended` at their end, and a step is `resolve`d when its own span
ends, while its ancestors are mostly still open. Offline, `Lineage.of` takes in all spans first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple, Protocol, Self

from otel_stall.bounded import trim
from otel_stall.calls import CompactionMark, ModelCall, Reading, ToolCall
from otel_stall.dialects.doubles import Ancestor
from otel_stall.monitor import MAIN
from otel_stall.values import unguarded
from otel_stall.verdicts import Judged

__all__ = ["Lineage", "Live", "Opening", "Renamed", "Running", "TraceState", "Whose"]

UNNAMED: Final = "unnamed"
"""The conversation of log records that stand in no trace and name none."""

GENERATIONS: Final = 32
_HOPS: Final = 1_000
_DEPTH: Final = 16
_NAME_CHARS: Final = 64
ID_CHARS: Final = 256
"""Characters of a conversation's id that count."""
_OVERLAPS: Final = 256
"""Invocations of one agent at the same time that are told apart; further ones share the lane of the last."""
# Two instrumentations of one call start within this time of each other; measured on double emitters.
_TWIN_NS: Final = 50_000_000

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")

_Key = tuple[str, str]


class Live(Protocol):
    """An open span that can be asked again: many emitters name agent and conversation after the start."""

    def changed(self) -> Reading | None:
        """Return what the span says now, None if that is what it said when last asked."""

    def alive(self) -> bool:
        """Return whether the span can still end."""

    def tell(self, judged: Sequence[Judged]) -> None:
        """Take note of the verdicts on a step of this agent; called one after the other, on any thread."""


class Opening(NamedTuple):
    """What is known of a span at its start; `carried` is the conversation that baggage or context names."""

    trace_id: str
    span_id: str
    parent_id: str
    start_ns: int
    name: str = ""
    scope: str = ""
    carried: str = ""
    hints: tuple[tuple[str, str], ...] = ()
    live: Live | None = None


@unguarded
@dataclass(frozen=True, slots=True)
class Whose:
    """Conversation, lane and agent of a span; `provisional` where the trace id stands for a conversation.

    `hints` are the `stall.*` entries of the baggage the span started with, as pairs.
    """

    conversation: str
    lane: str = MAIN
    agent: str = ""
    provisional: bool = False
    hints: tuple[tuple[str, str], ...] = ()


class Running(NamedTuple):
    """An open span of a tool call, or of an agent (`tool` is ""), and whose it is."""

    trace_id: str
    span_id: str
    start_ns: int
    conversation: str
    lane: str
    agent: str
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Renamed:
    """A provisional conversation whose real id became known: what `old` counted belongs to `new`."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class _Lane:
    path: str
    name: str
    agent_id: str
    above: _Lane | None = None
    depth: int = 1


@dataclass(slots=True)
class _Node:
    trace_id: str
    span_id: str
    parent_id: str
    start_ns: int
    name: str = ""
    scope: str = ""
    end_ns: int | None = None
    conversation: str = ""
    carried: str = ""
    agent: str = ""
    agent_id: str = ""
    is_agent: bool = False
    is_workflow: bool = False
    tool: str | None = None
    hints: tuple[tuple[str, str], ...] = ()
    live: Live | None = None
    lane: _Lane | None = None
    inherited: str = ""

    def take(self, reading: Reading) -> None:
        self.conversation = reading.conversation[:ID_CHARS] or self.conversation
        self.agent = reading.agent[:_NAME_CHARS] or self.agent
        self.agent_id = reading.agent_id[:ID_CHARS] or self.agent_id
        self.is_agent = reading.is_agent or self.is_agent
        self.is_workflow = reading.is_workflow
        self.name = reading.name[:ID_CHARS]
        if isinstance(reading.record, ToolCall):
            self.tool = reading.record.tool[:ID_CHARS]
        elif self.end_ns is not None and self.tool is None:
            self.tool = ""

    def ask(self) -> None:
        if self.live is not None and (reading := self.live.changed()) is not None:
            self.take(reading)

    def busy_at(self, time_ns: int) -> bool:
        if self.end_ns is not None:
            return self.end_ns > time_ns
        return self.live is None or self.live.alive()


@dataclass(slots=True)
class _Trace:
    conversation: str = ""
    mixed: bool = False
    provisional: bool = False


class TraceState(NamedTuple):
    """The conversation that a trace stands for, as far as a later span of it needs to know.

    `mixed`: it named several. `provisional`: steps were counted under the trace's own id.
    """

    conversation: str = ""
    mixed: bool = False
    provisional: bool = False


class Lineage:
    """Finds the conversation, lane and agent of spans; bounded, and not thread-safe by itself.

    `limit` bounds the open spans, and the traces and agent invocations remembered; a quarter as many
    ended spans are kept for children that end after them. `dropped` counts what fell out, open spans apart.
    """

    def __init__(self, limit: int, ended_limit: int | None = None) -> None:
        self._limit = limit
        self._ended_limit = max(1, limit // 4) if ended_limit is None else ended_limit
        self._open: dict[_Key, _Node] = {}
        self._ended: dict[_Key, _Node] = {}
        self._traces: dict[str, _Trace] = {}
        self._invocations: dict[_Key, list[_Node]] = {}
        self._acting: dict[str, _Lane] = {}
        self._renamed: list[Renamed] = []
        self._touched: set[str] | None = None
        self.dropped: Counter[str] = Counter()

    @classmethod
    def of(cls, readings: Iterable[Reading]) -> Self:
        """Return the lineage of ended spans, all known before the first is resolved; keeps no contents."""
        lineage = cls(1)
        for reading in readings:
            lineage._limit = lineage._ended_limit = lineage._limit + 1
            lineage.ended(reading)
        agents = [(node.start_ns, key) for key, node in lineage._ended.items() if node.is_agent]
        for _, key in sorted(agents):
            lineage._lane_of(lineage._ended[key])
        return lineage

    def opened(self, opening: Opening) -> str:
        """Remember a span that started, and return the conversation it starts in, "" where none is known yet.

        It is what the span's context carries, what its parent said or started in, or what its trace
        stands for: found without a walk, as this is done for every span of the host.
        """
        node = _Node(opening.trace_id, opening.span_id, opening.parent_id, opening.start_ns)
        node.name, node.scope = opening.name[:ID_CHARS], opening.scope
        node.carried, node.hints, node.live = opening.carried[:ID_CHARS], opening.hints, opening.live
        self._open[opening.trace_id, opening.span_id] = node
        gone = trim(self._open, self._limit, self.dropped, "open_spans") if len(self._open) > self._limit else ()
        for _, oldest in gone:
            oldest.end_ns, oldest.live = oldest.start_ns, None
        node.inherited = node.carried or self._above(node)
        return node.inherited

    def _above(self, node: _Node) -> str:
        key = (node.trace_id, node.parent_id)
        if (parent := self._open.get(key) or self._ended.get(key)) is not None:
            parent.ask()
            if found := parent.conversation or parent.inherited:
                return found
        trace = self._traces.get(node.trace_id)
        return trace.conversation if trace is not None and not trace.mixed else ""

    def named(self, trace_id: str, span_id: str) -> None:
        """Give an open span that names an agent its lane now, so that overlapping ones go by their start."""
        if (node := self._open.get((trace_id, span_id))) is not None:
            node.ask()
            if node.is_agent:
                self._lane_of(node)

    def passed(self, trace_id: str, span_id: str, end_ns: int) -> None:
        """Close a span that says nothing of agents, tools or conversations, and only links others."""
        key = (trace_id, span_id)
        if (node := self._open.pop(key, None)) is not None:
            node.tool = node.tool or ""
            self._close(key, node, end_ns)

    def ended(self, reading: Reading) -> None:
        """Complete a span by what it says at its end; a log record only names its trace's conversation."""
        if reading.log:
            if reading.conversation:
                self._said(reading.trace_id, reading.conversation[:ID_CHARS])
            return
        key = (reading.trace_id, reading.span_id)
        node = self._open.pop(key, None) or self._ended.pop(key, None) or _of(reading)
        self._close(key, node, reading.end_ns)
        node.take(reading)
        if node.conversation:
            self._said(node.trace_id, node.conversation)

    def _close(self, key: _Key, node: _Node, end_ns: int) -> None:
        node.end_ns, node.live = end_ns, None
        self._ended[key] = node
        if len(self._ended) > self._ended_limit:
            trim(self._ended, self._ended_limit, self.dropped, "ended_spans")

    def renamed(self) -> list[Renamed]:
        """Return the provisional conversations whose id became known since the last time this was asked."""
        renamed, self._renamed = self._renamed, []
        return renamed

    def resolve(self, reading: Reading) -> Whose:
        """Return whose span this is; call it after `ended`, or while the span is open."""
        node = self._node(reading)
        conversation, provisional = self._conversation(node, reading)
        lane = self._lane_of(node)
        if lane is not None and isinstance(reading.record, ToolCall | ModelCall):
            self._acting[conversation] = lane
            trim(self._acting, self._limit, self.dropped, "agents")
        elif lane is None and isinstance(reading.record, CompactionMark):
            # Some hosts write the compaction beside the agent whose context it was.
            lane = self._acting.get(conversation)
        if lane is None:
            return Whose(conversation, provisional=provisional, hints=node.hints)
        return Whose(conversation, lane.path, lane.name or lane.agent_id, provisional, node.hints)

    def ancestors(self, reading: Reading) -> list[Ancestor]:
        """Return the spans above one that ended, nearest first, as far as doubles of one call are looked for."""
        above = islice(self._upwards(self._node(reading)), 1, GENERATIONS + 1)
        return [Ancestor(each.span_id, each.name, each.scope, each.tool) for each in above]

    def knows(self, trace_id: str, span_id: str) -> bool:
        """Return whether a span is remembered, open or ended."""
        return (trace_id, span_id) in self._open or (trace_id, span_id) in self._ended

    def agent_above(self, reading: Reading) -> Live | None:
        """Return the open span of the agent that a step belongs to, None where there is none or it has ended.

        That of an agent that is itself still open is its own.
        """
        node = self._node(reading)
        above = islice(self._upwards(node), int(node.live is None), None)
        agent = next((each for each in above if each.is_agent), None)
        return agent.live if agent is not None and agent.end_ns is None else None

    def running(self, before_ns: int) -> list[Running]:
        """Return the tool calls and agents that started before this time and have not ended, each call once."""
        found = []
        for node in list(self._open.values()):
            if node.start_ns >= before_ns:
                continue
            node.ask()
            above = islice(self._upwards(node), 1, GENERATIONS + 1)
            twice = bool(node.tool) and any(each.tool == node.tool and each.end_ns is None for each in above)
            if (not node.tool and not node.is_agent) or twice or not node.busy_at(before_ns):
                continue
            lane, trace = self._lane_of(node), self._traces.get(node.trace_id)
            conversation = self._known(node) or (trace.conversation if trace is not None else "") or node.trace_id
            path, agent = (lane.path, lane.name or lane.agent_id) if lane is not None else (MAIN, "")
            found.append(
                Running(node.trace_id, node.span_id, node.start_ns, conversation, path, agent, node.tool or "")
            )
        return found

    def _node(self, reading: Reading) -> _Node:
        key = (reading.trace_id, reading.span_id)
        if (node := self._ended.get(key)) is not None:
            return node
        if (node := self._open.get(key)) is not None:
            node.ask()
            return node
        node = _of(reading)
        node.take(reading)
        return node

    def _upwards(self, node: _Node) -> Iterator[_Node]:
        """Yield the span and its ancestors, nearest first, up to a gap, a cycle or the bound."""
        seen = {""}
        for _ in range(_HOPS):
            yield node
            if node.parent_id in seen:
                return
            seen.add(node.parent_id)
            key = (node.trace_id, node.parent_id)
            parent = self._open.get(key) or self._ended.get(key)
            if parent is None:
                return
            parent.ask()
            node = parent

    def _conversation(self, node: _Node, reading: Reading) -> tuple[str, bool]:
        if known := self._known(node):
            self._said(node.trace_id, known)
            return known, False
        if reading.resource_conversation:
            return reading.resource_conversation[:ID_CHARS], False
        if not node.trace_id:
            return UNNAMED, True
        trace = self._trace(node.trace_id)
        if trace.conversation and not trace.mixed:
            return trace.conversation, False
        trace.provisional = True
        return node.trace_id, True

    def _known(self, node: _Node) -> str:
        for each in self._upwards(node):
            if found := each.conversation or each.carried:
                return found
        return ""

    def _trace(self, trace_id: str) -> _Trace:
        trace = self._traces.pop(trace_id, None) or _Trace()
        self._traces[trace_id] = trace
        gone = trim(self._traces, self._limit, self.dropped, "traces")
        if self._touched is not None:
            self._touched.update((trace_id, *(key for key, _ in gone)))
        return trace

    def changed(self) -> dict[str, TraceState | None]:
        """Return what the traces touched since this was last asked stand for, None for one that fell out.

        The first time nothing: from then on they are noted.
        """
        touched, self._touched = self._touched or (), set()
        held = ((trace_id, self._traces.get(trace_id)) for trace_id in touched)
        return {
            trace_id: TraceState(trace.conversation, trace.mixed, trace.provisional) if trace is not None else None
            for trace_id, trace in held
        }

    def adopt(self, traces: Mapping[str, TraceState]) -> None:
        """Take in what was saved of traces, whose spans are not known."""
        self._traces = {trace_id: _Trace(*state) for trace_id, state in traces.items()}
        trim(self._traces, self._limit, self.dropped, "traces")

    def _said(self, trace_id: str, conversation: str) -> None:
        """Let an id stand for the whole trace, until the trace names a second one."""
        if not trace_id:
            return
        trace = self._trace(trace_id)
        if trace.conversation:
            trace.mixed = trace.mixed or trace.conversation != conversation
            return
        trace.conversation = conversation
        if trace.provisional:
            self._renamed.append(Renamed(trace_id, conversation))
            if trace_id in self._acting:
                self._acting[conversation] = self._acting.pop(trace_id)

    def _lane_of(self, node: _Node) -> _Lane | None:
        """Return the lane of a span, None where no agent is named; lanes of agent spans are kept."""
        lane: _Lane | None = None
        naming: list[tuple[_Node, bool]] = []
        for each in self._upwards(node):
            if each.tool and naming:
                naming[-1] = (naming[-1][0], True)
            if each.is_workflow and naming and not naming[-1][1]:
                continue  # the workflow around an agent is no agent above it, unless it called that by a tool
            if each.lane is not None:
                lane = each.lane
                break
            if each.agent or each.agent_id:
                naming.append((each, False))
        for each, by_tool in reversed(naming):
            lane = self._joined(lane, each, by_tool)
            if each.is_agent:
                each.lane = lane
        return lane

    def _joined(self, above: _Lane | None, node: _Node, by_tool: bool) -> _Lane:
        """Return the lane of a span that names an agent; `by_tool`: a tool call lies between them."""
        if above is not None:
            if _same(above, node) and not (by_tool and node.is_agent):
                return above
            if not node.is_agent and (known := _among(above, node)) is not None:
                return known
            if above.depth >= _DEPTH:
                return above
        label = _label(node).replace("/", "%2F")
        path = f"{above.path}/{label}" if above is not None else label
        number = self._number(node, path) if node.is_agent else 1
        path = path if number == 1 else f"{path}#{number}"
        return _Lane(path, node.agent, node.agent_id, above, above.depth + 1 if above is not None else 1)

    def _number(self, node: _Node, path: str) -> int:
        """Return 1 for an invocation that overlaps no other of this path, else the first free number."""
        key = (self._known(node) or node.trace_id, path)
        invocations = self._invocations.pop(key, [])
        self._invocations[key] = invocations
        trim(self._invocations, self._limit, self.dropped, "agents")
        for index, other in enumerate(invocations):
            twin = other.scope != node.scope and abs(other.start_ns - node.start_ns) < _TWIN_NS
            if twin or not other.busy_at(node.start_ns):
                invocations[index] = node
                return index + 1
        if len(invocations) >= _OVERLAPS:
            self.dropped["agents"] += 1
            return len(invocations)
        invocations.append(node)
        return len(invocations)


def _of(reading: Reading) -> _Node:
    return _Node(reading.trace_id, reading.span_id, reading.parent_id, reading.start_ns, scope=reading.scope)


def _label(node: _Node) -> str:
    """Return what a lane is called: the agent's id, or its name where the id tells a person nothing."""
    return node.agent if node.agent and _UUID.fullmatch(node.agent_id) else node.agent_id or node.agent


def _same(lane: _Lane, node: _Node) -> bool:
    if lane.agent_id and node.agent_id:
        return lane.agent_id == node.agent_id
    return bool(node.agent) and lane.name == node.agent


def _among(lane: _Lane | None, node: _Node) -> _Lane | None:
    while lane is not None and not _same(lane, node):
        lane = lane.above
    return lane
