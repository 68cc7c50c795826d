"""Log records as views: what a host says in its logs stands beside its spans, in one shape.

`record_view` makes the view of one record, whatever its encoding; `log_views` reads OTLP/JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from xxhash import xxh3_64_hexdigest

from otel_stall.otlp.json import Report, field_of, listed_objects, scoped_groups
from otel_stall.otlp.values import attributes_from, hex_id, number, python_value
from otel_stall.spans import SpanView

__all__ = ["LogRecord", "log_views", "record_view", "viewed_records"]

_NAME_CHARS: Final = 256
_EVENT_NAME: Final = "event.name"


class LogRecord(NamedTuple):
    """The fields of a log record that are read; ids in hex, "" for none, time in ns, 0 for none."""

    trace_id: str
    span_id: str
    time_ns: int
    event_name: str
    body: object
    attributes: Mapping[str, object]


def record_view(resource: Mapping[str, object], scope: str, record: LogRecord) -> SpanView:
    """Return the view of a record: named by its event, its parent the span that it was written in.

    The attribute `event.name` goes before the field, as some hosts put a line of their source there; a
    record without either is named by its text.
    """
    said = record.attributes.get(_EVENT_NAME)
    name = said if isinstance(said, str) and said else record.event_name
    if not name and isinstance(record.body, str):
        name = record.body
    return SpanView(
        trace_id=record.trace_id,
        span_id=_identity(record),
        parent_id=record.span_id,
        name=name[:_NAME_CHARS],
        start_ns=record.time_ns,
        end_ns=record.time_ns,
        attributes=record.attributes,
        scope=scope,
        resource=resource,
        log=True,
        body=record.body,
    )


def _identity(record: LogRecord) -> str:
    """Return an id made of what the record holds, longer than any span's."""
    return f"log:{xxh3_64_hexdigest(repr(record).encode('utf-8', 'surrogatepass'))}"


def log_views(request: Mapping[str, object], report: Report) -> Iterator[SpanView]:
    """Yield a view of each record of a log request in OTLP/JSON; what has a wrong shape is reported."""
    return (view for _, view in viewed_records(request, report))


def viewed_records(request: Mapping[str, object], report: Report) -> Iterator[tuple[dict[str, object], SpanView]]:
    """Yield each record of a log request beside its view; what has a wrong shape is reported."""
    for attributes, name, scoped in scoped_groups(request, "Logs", "_logs", report):
        records = field_of(scoped, "logRecords", "log_records", "logs")
        for record in listed_objects(records, "logRecords", report):
            yield record, record_view(attributes, name, _record(record))


def _record(record: Mapping[str, object]) -> LogRecord:
    event = field_of(record, "eventName", "event_name")
    time_ns = number(field_of(record, "timeUnixNano", "time_unix_nano"))
    return LogRecord(
        trace_id=hex_id(field_of(record, "traceId", "trace_id"), 16),
        span_id=hex_id(field_of(record, "spanId", "span_id"), 8),
        time_ns=time_ns or number(field_of(record, "observedTimeUnixNano", "observed_time_unix_nano")),
        event_name=event if isinstance(event, str) else "",
        body=python_value(record.get("body")),
        attributes=attributes_from(record.get("attributes")),
    )
