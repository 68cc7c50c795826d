"""All that otel-stall knows of the SDK's internals: how to read a span cheaply, and annotate an ended one.

A span is frozen before any processor sees its end: up to 1.45 the public mutators then do nothing,
and from 1.43 its attribute mapping refuses items. What works from 1.40 on, in any order of
processors, is to rebind the private fields to new containers. The old ones are never changed, because an
exporter may be reading them. Where an SDK lets `_on_ending` use the public mutators, those are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import ConcurrentMultiSpanProcessor, ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace import Event as SpanEvent
from opentelemetry.sdk.util import BoundedList
from opentelemetry.trace import SpanKind, StatusCode
from opentelemetry.util.types import AnyValue

from otel_stall.emission import Event, Value
from otel_stall.spans import EMPTY, EventView, SpanView, Status

__all__ = [
    "annotate",
    "attributes_of",
    "below_a_gap",
    "count_of",
    "has_events",
    "key_of",
    "processors_above",
    "processors_of",
    "recording",
    "starts_elsewhere",
    "view_of",
    "write",
]

_KINDS: Final = {kind: kind.name for kind in SpanKind}
_STATUS: Final = {code: Status[code.name] for code in StatusCode}
_Attribute = str | int | bool | tuple[str, ...]
_NOTHING: Final[tuple[Event, ...]] = ()
_NESTED: Final = 8
# Under these names the SDK and known wrappers keep the processors they pass spans on to.
_HOLDERS: Final = ("_active_span_processor", "_span_processors", "processor", "processors")


def key_of(span: ReadableSpan) -> tuple[int, int]:
    """Return trace id and span id."""
    context = span.get_span_context()
    # The context is a tuple: its properties would cost more than all else here.
    return context[:2] if context else (0, 0)


def attributes_of(span: ReadableSpan) -> Mapping[str, object]:
    """Return the span's attributes as a read-only mapping without the locks of the SDK's own.

    On an open span other threads may add to it: look keys up, don't iterate.
    """
    inner = _inner(getattr(span, "_attributes", None))
    return inner if inner is not None else span.attributes or EMPTY


def count_of(span: ReadableSpan) -> int:
    """Return how many attributes the span has."""
    try:
        return len(span._attributes._dict)  # type: ignore[union-attr]  # which is what an AttributeError says
    except AttributeError:
        return len(span.attributes or EMPTY)


def has_events(span: ReadableSpan) -> bool:
    """Return whether the span has events, without a copy of them."""
    try:
        return bool(span._events)
    except AttributeError:
        return bool(span.events)


def view_of(span: ReadableSpan, attributes: Mapping[str, object] | None = None) -> SpanView:
    """Return the view of an SDK span, equal to `spans.from_readable_span`; of an open one as it is now.

    `attributes` stand for the span's own where they are given.
    """
    context, parent, scope, status = span.get_span_context(), span.parent, span.instrumentation_scope, span.status
    attributes = attributes_of(span) if attributes is None else attributes
    resource = span.resource.attributes
    inner = _inner(resource)
    return SpanView(
        f"{context.trace_id:032x}" if context else "",
        f"{context.span_id:016x}" if context else "",
        f"{parent.span_id:016x}" if parent else "",
        span.name,
        span.start_time or 0,
        span.end_time or 0,
        _KINDS[span.kind],
        _STATUS[status.status_code],
        status.description or "",
        attributes if span.end_time is not None else dict(attributes),
        [EventView(e.name, e.timestamp, e.attributes or EMPTY) for e in span.events] if has_events(span) else [],
        scope.name if scope else "",
        inner if inner is not None else resource,
        bool(context and context.trace_flags.sampled),
    )


def recording(current: object) -> Span | None:
    """Return the SDK's span that records, also out of a vendor's wrapper around it; None where there is none."""
    for each in (current, getattr(current, "span", None)):
        if isinstance(each, Span) and each.is_recording():
            return each
    return None


def below_a_gap(span: ReadableSpan) -> bool:
    """Return whether a sampler may have dropped the parent, and with it other spans of the conversation."""
    return span.parent is not None and not span.parent.trace_flags.sampled


def _inner(held: object) -> Mapping[str, object] | None:
    inner = getattr(held, "_dict", None)
    return MappingProxyType(inner) if isinstance(inner, dict) else None


def annotate(span: ReadableSpan, written: Mapping[str, Value], events: Sequence[Event] = _NOTHING) -> bool:
    """Add attributes and events to a span in `_on_ending` or `on_end`; return whether it took them.

    Events carry the span's end time. Limits of count and length do not apply, since a full span would
    drop its oldest attribute, often the one that says what it is. Events alone may be added to a span that
    goes on, within the host's limit. Raises nothing.
    """
    attributes = {key: tuple(v) if isinstance(v, list) else v for key, v in written.items()}
    try:
        if _open_with_room(span, len(attributes), len(events)):
            _add(span, attributes, events)
        else:
            _rebind(span, attributes, events)
        return _took(span, attributes, events)
    except Exception:
        return False


def write(span: Span, attributes: Mapping[str, Value]) -> bool:
    """Write attributes on a span that is still open; return whether it was and had room for all of them.

    A full span would drop its oldest attribute for each new one, so it gets none. Through the public API.
    """
    if not span.is_recording():
        return False
    most = span._limits.max_span_attributes
    if most is not None and count_of(span) + len(attributes) > most:
        held = attributes_of(span)
        if len(held) + sum(key not in held for key in attributes) > most:
            return False
    span.set_attributes(attributes)
    return True


def processors_of(holder: object, depth: int = _NESTED) -> Iterator[object]:
    """Yield the span processors of a provider or processor, those inside wrappers too, as far as they can be seen."""
    if depth == 0:
        return
    for name in _HOLDERS:
        held = getattr(holder, name, None)
        for each in held if isinstance(held, list | tuple) else (held,):
            if isinstance(each, SpanProcessor):
                yield each
                yield from processors_of(each, depth - 1)


def processors_above(span: object) -> Iterator[object]:
    """Yield the processors that an open span of the SDK will end in, also where a vendor wraps the span."""
    for each in (span, getattr(span, "span", None)):
        holder = getattr(each, "_span_processor", None)
        if isinstance(holder, SpanProcessor):
            yield holder
            yield from processors_of(holder)


def starts_elsewhere(span: Span) -> bool:
    """Return whether processors are told of a span's start on another thread, where its context is not current."""
    return any(isinstance(each, ConcurrentMultiSpanProcessor) for each in processors_above(span))


