"""Requests in OTLP/JSON: which signal they carry, the views of their spans, and annotation in place.

A request is the parsed JSON object. Nothing here raises on content: what is not of the shape is passed
to `report` as a sentence and left out, and the rest is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from otel_stall.otlp.values import any_value, attributes_from, hex_id, key_values, number
from otel_stall.spans import EventView, SpanView, Status

__all__ = [
    "INVALID",
    "KINDS",
    "Addition",
    "Report",
    "Signal",
    "annotate_span",
    "field_of",
    "listed_objects",
    "scoped_groups",
    "signal_of",
    "spans",
    "viewed",
    "views",
]

INVALID = "a span has no valid trace id and span id"
"""What is reported of such a span."""

Report = Callable[[str], None]
"""Takes one sentence on what could not be used; must not raise."""

KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
"""Span kinds by their number in the OTLP enumeration."""


class Signal(StrEnum):
    """What a request carries."""

    TRACES = "traces"
    LOGS = "logs"
    METRICS = "metrics"


_SIGNALS = {
    "resourceSpans": Signal.TRACES,
    "resource_spans": Signal.TRACES,
    "resourceLogs": Signal.LOGS,
    "resource_logs": Signal.LOGS,
    "resourceMetrics": Signal.METRICS,
    "resource_metrics": Signal.METRICS,
}


@dataclass(frozen=True, slots=True)
class Addition:
    """What is written on one span: attributes that replace those of the same name, and events.

    Attributes and events whose names are in `replaced` are taken off first.
    """

    attributes: Mapping[str, object]
    events: tuple[EventView, ...] = ()
    replaced: frozenset[str] = frozenset()


def signal_of(value: object) -> Signal | None:
    """Return which OTLP request a parsed JSON value is, None where it is none."""
    if not isinstance(value, dict):
        return None
    return next((signal for key, signal in _SIGNALS.items() if key in value), None)


def views(request: Mapping[str, object], report: Report) -> Iterator[SpanView]:
    """Yield a view of each span of a trace request; spans without valid ids are reported and left out."""
    return (view for _, view in viewed(request, report))


def viewed(request: Mapping[str, object], report: Report) -> Iterator[tuple[dict[str, object], SpanView]]:
    """Yield each span of a trace request beside its view; spans without valid ids are reported and left out."""
    for resource, scope, span in _spans(request, report):
        if view := _view(resource, scope, span):
            yield span, view
        else:
            report(INVALID)


def spans(request: Mapping[str, object]) -> Iterator[tuple[str, str, dict[str, object]]]:
    """Yield (trace id, span id, span) of every span of a trace request, "" for an invalid id."""
    for _, _, span in _spans(request, _ignore):
        trace_id, span_id = field_of(span, "traceId", "trace_id"), field_of(span, "spanId", "span_id")
        yield hex_id(trace_id, 16), hex_id(span_id, 8), span


def annotate_span(span: dict[str, object], addition: Addition) -> None:
    """Write attributes and events on one span, in place; whatever else it holds stays as it is."""
    old = span.get("attributes")
    gone = addition.replaced | addition.attributes.keys()
    if isinstance(old, dict):  # some writers give the mapping itself
        kept = {key: value for key, value in old.items() if key not in gone}
        span["attributes"] = kept | {key: any_value(value) for key, value in addition.attributes.items()}
    elif old or addition.attributes:
        pairs = [pair for pair in _list(old) if _named(pair, "key") not in gone]
        span["attributes"] = pairs + list(key_values(addition.attributes))
    if span.get("events") or addition.events:
        events = [event for event in _list(span.get("events")) if _named(event, "name") not in addition.replaced]
        span["events"] = [*events, *map(_event, addition.events)]


def _event(event: EventView) -> dict[str, object]:
    return {
        "timeUnixNano": str(event.time_ns),
        "name": event.name,
        "attributes": [{"key": key, "value": any_value(value)} for key, value in event.attributes.items()],
    }


def _spans(request: Mapping[str, object], report: Report) -> Iterator[tuple[dict[str, object], str, dict[str, object]]]:
    """Yield (resource attributes, scope name, span) of every span."""
    for attributes, name, scoped in scoped_groups(request, "Spans", "_spans", report):
        for span in listed_objects(scoped.get("spans"), "spans", report):
            yield attributes, name, span


def scoped_groups(
    request: Mapping[str, object], signal: str, snake: str, report: Report
) -> Iterator[tuple[dict[str, object], str, dict[str, object]]]:
    """Yield (resource attributes, scope name, what the scope wrote) of a request; `signal` is "Spans" or "Logs".

    `snake` is the signal as it stands at the end of names in snake case.
    """
    groups = field_of(request, f"resource{signal}", f"resource{snake}")
    for group in listed_objects(groups, f"resource{signal}", report):
        resource = group.get("resource")
        attributes = attributes_from(resource.get("attributes")) if isinstance(resource, dict) else {}
        scopes = field_of(group, f"scope{signal}", f"scope{snake}", f"instrumentationLibrary{signal}")
        for scoped in listed_objects(scopes, f"scope{signal}", report):
            scope = field_of(scoped, "scope", "instrumentationLibrary")
            name = scope.get("name") if isinstance(scope, dict) else ""
            yield attributes, name if isinstance(name, str) else "", scoped


def _view(resource: Mapping[str, object], scope: str, span: Mapping[str, object]) -> SpanView | None:
    trace_id = hex_id(field_of(span, "traceId", "trace_id"), 16)
    span_id = hex_id(field_of(span, "spanId", "span_id"), 8)
    if not (trace_id and span_id):
        return None
    start = number(field_of(span, "startTimeUnixNano", "start_time_unix_nano"))
    status = span.get("status")
    status = status if isinstance(status, dict) else {}
    message = status.get("message")
    name = span.get("name")
    return SpanView(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=hex_id(field_of(span, "parentSpanId", "parent_span_id"), 8),
        name=name if isinstance(name, str) else "",
        start_ns=start,
        end_ns=number(field_of(span, "endTimeUnixNano", "end_time_unix_nano")) or start,
        kind=_kind(span.get("kind")),
        status=_status(status.get("code")),
        status_description=message if isinstance(message, str) else "",
        attributes=attributes_from(span.get("attributes")),
        events=[_event_view(event) for event in _list(span.get("events")) if isinstance(event, dict)],
        scope=scope,
        resource=resource,
    )


def _event_view(event: Mapping[str, object]) -> EventView:
    name = event.get("name")
    return EventView(
        name if isinstance(name, str) else "",
        number(field_of(event, "timeUnixNano", "time_unix_nano")),
        attributes_from(event.get("attributes")),
    )


def _kind(value: object) -> str:
    if isinstance(value, str) and not value.isdigit():
        name = value.rpartition("SPAN_KIND_")[2].rpartition(".")[2].upper()
        return name if name in KINDS[1:] else "INTERNAL"
    index = number(value)
    return KINDS[index] if 0 < index < len(KINDS) else "INTERNAL"


def _status(value: object) -> Status:
    if isinstance(value, str) and not value.isdigit():
        return Status.__members__.get(value.rpartition("STATUS_CODE_")[2].upper(), Status.UNSET)
    return _STATUSES.get(number(value), Status.UNSET)


_STATUSES = {status.value: status for status in Status}


def listed_objects(value: object, name: str, report: Report) -> Iterator[dict[str, object]]:
    """Yield the objects of a list under that name; what is none is reported."""
    if value is not None and not isinstance(value, list):
        report(f"{name} is no array")
    for item in _list(value):
        if isinstance(item, dict):
            yield item
        elif item is not None:
            report(f"{name} holds what is no object")


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _named(item: object, field: str) -> str | None:
    name = item.get(field) if isinstance(item, dict) else None
    return name if isinstance(name, str) else None


def field_of(holder: Mapping[str, object], *names: str) -> object:
    """Return the value of the first name that is there, None where none is."""
    for name in names:
        if name in holder:
            return holder[name]
    return None


def _ignore(_: str) -> None:
    """Reports of a second pass were made in the first."""
