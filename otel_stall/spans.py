"""`SpanView`, the one read-only view of a finished span, and where it comes from.

A dialect never sees an SDK object or a protobuf message: it sees a `SpanView`. The view holds
references to the host's values, copies nothing and is dropped when the observation was made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

from otel_stall.values import unguarded

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

__all__ = ["EMPTY", "CutText", "EventView", "SpanView", "Status", "from_readable_span"]

EMPTY: Mapping[str, object] = MappingProxyType({})


def _empty() -> Mapping[str, object]:
    return EMPTY  # a factory, because dataclasses of Python 3.11 refuse a mapping proxy as default


class CutText(str):
    """Text that lost its end to a length limit after it was emitted: known in part, so equal to nothing.

    A reader that knows the limit of where it reads from marks values so; for everything else it is text.
    """

    __slots__ = ()


class Status(Enum):
    """Status of a span, with the numbers of the OTLP enumeration."""

    UNSET = 0
    OK = 1
    ERROR = 2


@unguarded
@dataclass(frozen=True, slots=True)
class EventView:
    """One timestamped event of a span."""

    name: str
    time_ns: int = 0
    attributes: Mapping[str, object] = field(default_factory=_empty)


@unguarded
@dataclass(frozen=True, slots=True)
class SpanView:
    """A finished span or a log record; ids are lower-case hex, "" means none, times are epoch ns.

    A log record (`log`) begins and ends at its time, its name is its event's, its parent the span it was
    written in; its own id is made of what it holds, so that a record delivered twice has one id.

    Attribute values are those of the OTLP AnyValue: str, bool, int, float, bytes, None, sequences and
    mappings of these (the SDK hands out tuples where the host passed lists).
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    kind: str = "INTERNAL"
    status: Status = Status.UNSET
    status_description: str = ""
    attributes: Mapping[str, object] = field(default_factory=_empty)
    events: Sequence[EventView] = ()
    scope: str = ""
    resource: Mapping[str, object] = field(default_factory=_empty)
    sampled: bool = True
    log: bool = False
    body: object = None


def from_readable_span(span: ReadableSpan) -> SpanView:
    """Return the view of an SDK span that has ended, in `_on_ending` or `on_end`.

    Attributes and events are the span's own mappings, not copies: read them before the hook returns.
    """
    context = span.get_span_context()
    scope = span.instrumentation_scope
    return SpanView(
        trace_id=f"{context.trace_id:032x}" if context else "",
        span_id=f"{context.span_id:016x}" if context else "",
        parent_id=f"{span.parent.span_id:016x}" if span.parent else "",
        name=span.name,
        start_ns=span.start_time or 0,
        end_ns=span.end_time or 0,
        kind=span.kind.name,
        status=Status[span.status.status_code.name],
        status_description=span.status.description or "",
        attributes=span.attributes or EMPTY,
        events=[EventView(e.name, e.timestamp, e.attributes or EMPTY) for e in span.events],
        scope=scope.name if scope else "",
        resource=span.resource.attributes,
        sampled=bool(context and context.trace_flags.sampled),
    )
