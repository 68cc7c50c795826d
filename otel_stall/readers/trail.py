"""Traces in the layout of the TRAIL benchmark, to OTLP/JSON requests.

A file `<trace_id>.json` holds a trace as a tree: spans with their children inside. The benchmark's table
has such a file as text in the column `trace`, beside its labels, which are not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from otel_stall.otlp import Report, hex_id, key_values
from otel_stall.readers.fields import Request, entries, kind_number, mapping, mappings, request, status_code, texts
from otel_stall.readers.times import duration_ns, time_ns

__all__ = ["is_trail", "trail_requests"]

_CHILDREN = "child_spans"
_NAMES = ("span_name", _CHILDREN, "span_attributes")
_NOT_A_SPAN = "an entry of `spans` or `child_spans` is no span of the TRAIL layout"


def is_trail(value: object) -> bool:
    """Return whether a JSON value is a trace in that layout, or a row or rows of the benchmark's table."""
    if _is_trace(value):
        return True
    fields = mapping(value)
    rows = entries(fields.get("rows"))
    return _is_row(fields) or bool(rows and _is_row(mapping(mapping(rows[0]).get("row"))))


def trail_requests(value: object, report: Report) -> Iterator[Request]:
    """Yield a request for each span, parents before their children."""
    fields = mapping(value)
    if _is_trace(value):
        yield {"resourceSpans": []}  # a trace without spans was recognised all the same
        yield from map(_request, _walk(fields, report))
    elif _is_row(fields):
        yield from _row(fields, report)
    else:
        for row in mappings(fields.get("rows")):
            yield from _row(mapping(row.get("row")), report)


def _is_trace(value: object) -> bool:
    fields = mapping(value)
    spans = fields.get("spans")
    if "trace_id" not in fields or not isinstance(spans, list):
        return False
    return not spans or any(name in mapping(spans[0]) for name in _NAMES)


def _is_row(fields: Mapping[str, object]) -> bool:
    trace = fields.get("trace")
    return isinstance(trace, str) and trace.lstrip()[:1] == "{" and "labels" in fields


def _row(fields: Mapping[str, object], report: Report) -> Iterator[Request]:
    trace = fields.get("trace")
    try:
        parsed = json.loads(trace) if isinstance(trace, str) else trace
    except (ValueError, RecursionError):
        report("the column `trace` of a row is broken JSON")
        return
    if _is_trace(parsed):
        yield from trail_requests(parsed, report)
    else:
        report("the column `trace` of a row is no trace of the TRAIL layout")


def _walk(trace: Mapping[str, object], report: Report) -> Iterator[dict[str, object]]:
    """Yield the spans with trace and parent filled in from where they stand in the tree."""
    above = {"trace_id": trace.get("trace_id"), "parent_span_id": None}
    waiting = [(span, above) for span in reversed(entries(trace.get("spans")))]
    while waiting:
        span, given = waiting.pop()
        if not isinstance(span, Mapping):
            report(_NOT_A_SPAN)
            continue
        whole = {**given, **{key: value for key, value in span.items() if value is not None}}
        yield whole
        below = {"trace_id": whole.get("trace_id"), "parent_span_id": whole.get("span_id")}
        waiting.extend((child, below) for child in reversed(entries(span.get(_CHILDREN))))


def _request(span: Mapping[str, object]) -> Request:
    start = time_ns(span.get("timestamp"))
    return request(
        [
            {
                "traceId": hex_id(span.get("trace_id"), 16),
                "spanId": hex_id(span.get("span_id"), 8),
                "parentSpanId": hex_id(span.get("parent_span_id"), 8),
                **texts(name=span.get("span_name")),
                "kind": kind_number(span.get("span_kind")),
                "startTimeUnixNano": str(start),
                "endTimeUnixNano": str(start + duration_ns(span.get("duration"))),
                "attributes": key_values(mapping(span.get("span_attributes"))),
                "events": [_event(event) for event in mappings(span.get("events"))],
                "status": {"code": status_code(span.get("status_code")), **texts(message=span.get("status_message"))},
            }
        ],
        resource=_resource(span),
        scope={"name": span.get("scope_name"), "version": span.get("scope_version")},
    )


def _resource(span: Mapping[str, object]) -> Mapping[str, object]:
    service = span.get("service_name")
    own = {"service.name": service} if isinstance(service, str) and service else {}
    return {**own, **mapping(span.get("resource_attributes"))}


def _event(event: Mapping[str, object]) -> dict[str, object]:
    """Return an event; its fields are written in small letters or, as the database has them, capitalised."""
    fields = {key.lower(): value for key, value in event.items()}
    return {
        "timeUnixNano": str(time_ns(fields.get("timestamp", fields.get("time")))),
        **texts(name=fields.get("name")),
        "attributes": key_values(mapping(fields.get("attributes"))),
    }
