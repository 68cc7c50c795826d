"""The same call written as two spans, or as a span and a log record: which is the step, and what the other adds.

Two spans are one call where two instrumentations saw it: one span inside the other with the same tool, or
side by side with the same call id or the same arguments. Spans of one instrumentation are never doubles:
they are real repeats. Of two nested spans the inner carries the step if it has content, else the outer;
of two side by side the one that ended first. A record is joined to the span that has its call id, or that it
was written in or beside; a part of a call is joined to the span around it.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from xxhash import xxh3_64_intdigest

from otel_stall.bounded import trim
from otel_stall.calls import Capture, Content, ModelCall, Reading, ToolCall
from otel_stall.dialects.tool_calls import called_tool
from otel_stall.values import replace, unguarded

__all__ = ["Ancestor", "Doubles", "carriers", "merge"]

WINDOW: Final = 4_096
"""Recorded spans that are remembered; older ones can no longer be recognised as doubles."""

_Id = tuple[str, str]
_K = TypeVar("_K")
_V = TypeVar("_V")

_TOOL: Final = "tool "
_PART: Final = "part"
_TWIN_NS: Final = 50_000_000  # two instrumentations of one call started within 50 ms in every recorded run
# A record is written when all is done, which takes hosts up to some tenths of a second.
_RECORD_NS: Final = 500_000_000
_PEERS: Final = 16
_GENERATIONS: Final = 32
_SCALARS: Final = 1_024
# Names that instrumentations give to every tool span, whatever the tool.
_ANY_TOOL: Final = frozenset(
    {"running tool", "Function: {name}", "FunctionTool", "SimpleTool", "haystack.agent.step.tool"}
)


class Ancestor(NamedTuple):
    """A span above another; `tool` is None while nobody knows what it will turn out to be.

    A span that was read and is no tool call has the tool "".
    """

    span_id: str
    name: str = ""
    scope: str = ""
    tool: str | None = None


@unguarded
@dataclass(frozen=True, slots=True)
class _Sight:
    """What is remembered of a recorded span: no content, only a digest of its arguments' scalars."""

    span_id: str
    kind: str
    origin: tuple[str, str, bool]
    start_ns: int
    end_ns: int
    call_id: str
    values: int | None
    filled: bool
    carrier: str = ""
    parent_id: str = ""
    failed: bool | None = None
    exit_code: int | None = None
    denied: bool = False

    @property
    def log(self) -> bool:
        return self.origin[2]


