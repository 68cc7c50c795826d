"""The same call written as two spans: which of them is the step, and what the other adds to it.

Two spans are one call where two instrumentations saw it: one span inside the other with the same tool, or
side by side with the same call id or the same arguments. Spans of one instrumentation are never doubles:
they are real repeats. Of two nested spans the inner carries the step if it has content, else the outer;
of two side by side the one that ended first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from xxhash import xxh3_64_intdigest

from otel_stall.calls import Capture, Content, ModelCall, Reading, ToolCall
from otel_stall.dialects.tool_calls import called_tool

__all__ = ["Ancestor", "Doubles", "carriers", "merge"]

WINDOW: Final = 4_096
"""Recorded spans that are remembered; older ones can no longer be recognised as doubles."""

_Id = tuple[str, str]

_TOOL: Final = "tool "
_TWIN_NS: Final = 50_000_000  # two instrumentations of one call started within 50 ms in every recorded run
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


@dataclass(frozen=True, slots=True)
class _Sight:
    """What is remembered of a recorded span: no content, only a digest of its arguments' scalars."""

    span_id: str
    kind: str
    origin: tuple[str, str]
    start_ns: int
    end_ns: int
    call_id: str
    values: int | None
    filled: bool
    carrier: str = ""
    failed: bool | None = None
    error_type: str = ""
    exit_code: int | None = None


class Doubles:
    """Decides, span by span in the order of their ends, which readings stand for a call of their own.

    Bounded: the last `window` spans are remembered. Not thread-safe; the caller holds its lock.
    """

    def __init__(self, window: int = WINDOW) -> None:
        self._window = window
        self._spans: OrderedDict[_Id, None] = OrderedDict()
        self._peers: OrderedDict[_Id, list[_Sight]] = OrderedDict()
        self._inner: OrderedDict[_Id, list[_Sight]] = OrderedDict()

    def admit(self, reading: Reading, ancestors: Sequence[Ancestor] = ()) -> Reading | None:
        """Return the reading to fold, completed by what its doubles said before; None if it is no call of its own.

        `ancestors` are the spans above, nearest first. None means that the span was seen before, that
        another span carries its call, or that an ancestor which is still open will.
        """
        if reading.record is None:
            return reading
        carrier, inner = self._place(reading, ancestors)
        return _completed(reading, inner) if carrier == reading.span_id else None

    def carrier(self, reading: Reading, ancestors: Sequence[Ancestor] = ()) -> str:
        """Return the id of the span that carries the call, its own where it is none's double, "" if seen before.

        Takes note of the span as `admit` does: call one of the two, once per span.
        """
        return self._place(reading, ancestors)[0]

    def remembered(self) -> int:
        """Return how many entries are held, spans and what is known of them together."""
        held = (len(known) for memory in (self._peers, self._inner) for known in memory.values())
        return len(self._spans) + sum(held)

    def _place(self, reading: Reading, ancestors: Sequence[Ancestor]) -> tuple[str, Sequence[_Sight]]:
        own = _own(reading)
        if own in self._spans:
            return "", ()
        self._spans[own] = None
        _trim(self._spans, self._window)
        sight = _sight(reading)
        near = _near(ancestors)
        inner = [seen for seen in self._inner.pop(own, ()) if _same_call(seen, sight)]
        carried = next((seen.carrier for seen in inner if seen.carrier != reading.span_id), "")
        carrier = carried or self._twin(reading, sight) or _outer(reading, sight, near) or reading.span_id
        self._remember(reading, replace(sight, carrier=carrier), near)
        return carrier, inner

    def _twin(self, reading: Reading, sight: _Sight) -> str:
        peers = self._peers.get((reading.trace_id, sight.kind), ())
        return next((peer.carrier for peer in peers if _twins(peer, sight)), "")

    def _remember(self, reading: Reading, sight: _Sight, near: Sequence[Ancestor]) -> None:
        self._note(self._peers, (reading.trace_id, sight.kind), sight)
        for span_id in {reading.parent_id, *(above.span_id for above in near)} - {""}:
            self._note(self._inner, (reading.trace_id, span_id), sight)

    def _note(self, memory: OrderedDict[_Id, list[_Sight]], key: _Id, sight: _Sight) -> None:
        known = memory.setdefault(key, [])
        known.append(sight)
        del known[:-_PEERS]
        memory.move_to_end(key)
        _trim(memory, self._window)


