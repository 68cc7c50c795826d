"""Spans as `ReadableSpan.to_json()` prints them, made into OTLP/JSON requests.

One dump becomes one request. Extra keys are ignored, but for `_scope` (or `instrumentation_scope`), a
name or a mapping with name and version: the SDK leaves the scope out of its JSON.
"""

from __future__ import annotations

from collections.abc import Mapping

from otel_stall.otlp import hex_id, key_values
from otel_stall.readers.fields import Request, kind_number, mapping, mappings, request, status_code, texts
from otel_stall.readers.times import iso_ns

__all__ = ["is_dump", "request_of"]


def is_dump(value: object) -> bool:
    """Return whether a JSON value is one span as the SDK dumps it."""
    return isinstance(value, Mapping) and "context" in value and ("start_time" in value or "parent_id" in value)


def request_of(dump: Mapping[str, object]) -> Request:
    """Return the OTLP/JSON request of one dumped span; wrong shapes inside become empty fields."""
    resource = mapping(dump.get("resource"))
    return request(
        [_span(dump)],
        resource=mapping(resource.get("attributes")),
        scope=dump.get("_scope") or dump.get("instrumentation_scope"),
        schema_url=resource.get("schema_url"),
    )


def _span(dump: Mapping[str, object]) -> dict[str, object]:
    context = mapping(dump.get("context"))
    status = mapping(dump.get("status"))
    return {
        "traceId": hex_id(context.get("trace_id"), 16),
        "spanId": hex_id(context.get("span_id"), 8),
        "parentSpanId": hex_id(dump.get("parent_id"), 8),
        **texts(name=dump.get("name")),
        "kind": kind_number(dump.get("kind")),
        "startTimeUnixNano": str(_nanos(dump.get("start_time"))),
        "endTimeUnixNano": str(_nanos(dump.get("end_time"))),
        "attributes": key_values(mapping(dump.get("attributes"))),
        "events": [_event(event) for event in mappings(dump.get("events"))],
        "links": [_link(link) for link in mappings(dump.get("links"))],
        "status": {"code": status_code(status.get("status_code")), **texts(message=status.get("description"))},
    }


def _event(event: Mapping[str, object]) -> dict[str, object]:
    return {
        "timeUnixNano": str(_nanos(event.get("timestamp"))),
        **texts(name=event.get("name")),
        "attributes": key_values(mapping(event.get("attributes"))),
    }


def _link(link: Mapping[str, object]) -> dict[str, object]:
    context = mapping(link.get("context"))
    return {
        "traceId": hex_id(context.get("trace_id"), 16),
        "spanId": hex_id(context.get("span_id"), 8),
        "attributes": key_values(mapping(link.get("attributes"))),
    }


def _nanos(value: object) -> int:
    """Return an ISO 8601 time, or a number that is one of nanoseconds already."""
    return max(value, 0) if isinstance(value, int) and not isinstance(value, bool) else iso_ns(value)
