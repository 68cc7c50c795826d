"""Spans as `ReadableSpan.to_json()` prints them, made into OTLP/JSON requests.

One dump becomes one request. Extra keys are ignored, but for `_scope` (or `instrumentation_scope`), a
name or a mapping with name and version: the SDK leaves the scope out of its JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from otel_stall.otlp import hex_id, key_values
from otel_stall.otlp.json import KINDS

__all__ = ["is_dump", "request_of"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CODES = {"UNSET": 0, "OK": 1, "ERROR": 2}


def is_dump(value: object) -> bool:
    """Return whether a JSON value is one span as the SDK dumps it."""
    return isinstance(value, Mapping) and "context" in value and ("start_time" in value or "parent_id" in value)


def request_of(dump: Mapping[str, object]) -> dict[str, object]:
    """Return the OTLP/JSON request of one dumped span; wrong shapes inside become empty fields."""
    resource = _mapping(dump.get("resource"))
    scope = dump.get("_scope") or dump.get("instrumentation_scope")
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": key_values(_mapping(resource.get("attributes")))},
                "scopeSpans": [{"scope": _scope(scope), "spans": [_span(dump)]}],
                **_named(schemaUrl=resource.get("schema_url")),
            }
        ]
    }


def _span(dump: Mapping[str, object]) -> dict[str, object]:
    context = _mapping(dump.get("context"))
    status = _mapping(dump.get("status"))
    return {
        "traceId": hex_id(context.get("trace_id"), 16),
        "spanId": hex_id(context.get("span_id"), 8),
        "parentSpanId": hex_id(dump.get("parent_id"), 8),
        **_named(name=dump.get("name")),
        "kind": _kind(dump.get("kind")),
        "startTimeUnixNano": str(_nanos(dump.get("start_time"))),
        "endTimeUnixNano": str(_nanos(dump.get("end_time"))),
        "attributes": key_values(_mapping(dump.get("attributes"))),
        "events": [_event(event) for event in _mappings(dump.get("events"))],
        "links": [_link(link) for link in _mappings(dump.get("links"))],
        "status": {"code": _code(status), **_named(message=status.get("description"))},
    }


def _event(event: Mapping[str, object]) -> dict[str, object]:
    return {
        "timeUnixNano": str(_nanos(event.get("timestamp"))),
        **_named(name=event.get("name")),
        "attributes": key_values(_mapping(event.get("attributes"))),
    }


def _link(link: Mapping[str, object]) -> dict[str, object]:
    context = _mapping(link.get("context"))
    return {
        "traceId": hex_id(context.get("trace_id"), 16),
        "spanId": hex_id(context.get("span_id"), 8),
        "attributes": key_values(_mapping(link.get("attributes"))),
    }


def _scope(scope: object) -> dict[str, object]:
    if isinstance(scope, str):
        return {"name": scope}
    fields = _mapping(scope)
    return _named(name=fields.get("name"), version=fields.get("version"))


def _kind(value: object) -> int:
    name = value.rpartition(".")[2].upper() if isinstance(value, str) else ""
    return KINDS.index(name) if name in KINDS else 0


def _code(status: Mapping[str, object]) -> int:
    code = status.get("status_code")
    return _CODES.get(code.rpartition(".")[2].upper(), 0) if isinstance(code, str) else 0


def _nanos(value: object) -> int:
    """Return nanoseconds since the epoch of an ISO 8601 time (UTC where no zone is given) or a number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return max(value, 0)
    try:
        time = datetime.fromisoformat(value)  # type: ignore[arg-type]  # anything else raises TypeError
    except (TypeError, ValueError):
        return 0
    since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
    return max(((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1_000, 0)


def _named(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if isinstance(value, str) and value}


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _mappings(value: object) -> list[Mapping[str, object]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