def carriers(readings: Iterable[Reading]) -> list[tuple[Reading, str]]:
    """Return the readings of whole traces in the order of their ends, each with the span that carries its call.

    That is the span itself where it is nobody's double, and "" for a span that was seen before.
    """
    ordered = sorted(readings, key=lambda reading: (reading.end_ns, reading.start_ns, reading.span_id))
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
    turned_down: list[tuple[str, Reading]] = []
    for reading, carrier in carriers(readings):
        if carrier == reading.span_id:
            kept.setdefault(_own(reading), reading)
        elif carrier:
            turned_down.append((carrier, reading))
    for carrier, reading in turned_down:
        own = reading.trace_id, carrier
        if own in kept:
            kept[own] = _filled(kept[own], reading)
    return list(kept.values())


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
        origin=(reading.scope, reading.dialect),
        start_ns=reading.start_ns,
        end_ns=reading.end_ns,
        call_id=call.call_id if call else "",
        values=_values(call.arguments) if call else None,
        filled=content,
        failed=call.failed if call else None,
        error_type=call.error_type if call else "",
        exit_code=call.exit_code if call else None,
    )


def _own(reading: Reading) -> _Id:
    return reading.trace_id, reading.span_id


def _kind(reading: Reading) -> str:
    record = reading.record
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
    return one.origin != other.origin and one.kind == other.kind


def _twins(earlier: _Sight, later: _Sight) -> bool:
    if not _same_call(earlier, later) or abs(earlier.start_ns - later.start_ns) >= _TWIN_NS:
        return False
    if later.start_ns > earlier.end_ns:
        return False
    if earlier.call_id and later.call_id:
        return earlier.call_id == later.call_id
    if earlier.kind.startswith(_TOOL):
        return earlier.values is not None and earlier.values == later.values
    return abs(earlier.end_ns - later.end_ns) < _TWIN_NS


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
            error_type=call.error_type or seen.error_type,
            exit_code=seen.exit_code if call.exit_code is None else call.exit_code,
            call_id=call.call_id or seen.call_id,
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
    if not isinstance(call, ToolCall) or not isinstance(other, ToolCall):
        return base
    better = isinstance(other.arguments.value, Mapping) and not isinstance(call.arguments.value, Mapping)
    record = replace(
        call,
        arguments=other.arguments if better or not _has(call.arguments) else call.arguments,
        result=call.result if _has(call.result) else other.result,
        failed=True if other.failed else other.failed if call.failed is None else call.failed,
        error_type=call.error_type or other.error_type,
        error_message=call.error_message or other.error_message,
        exit_code=other.exit_code if call.exit_code is None else call.exit_code,
        call_id=call.call_id or other.call_id,
    )
    return replace(base, record=record)


# Whole traces


def _ancestors(reading: Reading, spans: Mapping[_Id, Reading]) -> Iterator[Ancestor]:
    at: Reading | None = reading
    for _ in range(_GENERATIONS):
        at = spans.get((at.trace_id, at.parent_id)) if at and at.parent_id else None
        if at is None:
            return
        yield Ancestor(at.span_id, at.name, at.scope, at.record.tool if isinstance(at.record, ToolCall) else "")


def _trim(memory: OrderedDict[_Id, list[_Sight]] | OrderedDict[_Id, None], limit: int) -> None:
    while len(memory) > limit:
        memory.popitem(last=False)