def _open_with_room(span: ReadableSpan, attributes: int, events: int) -> bool:
    if not isinstance(span, Span) or not span.is_recording():
        return False
    limits = span._limits
    most, most_events = limits.max_span_attributes, limits.max_events
    # A span that goes on keeps the host's limit of events, and drops the oldest of them as for one of the host's.
    fits = most_events is None or span.end_time is None or len(span.events) + events <= most_events
    return fits and (most is None or len(attributes_of(span)) + attributes <= most)


def _add(span: ReadableSpan, attributes: Mapping[str, _Attribute], events: Sequence[Event]) -> None:
    assert isinstance(span, Span)
    span.set_attributes(attributes)
    for event in events:
        span.add_event(event.name, event.attributes, span.end_time)


def _rebind(span: ReadableSpan, attributes: Mapping[str, _Attribute], events: Sequence[Event]) -> None:
    if attributes:
        span._attributes = _joined(span._attributes, attributes)
    if events:
        added = [SpanEvent(e.name, _joined(None, e.attributes), span.end_time) for e in events]
        longer: BoundedList[SpanEvent] = BoundedList(None)
        longer.extend([*span._events, *added])
        longer.dropped = getattr(span._events, "dropped", 0)
        span._events = longer


def _joined(old: Mapping[str, AnyValue] | None, added: Mapping[str, Value | _Attribute]) -> BoundedAttributes:
    """Return a new mapping of both that reports the same number of dropped attributes as the old one."""
    if not isinstance(old, BoundedAttributes):
        return BoundedAttributes(None, {**(old or {}), **added}, True)
    joined = BoundedAttributes(old.maxlen, None, getattr(old, "_immutable", True), old.max_value_len)
    inner = getattr(old, "_dict", old)
    joined._dict = {**inner, **added}
    joined.dropped = old.dropped
    return joined


def _took(span: ReadableSpan, attributes: Mapping[str, _Attribute], events: Sequence[Event]) -> bool:
    seen = span.attributes or EMPTY
    if any(key not in seen for key in list(attributes)[:1]):
        return False
    return not events or span.events[-1].name == events[-1].name
