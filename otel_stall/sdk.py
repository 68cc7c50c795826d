"""All that otel-stall knows of the SDK's internals: how to read a span cheaply, and annotate an ended one.

A span is frozen before any processor sees its end: up to 1.45 the public mutators then do nothing,
and from 1.43 its attribute mapping refuses items. What works from 1.40 on, in any order of
processors, is to rebind the private fields to new containers. The old ones are never changed, because an
exporter may be reading them. Where an SDK lets `_on_ending` use the public mutators, those are used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import Event as SpanEvent
from opentelemetry.sdk.trace import ReadableSpan, Span
from opentelemetry.sdk.util import BoundedList
from opentelemetry.util.types import AnyValue

from otel_stall.emission import Event, Value
from otel_stall.spans import EMPTY, SpanView, from_readable_span

__all__ = ["annotate", "attributes_of", "view_of"]

_Attribute = str | int | bool | tuple[str, ...]
_NOTHING: Final[tuple[Event, ...]] = ()


def attributes_of(span: ReadableSpan) -> Mapping[str, object]:
    """Return the span's attributes as a read-only mapping without the locks of the SDK's own.

    On an open span other threads may add to it: look keys up, don't iterate.
    """
    held = getattr(span, "_attributes", None)
    inner = getattr(held, "_dict", None)
    if isinstance(inner, dict):
        return MappingProxyType(inner)
    return span.attributes or EMPTY


def view_of(span: ReadableSpan) -> SpanView:
    """Return the view of an SDK span; of one that is still open, as it is now."""
    if span.end_time is None:
        return from_readable_span(span, dict(attributes_of(span)))
    return from_readable_span(span, attributes_of(span))


def annotate(span: ReadableSpan, written: Mapping[str, Value], events: Sequence[Event] = _NOTHING) -> bool:
    """Add attributes and events to a span in `_on_ending` or `on_end`; return whether it took them.

    Events carry the span's end time. Limits of count and length do not apply, since a full span would
    drop its oldest attribute, often the one that says what it is. Raises nothing.
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


def _open_with_room(span: ReadableSpan, attributes: int, events: int) -> bool:
    if not isinstance(span, Span) or not span.is_recording():
        return False
    limits = span._limits
    most, most_events = limits.max_span_attributes, limits.max_events
    return (most is None or len(attributes_of(span)) + attributes <= most) and (
        most_events is None or len(span.events) + events <= most_events
    )


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