class Doubles:
    """Decides, span by span in the order of their ends, which readings stand for a call of their own.

    Bounded: the last `window` spans are remembered, and `dropped` counts what fell out. Not thread-safe; the
    caller holds its lock.
    """

    def __init__(self, window: int = WINDOW) -> None:
        self.dropped: Counter[str] = Counter()
        self._window = window
        self._spans: OrderedDict[_Id, _Sight] = OrderedDict()
        self._peers: OrderedDict[_Id, list[_Sight]] = OrderedDict()
        self._inner: OrderedDict[_Id, list[_Sight]] = OrderedDict()
        self._called: OrderedDict[tuple[str, ...], _Sight] = OrderedDict()
        self._joined: OrderedDict[str, None] = OrderedDict()
        self._recorded: set[str] = set()

    def admit(self, reading: Reading, ancestors: Sequence[Ancestor] = ()) -> Reading | None:
        """Return the reading to fold, completed by what its doubles said before; None if it is no call of its own.

        `ancestors` are the spans above, nearest first. None means that the span was seen before, that
        another span carries its call, or that an ancestor which is still open or a record yet to come will.
        """
        if reading.record is None:
            return reading
        carrier, inner = self._place(reading, ancestors, live=True)
        return _completed(reading, inner) if carrier == reading.span_id else None

    def carrier(self, reading: Reading, ancestors: Sequence[Ancestor] = ()) -> str:
        """Return the id of the span that carries the call, its own where it is none's double, "" if seen before.

        Takes note of the span as `admit` does: call one of the two, once per span.
        """
        return self._place(reading, ancestors)[0]

    def remembered(self) -> int:
        """Return how many entries are held, spans and what is known of them together."""
        held = (len(known) for memory in (self._peers, self._inner) for known in memory.values())
        return len(self._spans) + len(self._called) + len(self._joined) + sum(held)

    def _place(
        self, reading: Reading, ancestors: Sequence[Ancestor], *, live: bool = False
    ) -> tuple[str, Sequence[_Sight]]:
        own = _own(reading)
        if own in self._spans:
            return "", ()
        sight = _sight(reading)
        self._spans[own] = sight
        self._trim(self._spans)
        near = _near(ancestors)
        inner = [seen for seen in self._inner.pop(own, ()) if _same_call(seen, sight)]
        carrier = self._carrier(reading, sight, near, inner)
        if live and carrier == reading.span_id and self._awaits(reading, sight):
            carrier = ""
        self._remember(reading, replace(sight, carrier=carrier), near)
        return carrier, inner

    def _carrier(self, reading: Reading, sight: _Sight, near: Sequence[Ancestor], inner: Sequence[_Sight]) -> str:
        if sight.kind == _PART:
            return reading.parent_id
        carried = next((seen.carrier for seen in inner if seen.carrier not in ("", reading.span_id)), "")
        strangers = self._strangers(reading, sight)
        joined = carried or self._joined_to(reading, sight, strangers) or self._twin(reading, sight, strangers)
        return joined or _outer(reading, sight, near) or reading.span_id

    def _awaits(self, reading: Reading, sight: _Sight) -> bool:
        """Return whether a span leaves its call to the record that its host writes with the contents."""
        if reading.log:
            if sight.filled and isinstance(reading.record, ToolCall):
                self._recorded.add(reading.dialect)
            return False
        return isinstance(reading.record, ToolCall) and not sight.filled and reading.dialect in self._recorded

    def _strangers(self, reading: Reading, sight: _Sight) -> list[_Sight]:
        """Return the spans and records of such a call that another instrumentation wrote: no other is its double."""
        peers = self._peers.get((reading.trace_id, sight.kind), ())
        return [peer for peer in peers if peer.origin != sight.origin]

    def _joined_to(self, reading: Reading, sight: _Sight, strangers: Sequence[_Sight]) -> str:
        """Return the carrier of the call that a record and a span tell of by one call id, or by their place."""
        known = self._called.get(_call_key(reading))
        if known is not None and (known.log or sight.log) and known.carrier:
            return known.carrier
        around = self._spans.get((reading.trace_id, reading.parent_id)) if sight.log else None
        if around is not None and around.kind == sight.kind and around.carrier:
            return around.carrier
        for peer in strangers:
            if peer.carrier and peer.span_id not in self._joined and _beside(peer, sight):
                self._joined[peer.span_id] = None
                self._trim(self._joined)
                return peer.carrier
        return ""

    def _twin(self, reading: Reading, sight: _Sight, strangers: Sequence[_Sight]) -> str:
        found = next((peer.carrier for peer in strangers if peer.carrier and _twins(peer, sight)), "")
        if found or not isinstance(reading.record, ModelCall) or not reading.conversation:
            return found
        # Records of a host's model turns may stand in no trace.
        peers = self._peers.get(_turns_of(reading), ())
        return next((p.carrier for p in peers if p.carrier and p.log != sight.log and _twins(p, sight)), "")

    def _remember(self, reading: Reading, sight: _Sight, near: Sequence[Ancestor]) -> None:
        self._spans[_own(reading)] = sight
        if sight.call_id and reading.conversation and sight.kind != _PART:
            self._called.setdefault(_call_key(reading), sight)
            if sight.carrier == reading.span_id:
                self._called[_call_key(reading)] = sight
            self._trim(self._called)
        if sight.kind != _PART:
            self._note(self._peers, (reading.trace_id, sight.kind), sight)
        if reading.conversation and isinstance(reading.record, ModelCall):
            self._note(self._peers, _turns_of(reading), sight)
        for span_id in {reading.parent_id, *(above.span_id for above in near)} - {""}:
            self._note(self._inner, (reading.trace_id, span_id), sight)

    def _note(self, memory: OrderedDict[_Id, list[_Sight]], key: _Id, sight: _Sight) -> None:
        known = memory.setdefault(key, [])
        known.append(sight)
        if len(known) > _PEERS:
            self.dropped["calls"] += len(known[:-_PEERS])
            del known[:-_PEERS]
        memory.move_to_end(key)
        self._trim(memory)

    def _trim(self, memory: OrderedDict[_K, _V]) -> None:
        if len(memory) > self._window:
            trim(memory, self._window, self.dropped, "calls")


def carriers(readings: Iterable[Reading]) -> list[tuple[Reading, str]]:
    """Return the readings of whole traces in the order of their ends, each with the span that carries its call.

    That is the span itself where it is nobody's double, and "" for a span that was seen before. Log records
    come a little after the spans of their time, as a verdict can be written on a span.
    """
    ordered = sorted(readings, key=_spans_first)
    spans = {_own(reading): reading for reading in ordered}
    doubles = Doubles(max(WINDOW, len(ordered)))
    return [
        (reading, doubles.carrier(reading, list(_ancestors(reading, spans))) if reading.record else reading.span_id)
        for reading in ordered
    ]


