"""Spans by themselves, as CloudWatch keeps those of ADOT, to OTLP/JSON requests.

A document is one span with its resource and scope inside and its attributes as an object. It comes alone,
a line each, in a list, under `spans`, or as the message of a log event, as text or parsed. Log records
beside the spans become log requests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping

from otel_stall.otlp import Report, hex_id, key_values
from otel_stall.otlp.values import attributes_from
from otel_stall.readers.fields import (
    Request,
    entries,
    kind_number,
    mapping,
    mappings,
    request,
    scope_fields,
    status_code,
    texts,
)
from otel_stall.readers.times import duration_ns, time_ns

__all__ = ["document_requests", "is_documents", "is_span_document", "span_request"]

_MESSAGES = ("@message", "message", "raw_otel_json")
_LISTS = ("events", "spans", "results", "logEvents")
_DEPTH = 4
_STARTS = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")
_ENDS = ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")
_EVENT_TIMES = ("timeUnixNano", "time_unix_nano", "timestamp", "time")
_LOG_TIMES = ("timeUnixNano", "observedTimeUnixNano", "time_unix_nano", "observed_time_unix_nano")


def is_documents(value: object) -> bool:
    """Return whether a JSON value is a span or log document, or holds documents in a way that is known."""
    return _is_document(value) or (isinstance(value, Mapping) and next(_inside(value), None) is not None)


def is_span_document(value: object) -> bool:
    """Return whether a JSON value is one span by itself."""
    fields = mapping(value)
    identified = ("traceId" in fields and "spanId" in fields) or ("trace_id" in fields and "span_id" in fields)
    return identified and any(key in fields for key in _STARTS)


def document_requests(value: object, report: Report) -> Iterator[Request]:
    """Yield a request for each document; foreign messages of log events are counted and reported once."""
    foreign = 0
    found = iter((value,)) if _is_document(value) else _held(value)
    for document in found:
        if is_span_document(document):
            yield span_request(mapping(document))
        elif _is_log_document(document):
            yield _log_request(mapping(document))
        else:
            foreign += 1
    if foreign:
        report(f"{foreign} log events are no span and no log record of OpenTelemetry")


def span_request(document: Mapping[str, object]) -> Request:
    """Return the request of one span document."""
    trace_id, span_id = _get(document, "traceId", "trace_id"), _get(document, "spanId", "span_id")
    start = time_ns(_get(document, *_STARTS))
    status = mapping(document.get("status"))
    end = time_ns(_get(document, *_ENDS)) or start + duration_ns(document.get("durationNano"))
    span = {
        "traceId": _id(trace_id, 16),
        "spanId": _id(span_id, 8),
        "parentSpanId": _id(_get(document, "parentSpanId", "parent_span_id"), 8),
        **texts(name=document.get("name")),
        "kind": kind_number(document.get("kind")),
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        "attributes": _attributes(document.get("attributes")),
        "events": [_event(event) for event in mappings(_get(document, "events", "span_events"))],
        "status": {"code": status_code(status.get("code")), **texts(message=status.get("message"))},
    }
    return request([span], resource=_resource(document), scope=document.get("scope"))


def _is_document(value: object) -> bool:
    return is_span_document(value) or _is_log_document(value)


def _is_log_document(value: object) -> bool:
    fields = mapping(value)
    return "body" in fields and any(key in fields for key in _LOG_TIMES)


def _log_request(document: Mapping[str, object]) -> Request:
    record = {key: value for key, value in document.items() if key not in ("resource", "scope")}
    record["attributes"] = _attributes(document.get("attributes"))
    return {
        "resourceLogs": [
            {
                "resource": {"attributes": key_values(_resource(document))},
                "scopeLogs": [{"scope": scope_fields(document.get("scope")), "logRecords": [record]}],
            }
        ]
    }


def _inside(value: Mapping[str, object]) -> Iterator[object]:
    """Yield the documents among what an object holds, without what is foreign."""
    return (document for document in _held(value) if _is_document(document))


def _held(value: object, depth: int = _DEPTH) -> Iterator[object]:
    """Yield what stands where documents may stand."""
    if _is_document(value) or not depth:
        yield value
    elif isinstance(value, list):
        fields = {item.get("field"): item.get("value") for item in mappings(value)}
        if "@message" in fields:  # a row of a query's results
            yield from _held(_parsed(fields["@message"]), depth - 1)
        else:
            for item in value:
                yield from _held(item, depth - 1)
    elif isinstance(value, Mapping):
        message = next((value[key] for key in _MESSAGES if key in value), None)
        if message is not None:
            yield _parsed(message)
            return
        for key in _LISTS:
            for item in entries(value.get(key)):
                yield from _held(item, depth - 1)


def _parsed(message: object) -> object:
    if not isinstance(message, str) or message[:1] != "{":
        return message
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return message


def _resource(document: Mapping[str, object]) -> Mapping[str, object]:
    attributes = mapping(document.get("resource")).get("attributes")
    return attributes if isinstance(attributes, Mapping) else attributes_from(attributes)


def _attributes(attributes: object) -> object:
    return key_values(attributes) if isinstance(attributes, Mapping) else attributes


def _event(event: Mapping[str, object]) -> dict[str, object]:
    return {
        "timeUnixNano": str(time_ns(_get(event, *_EVENT_TIMES))),
        **texts(name=_get(event, "name", "event_name")),
        "attributes": _attributes(event.get("attributes")),
    }


def _id(value: object, size: int) -> str:
    """Return an id; text that is none of OTLP's gets one of its own, the same wherever it stands."""
    found = hex_id(value, size)
    if found or not isinstance(value, str) or not value.strip("0 "):
        return found
    return hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


def _get(holder: Mapping[str, object], *names: str) -> object:
    return next((holder[name] for name in names if holder.get(name) is not None), None)
