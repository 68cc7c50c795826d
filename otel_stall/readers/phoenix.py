"""Spans as Phoenix gives them out, to OTLP/JSON requests.

From the REST API (`{"data": [...]}` of spans with a `context`), or the records of its dataframe of spans
(`context.trace_id`, `attributes.*` as columns). Phoenix keeps neither resource nor scope, and takes apart
attributes into nested objects, which are joined to the names that the emitter wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from otel_stall.otlp import Report, hex_id, key_values
from otel_stall.readers.documents import is_span_document, span_request
from otel_stall.readers.fields import Request, entries, mapping, mappings, request, status_code, texts
from otel_stall.readers.times import time_ns

__all__ = ["accepts_phoenix", "is_phoenix", "phoenix_requests"]

_PREFIX = "attributes."
_KIND = "openinference.span.kind"
_WHOLE = ("tool.parameters", "metadata", "llm.prompt_template.variables")
"""Attributes that hold JSON objects: Phoenix parses them, and some of its answers take them apart."""

_DEPTH = 32


def is_phoenix(value: object) -> bool:
    """Return whether a JSON value is a span, a record or an answer of Phoenix."""
    fields = mapping(value)
    data = fields.get("data")
    if isinstance(data, list):
        return _is_entry(data[0]) if data else "next_cursor" in fields
    return _is_span(value) or _is_record(value) or _is_table(fields)


def accepts_phoenix(value: object) -> bool:
    """Return whether a JSON value can be read as Phoenix's when a person says that it is."""
    fields = mapping(value)
    return is_phoenix(value) or ("context" in fields and "start_time" in fields)


def phoenix_requests(value: object, report: Report) -> Iterator[Request]:
    """Yield a request for each span."""
    fields = mapping(value)
    if isinstance(fields.get("data"), list):
        yield {"resourceSpans": []}  # an answer without spans was recognised all the same
        for entry in entries(fields["data"]):
            if _is_entry(entry):
                yield _request(mapping(entry))
            else:
                report("an entry of `data` is no Phoenix span")
    elif _is_table(fields):
        yield from map(_request, _rows(fields))
    else:
        yield _request(fields)


def _is_entry(value: object) -> bool:
    return _is_span(value) or _is_record(value) or is_span_document(value)


def _is_span(value: object) -> bool:
    # The SDK's own dumps have a context, too, but their kind and status stand under these names.
    fields = mapping(value)
    return isinstance(fields.get("context"), Mapping) and ("span_kind" in fields or "status_code" in fields)


def _is_record(value: object) -> bool:
    return isinstance(mapping(value).get("context.trace_id"), str)


def _is_table(fields: Mapping[str, object]) -> bool:
    """Whether these are columns, each an object by row, as pandas writes a dataframe by default."""
    return isinstance(fields.get("context.trace_id"), Mapping)


def _rows(columns: Mapping[str, object]) -> Iterator[dict[str, object]]:
    for row in mapping(columns["context.trace_id"]):
        values = {name: mapping(column).get(row) for name, column in columns.items()}
        yield {"context.span_id": row, **{name: value for name, value in values.items() if value is not None}}


def _request(span: Mapping[str, object]) -> Request:
    if is_span_document(span) and "context" not in span:
        return span_request(span)
    context = mapping(span.get("context"))
    trace_id = context.get("trace_id", span.get("context.trace_id"))
    span_id = context.get("span_id", span.get("context.span_id", span.get("span_id")))
    return request(
        [
            {
                "traceId": hex_id(trace_id, 16),
                "spanId": hex_id(span_id, 8),
                "parentSpanId": hex_id(span.get("parent_id"), 8),
                **texts(name=span.get("name")),
                "startTimeUnixNano": str(time_ns(span.get("start_time"))),
                "endTimeUnixNano": str(time_ns(span.get("end_time"))),
                "attributes": key_values(_attributes(span)),
                "events": [_event(event) for event in mappings(span.get("events"))],
                "status": {"code": status_code(span.get("status_code")), **texts(message=span.get("status_message"))},
            }
        ]
    )


def _event(event: Mapping[str, object]) -> dict[str, object]:
    return {
        "timeUnixNano": str(time_ns(event.get("timestamp"))),
        **texts(name=event.get("name")),
        "attributes": key_values(mapping(event.get("attributes"))),
    }


def _attributes(span: Mapping[str, object]) -> Mapping[str, object]:
    nested = dict(mapping(span.get("attributes")))
    for key, value in span.items():
        if key.startswith(_PREFIX) and value is not None:
            nested[key.removeprefix(_PREFIX)] = value
    joined: dict[str, object] = {}
    for key, value in nested.items():
        _join(key, value, joined, _DEPTH)
    for name in _WHOLE:
        _gather(name, joined)
    kind = span.get("span_kind")
    if isinstance(kind, str) and kind not in ("", "UNKNOWN"):
        joined.setdefault(_KIND, kind)
    return joined


def _join(key: str, value: object, joined: dict[str, object], depth: int) -> None:
    """Enter a value under its dotted name; objects, and lists that hold objects, give one name for each leaf."""
    if not depth or key in _WHOLE or value is None:
        if value is not None:
            joined[key] = value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            _join(f"{key}.{name}", item, joined, depth - 1)
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for index, item in enumerate(value):
            _join(f"{key}.{index}", item, joined, depth - 1)
    else:
        joined[key] = value


def _gather(name: str, joined: dict[str, object]) -> None:
    """Put an object that was taken apart together again."""
    prefix = name + "."
    parts = {key.removeprefix(prefix): value for key, value in joined.items() if key.startswith(prefix)}
    if parts:
        for key in parts:
            del joined[prefix + key]
        joined.setdefault(name, parts)
