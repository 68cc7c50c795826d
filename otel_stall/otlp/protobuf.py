"""Requests in OTLP protobuf: decoding, views of their spans, the same request in OTLP/JSON.

`ExportTraceServiceRequest` and `TracesData` have one shape on the wire, and so have logs and metrics:
all put their resources in field 1. What a message carries is told by what decodes into valid items.
Message modules are imported when first needed, as this package must stay light to import.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from otel_stall.errors import DecodeError
from otel_stall.otlp.json import INVALID, KINDS, Report, Signal
from otel_stall.otlp.logs import LogRecord, record_view
from otel_stall.otlp.values import MAX_DEPTH, any_value
from otel_stall.spans import EventView, SpanView, Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
    from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as LogRecordMessage
    from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource
    from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span, TracesData

__all__ = ["decode", "has_ids", "log_views", "to_json", "viewed", "viewed_records", "views", "views_of"]

_STATUSES = {status.value: status for status in Status}


def decode(data: bytes) -> tuple[Signal, TracesData | LogsData | None]:
    """Return which signal a request carries and, for traces and logs, the message; raises DecodeError otherwise."""
    from google.protobuf.message import DecodeError as ProtobufError
    from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
    from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    traces, spans = TracesData(), 0
    try:
        traces.ParseFromString(data)
        for span in _each_span(traces):
            if len(span.trace_id) == 16 and len(span.span_id) == 8:
                return Signal.TRACES, traces
            spans += 1
    except ProtobufError:
        spans = -1
    if not spans:
        return Signal.TRACES, traces
    for message in (LogsData(), MetricsData()):
        try:
            message.ParseFromString(data)
        except ProtobufError:
            continue
        if _carries(message):
            return (Signal.LOGS, message) if isinstance(message, LogsData) else (Signal.METRICS, None)
    if spans > 0:
        return Signal.TRACES, traces
    raise DecodeError("not an OTLP protobuf message")


def _carries(message: object) -> bool:
    """Return whether a logs or metrics message holds an item that can only be one."""
    for group in getattr(message, "resource_logs", ()):
        for scope in group.scope_logs:
            if any(r.time_unix_nano or r.observed_time_unix_nano or r.HasField("body") for r in scope.log_records):
                return True
    for group in getattr(message, "resource_metrics", ()):
        for scope in group.scope_metrics:
            if any(metric.WhichOneof("data") for metric in scope.metrics):
                return True
    return False


def views(message: TracesData, report: Report) -> Iterator[SpanView]:
    """Yield a view of each span, equal to what the same request in OTLP/JSON gives."""
    return (view for _, view in viewed(message, report))


def viewed(message: TracesData, report: Report) -> Iterator[tuple[Span, SpanView]]:
    """Yield each span beside its view; spans without valid ids are reported and left out."""
    for group in message.resource_spans:
        resource = _attributes(group.resource.attributes)
        for scoped in group.scope_spans:
            for span in scoped.spans:
                if has_ids(span):
                    yield span, _view(resource, scoped.scope.name, span)
                else:
                    report(INVALID)


def has_ids(span: Span) -> bool:
    """Return whether trace id and span id are of the right size and not all zero."""
    return len(span.trace_id) == 16 and any(span.trace_id) and len(span.span_id) == 8 and any(span.span_id)


def _view(resource: dict[str, object], scope: str, span: Span) -> SpanView:
    parent = span.parent_span_id
    return SpanView(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=parent.hex() if len(parent) == 8 and any(parent) else "",
        name=span.name,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano or span.start_time_unix_nano,
        kind=KINDS[span.kind] if 0 < span.kind < len(KINDS) else "INTERNAL",
        status=_STATUSES.get(span.status.code, Status.UNSET),
        status_description=span.status.message,
        attributes=_attributes(span.attributes),
        events=[EventView(e.name, e.time_unix_nano, _attributes(e.attributes)) for e in span.events],
        scope=scope,
        resource=resource,
    )


def views_of(message: TracesData | LogsData, report: Report) -> Iterator[SpanView]:
    """Yield the views of a message, be it of traces or of logs."""
    from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

    return log_views(message) if isinstance(message, LogsData) else views(message, report)


def log_views(message: LogsData) -> Iterator[SpanView]:
    """Yield a view of each log record, equal to what the same request in OTLP/JSON gives."""
    return (view for _, view in viewed_records(message))


def viewed_records(message: LogsData) -> Iterator[tuple[LogRecordMessage, SpanView]]:
    """Yield each log record beside its view."""
    for group in message.resource_logs:
        resource = _attributes(group.resource.attributes)
        for scoped in group.scope_logs:
            for record in scoped.log_records:
                trace_id, span_id = record.trace_id, record.span_id
                fields = LogRecord(
                    trace_id=trace_id.hex() if len(trace_id) == 16 and any(trace_id) else "",
                    span_id=span_id.hex() if len(span_id) == 8 and any(span_id) else "",
                    time_ns=record.time_unix_nano or record.observed_time_unix_nano,
                    event_name=getattr(record, "event_name", ""),
                    body=_value(record.body),
                    attributes=_attributes(record.attributes),
                )
                yield record, record_view(resource, scoped.scope.name, fields)


def _attributes(pairs: Iterable[KeyValue], depth: int = 0) -> dict[str, object]:
    return {pair.key: _value(pair.value, depth) for pair in pairs}


def _value(value: AnyValue, depth: int = 0) -> object:
    kind = value.WhichOneof("value")
    if kind is None or depth > MAX_DEPTH:
        return None
    if kind == "array_value":
        return tuple(_value(item, depth + 1) for item in value.array_value.values)
    if kind == "kvlist_value":
        return _attributes(value.kvlist_value.values, depth + 1)
    return getattr(value, kind)


def _each_span(message: TracesData) -> Iterator[Span]:
    for group in message.resource_spans:
        for scoped in group.scope_spans:
            yield from scoped.spans


def to_json(message: TracesData) -> dict[str, object]:
    """Return the request in OTLP/JSON; fields that this version of the protocol does not know are lost."""
    return {
        "resourceSpans": [
            _drop_empty(
                resource=_resource(group.resource),
                scopeSpans=[_scope_spans(scoped) for scoped in group.scope_spans],
                schemaUrl=group.schema_url,
            )
            for group in message.resource_spans
        ]
    }


def _resource(resource: Resource) -> dict[str, object]:
    return _drop_empty(attributes=_pairs(resource.attributes), droppedAttributesCount=resource.dropped_attributes_count)


def _scope_spans(scoped: ScopeSpans) -> dict[str, object]:
    return _drop_empty(
        scope=_scope(scoped.scope),
        spans=[_span(span) for span in scoped.spans],
        schemaUrl=scoped.schema_url,
    )


def _scope(scope: InstrumentationScope) -> dict[str, object]:
    return _drop_empty(
        name=scope.name,
        version=scope.version,
        attributes=_pairs(scope.attributes),
        droppedAttributesCount=scope.dropped_attributes_count,
    )


def _span(span: Span) -> dict[str, object]:
    return _drop_empty(
        traceId=span.trace_id.hex(),
        spanId=span.span_id.hex(),
        traceState=span.trace_state,
        parentSpanId=span.parent_span_id.hex(),
        flags=span.flags,
        name=span.name,
        kind=int(span.kind),
        startTimeUnixNano=_nanos(span.start_time_unix_nano),
        endTimeUnixNano=_nanos(span.end_time_unix_nano),
        attributes=_pairs(span.attributes),
        droppedAttributesCount=span.dropped_attributes_count,
        events=[_event(event) for event in span.events],
        droppedEventsCount=span.dropped_events_count,
        links=[_link(link) for link in span.links],
        droppedLinksCount=span.dropped_links_count,
        status=_drop_empty(message=span.status.message, code=int(span.status.code)),
    )


def _event(event: Span.Event) -> dict[str, object]:
    return _drop_empty(
        timeUnixNano=_nanos(event.time_unix_nano),
        name=event.name,
        attributes=_pairs(event.attributes),
        droppedAttributesCount=event.dropped_attributes_count,
    )


def _link(link: Span.Link) -> dict[str, object]:
    return _drop_empty(
        traceId=link.trace_id.hex(),
        spanId=link.span_id.hex(),
        traceState=link.trace_state,
        attributes=_pairs(link.attributes),
        droppedAttributesCount=link.dropped_attributes_count,
        flags=link.flags,
    )


def _pairs(pairs: Iterable[KeyValue]) -> list[dict[str, object]]:
    return [{"key": pair.key, "value": any_value(_value(pair.value))} for pair in pairs]


def _nanos(value: int) -> str:
    return str(value) if value else ""


def _drop_empty(**fields: object) -> dict[str, object]:
    """Return the fields that hold something, as the JSON form leaves defaults out."""
    return {name: value for name, value in fields.items() if value not in ("", 0, [], {})}