def merge(readings: Iterable[Reading]) -> list[Reading]:
    """Return the readings in the order of their ends, each call once; no other reading is left out.

    For whole traces: every field that the carrying span leaves empty is filled from its doubles, content
    included, which cannot be done live without keeping content.
    """
    kept: dict[_Id, Reading] = {}
    carriers_of: dict[str, str] = {}
    turned_down: list[tuple[str, Reading]] = []
    for reading, carrier in carriers(readings):
        carriers_of.setdefault(reading.span_id, carrier)
        if carrier == reading.span_id:
            kept.setdefault(_own(reading), reading)
        elif carrier:
            turned_down.append((carrier, reading))
    # A record may stand in another trace than its call, or in none.
    traces = {span_id: trace_id for trace_id, span_id in kept}
    for carrier, reading in turned_down:
        span_id = carriers_of.get(carrier, carrier) or carrier
        own = (reading.trace_id, span_id)
        own = own if own in kept else (traces.get(span_id, ""), span_id)
        if own in kept:
            kept[own] = _filled(kept[own], reading)
    return sorted(kept.values(), key=_order)


def _spans_first(reading: Reading) -> tuple[int, int, str]:
    return reading.end_ns + 2 * _RECORD_NS * reading.log, reading.start_ns, reading.span_id


def _order(reading: Reading) -> tuple[int, int, str]:
    return reading.end_ns, reading.start_ns, reading.span_id


def _turns_of(reading: Reading) -> _Id:
    return f"{reading.dialect} {reading.conversation}", "turns"


def _call_key(reading: Reading) -> tuple[str, ...]:
    call_id = reading.record.call_id if isinstance(reading.record, ToolCall) else ""
    return (reading.dialect, reading.conversation, _kind(reading), call_id) if call_id else ()


# One span, as remembered


def _sight(reading: Reading) -> _Sight:
    record = reading.record
    call = record if isinstance(record, ToolCall) else None
    content = call is not None and (_has(call.arguments) or _has(call.result))
    if isinstance(record, ModelCall):
        content = bool(record.text) or record.calls_tools or record.user_messages is not None
    return _Sight(
        span_id=reading.span_id,
        kind=_kind(reading),
        origin=(reading.scope, reading.dialect, reading.log),
        parent_id=reading.parent_id,
        start_ns=reading.start_ns,
        end_ns=reading.end_ns,
        call_id=call.call_id if call else "",
        values=_values(call.arguments) if call else None,
        filled=content,
        failed=call.failed if call else None,
        exit_code=call.exit_code if call else None,
        denied=call.denied if call else False,
    )


def _own(reading: Reading) -> _Id:
    return reading.trace_id, reading.span_id


def _kind(reading: Reading) -> str:
    record = reading.record
    if isinstance(record, ToolCall) and record.part:
        return _PART
    return _TOOL + _folded(record.tool) if isinstance(record, ToolCall) else type(record).__name__


def _folded(tool: str) -> str:
    """Return the tool's own name: `mcp__server__tool` and `tool` are one."""
    name = tool.strip().casefold()
    return name.rpartition("__")[2] if name.startswith("mcp__") else name


def _has(content: Content) -> bool:
    return content.capture is not Capture.ABSENT


def _values(content: Content) -> int | None:
    """Return a digest of the scalars in captured arguments, without the parameters' names, which one
    instrumentation may have lost; None where arguments cannot be compared.
    """
    if content.capture is not Capture.CAPTURED:
        return None
    found: set[int] = set()
    level: list[object] = [content.value]
    while level and len(found) < _SCALARS:
        inner: list[object] = []
        for value in level[:_SCALARS]:
            if isinstance(value, Mapping):
                inner.extend(value.values())
            elif isinstance(value, list):
                inner.extend(value)
            else:
                found.add(xxh3_64_intdigest(str(value).encode("utf-8", "surrogatepass")))
        level = inner
    return xxh3_64_intdigest(repr(sorted(found)).encode())


# Two spans


def _same_call(one: _Sight, other: _Sight) -> bool:
    if one.kind == _PART:
        return not (one.call_id and other.call_id) or one.call_id == other.call_id
    return one.origin != other.origin and one.kind == other.kind


def _beside(one: _Sight, other: _Sight) -> bool:
    """Return whether a span and a record, without a call id on both, were written in one place of one call."""
    if one.log == other.log or not one.parent_id or one.parent_id != other.parent_id:
        return False
    if not one.kind.startswith(_TOOL) or (one.call_id and other.call_id):
        return False
    return one.values == other.values or one.values is None or other.values is None


