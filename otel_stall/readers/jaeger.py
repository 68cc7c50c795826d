"""Traces as Jaeger's UI downloads them and its APIs answer them, to OTLP/JSON requests.

The legacy JSON is a trace, a list of traces or `{"data": [...]}`, with times in µs and what OTLP has as
fields in tags; API v3 is OTLP under `result`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from otel_stall.otlp import Report, Signal, any_value, hex_id, signal_of
from otel_stall.otlp.values import boolean, number, python_value
from otel_stall.readers.fields import Request, entries, kind_number, mapping, mappings, request, status_code, texts

__all__ = ["is_jaeger", "jaeger_requests"]

_US = 1_000
_OF_OTEL = frozenset({"span.kind", "otel.status_code", "otel.status_description", "w3c.tracestate"})
_SCOPES = ("otel.scope.name", "otel.library.name")
_VERSIONS = ("otel.scope.version", "otel.library.version")
_FIELDS = _OF_OTEL.union(_SCOPES, _VERSIONS, {"internal.span.format"})
"""Tags by which Jaeger says what are fields of a span or its scope in OTLP."""

_TYPES = {"bool": "boolValue", "int64": "intValue", "float64": "doubleValue", "binary": "bytesValue"}


def is_jaeger(value: object) -> bool:
    """Return whether a JSON value is a trace, a span or an answer of Jaeger."""
    if _is_trace(value) or _is_span(value):
        return True
    fields = mapping(value)
    data = fields.get("data")
    if isinstance(data, list):
        return _is_trace(data[0]) if data else "errors" in fields and "total" in fields
    return signal_of(fields.get("result")) is Signal.TRACES


def jaeger_requests(value: object, report: Report) -> Iterator[Request]:
    """Yield a request for each process and scope of each trace."""
    fields = mapping(value)
    if _is_trace(value):
        yield from _trace(fields, report)
    elif _is_span(value):
        yield from _trace({"spans": [value]}, report)
    elif isinstance(fields.get("data"), list):
        yield {"resourceSpans": []}  # an answer without traces was recognised all the same
        for trace in entries(fields["data"]):
            if _is_trace(trace):
                yield from _trace(mapping(trace), report)
            else:
                report("an entry of `data` is no Jaeger trace")
    else:
        yield dict(mapping(fields.get("result")))


def _is_trace(value: object) -> bool:
    fields = mapping(value)
    return isinstance(fields.get("spans"), list) and ("processes" in fields or "traceID" in fields)


def _is_span(value: object) -> bool:
    return isinstance(value, Mapping) and "traceID" in value and "spanID" in value


def _trace(trace: Mapping[str, object], report: Report) -> Iterator[Request]:
    processes = mapping(trace.get("processes"))
    groups: dict[tuple[str, str, str], list[dict[str, object]]] = {}
    resources: dict[str, Mapping[str, object]] = {}
    for span in entries(trace.get("spans")):
        if not isinstance(span, Mapping):
            report("an entry of `spans` is no Jaeger span")
            continue
        tags = _tags(span.get("tags"))
        key = _process_key(span)
        if key not in resources:
            resources[key] = _resource(mapping(processes.get(key) or span.get("process")))
        scope, version = _first(tags, _SCOPES), _first(tags, _VERSIONS)
        groups.setdefault((key, scope, version), []).append(_span(span, tags))
    for (key, scope, version), spans in groups.items():
        yield request(spans, resource=resources[key], scope={"name": scope, "version": version})


def _process_key(span: Mapping[str, object]) -> str:
    key = span.get("processID")
    return key if isinstance(key, str) else repr(span.get("process"))


def _resource(process: Mapping[str, object]) -> Mapping[str, object]:
    named = texts(service=process.get("serviceName"))
    own = {"service.name": named["service"]} if named else {}
    return {**own, **{key: python_value(value) for key, value in _tags(process.get("tags")).items()}}


def _span(span: Mapping[str, object], tags: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    start = number(span.get("startTime")) * _US
    return {
        "traceId": hex_id(span.get("traceID"), 16),
        "spanId": hex_id(span.get("spanID"), 8),
        "parentSpanId": _parent(span),
        **texts(name=span.get("operationName")),
        "kind": kind_number(_first(tags, ("span.kind",))),
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + number(span.get("duration")) * _US),
        "attributes": [{"key": key, "value": value} for key, value in tags.items() if not _is_field(key, value)],
        "events": [_event(log) for log in mappings(span.get("logs"))],
        "status": _status(tags),
    }


def _parent(span: Mapping[str, object]) -> str:
    """Return the span this one is a child of; one that it only follows from is a link."""
    trace = hex_id(span.get("traceID"), 16)
    for reference in mappings(span.get("references")):
        if reference.get("refType") == "CHILD_OF" and hex_id(reference.get("traceID"), 16) == trace:
            return hex_id(reference.get("spanID"), 8)
    return hex_id(span.get("parentSpanID"), 8)


def _status(tags: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    code = status_code(_first(tags, ("otel.status_code",)))
    failed = "error" in tags and boolean(python_value(tags["error"]))
    message = texts(message=_first(tags, ("otel.status_description",)))
    return {"code": code or (2 if failed else 0), **message}


def _event(log: Mapping[str, object]) -> dict[str, object]:
    fields = _tags(log.get("fields"))
    return {
        "timeUnixNano": str(number(log.get("timestamp")) * _US),
        **texts(name=_first(fields, ("event",))),
        "attributes": [{"key": key, "value": value} for key, value in fields.items() if key != "event"],
    }


def _is_field(key: str, value: Mapping[str, object]) -> bool:
    return key in _FIELDS or (key == "error" and "boolValue" in value)


def _first(tags: Mapping[str, Mapping[str, object]], names: tuple[str, ...]) -> str:
    found = (python_value(tags[name]) for name in names if name in tags)
    return next((text for text in found if isinstance(text, str)), "")


def _tags(tags: object) -> dict[str, Mapping[str, object]]:
    """Return key to AnyValue; a list of tags, or an object of them as search indexes keep."""
    if isinstance(tags, Mapping):
        return {key: any_value(value) for key, value in tags.items()}
    return {tag["key"]: _tag(tag) for tag in mappings(tags) if isinstance(tag.get("key"), str)}  # type: ignore[misc]  # the key was just seen to be text


def _tag(tag: Mapping[str, object]) -> Mapping[str, object]:
    value = tag.get("value")
    kind = tag.get("type")
    if value is None or not isinstance(kind, str) or kind.lower() not in _TYPES:
        return any_value(value)
    return {_TYPES[kind.lower()]: value}