def _twins(earlier: _Sight, later: _Sight) -> bool:
    within = _TWIN_NS if earlier.log == later.log else _RECORD_NS
    if not _same_call(earlier, later) or abs(earlier.start_ns - later.start_ns) >= within:
        return False
    if later.start_ns > earlier.end_ns:
        return False
    if earlier.call_id and later.call_id:
        return earlier.call_id == later.call_id
    if earlier.kind.startswith(_TOOL):
        return earlier.values is not None and earlier.values == later.values
    return abs(earlier.end_ns - later.end_ns) < within


def _near(ancestors: Sequence[Ancestor]) -> Sequence[Ancestor]:
    """Return the spans above up to the agent's: between two spans of one call there is no agent."""
    near = ancestors[:_GENERATIONS]
    agent = next((at for at, above in enumerate(near) if above.name.startswith("invoke_agent")), len(near))
    return near[:agent]


def _outer(reading: Reading, sight: _Sight, near: Sequence[Ancestor]) -> str:
    """Return the ancestor that will carry the call of a span without content, "" if there is none."""
    if sight.filled or not isinstance(reading.record, ToolCall):
        return ""
    tool = reading.record.tool
    for above in near:
        foreign = above.scope != reading.scope or reading.dialect == "mcp"
        if foreign and (_names_call(above.name, tool) if above.tool is None else _folded(above.tool) == _folded(tool)):
            return above.span_id
    return ""


def _names_call(span_name: str, tool: str) -> bool:
    called = called_tool(span_name)
    if called in _ANY_TOOL or span_name in _ANY_TOOL:
        return True
    own, name = _folded(tool), _folded(called)
    return name == own or name.endswith(f".{own}")


def _completed(reading: Reading, inner: Sequence[_Sight]) -> Reading:
    """Return the outer reading with what its inner doubles said of failure, exit code and call id."""
    call = reading.record
    if not inner or not isinstance(call, ToolCall):
        return reading
    for seen in inner:
        call = replace(
            call,
            failed=True if seen.failed else call.failed,
            exit_code=seen.exit_code if call.exit_code is None else call.exit_code,
            call_id=call.call_id or seen.call_id,
            denied=call.denied or seen.denied,
        )
    return replace(reading, record=call)


def _filled(reading: Reading, double: Reading) -> Reading:
    """Return the carrying reading with its empty fields filled from its double, content included."""
    base = replace(
        reading,
        conversation=reading.conversation or double.conversation,
        agent=reading.agent or double.agent,
        agent_id=reading.agent_id or double.agent_id,
    )
    call, other = reading.record, double.record
    if isinstance(call, ModelCall) and isinstance(other, ModelCall) and double.log:
        return replace(base, record=_filled_turn(call, other))
    if not isinstance(call, ToolCall) or not isinstance(other, ToolCall):
        return base
    shaped = isinstance(other.arguments.value, Mapping) and not isinstance(call.arguments.value, Mapping)
    better = shaped and other.arguments.capture is Capture.CAPTURED
    record = replace(
        call,
        arguments=other.arguments if better else _fuller(call.arguments, other.arguments),
        result=_fuller(call.result, other.result),
        failed=True if other.failed else other.failed if call.failed is None else call.failed,
        error_type=call.error_type or other.error_type,
        error_message=call.error_message or other.error_message,
        exit_code=other.exit_code if call.exit_code is None else call.exit_code,
        call_id=call.call_id or other.call_id,
        denied=call.denied or other.denied,
    )
    return replace(base, record=record)


def _fuller(own: Content, other: Content) -> Content:
    """Return the content that can be compared, else the one that is there."""
    captured = other.capture is Capture.CAPTURED and own.capture is not Capture.CAPTURED
    return other if captured or not _has(own) else own


def _filled_turn(turn: ModelCall, other: ModelCall) -> ModelCall:
    return replace(
        turn,
        text=turn.text or other.text,
        calls_tools=turn.calls_tools or other.calls_tools,
        user_messages=other.user_messages if turn.user_messages is None else turn.user_messages,
        input_tokens=other.input_tokens if turn.input_tokens is None else turn.input_tokens,
        output_tokens=other.output_tokens if turn.output_tokens is None else turn.output_tokens,
        compacted=turn.compacted or other.compacted,
    )


# Whole traces


def _ancestors(reading: Reading, spans: Mapping[_Id, Reading]) -> Iterator[Ancestor]:
    at: Reading | None = reading
    for _ in range(_GENERATIONS):
        at = spans.get((at.trace_id, at.parent_id)) if at and at.parent_id else None
        if at is None:
            return
        yield Ancestor(at.span_id, at.name, at.scope, at.record.tool if isinstance(at.record, ToolCall) else "")
