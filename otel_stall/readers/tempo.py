"""Traces as Tempo's API answers them, to OTLP/JSON requests in which cut attributes are marked.

`GET /api/traces/{id}` answers with `batches`, v2 with `trace`; both with ids in base64. Tempo cuts every
attribute before it stores it, and says nothing of that on the span.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from otel_stall.otlp import Report, Signal, signal_of
from otel_stall.otlp.json import spans
from otel_stall.readers.fields import Request, mapping, mappings
from otel_stall.spans import CutText

__all__ = ["ATTRIBUTE_LIMIT", "accepts_tempo", "is_tempo", "tempo_requests"]

ATTRIBUTE_LIMIT = 2048
"""Bytes of UTF-8 at which Tempo cuts attribute values unless configured otherwise (`max_attribute_bytes`)."""

_UNREADABLE = "\N{REPLACEMENT CHARACTER}"
_LIFTED = ("batches", "resourceSpans", "resource_spans")


def is_tempo(value: object) -> bool:
    """Return whether a JSON value is an answer of Tempo, or a trace request with base64 ids as Tempo writes them."""
    fields = mapping(value)
    if isinstance(fields.get("batches"), list):
        return True
    trace = fields.get("trace")
    if isinstance(trace, Mapping):
        return any(isinstance(trace.get(key), list) for key in _LIFTED)
    return signal_of(value) is Signal.TRACES and _has_base64_ids(fields)


def accepts_tempo(value: object) -> bool:
    """Return whether a JSON value can be read as Tempo's when a person says that it is."""
    return is_tempo(value) or signal_of(value) is Signal.TRACES


def tempo_requests(value: object, _: Report) -> Iterator[Request]:
    """Yield the request of an answer; values that reach the limit are marked as cut, in place."""
    fields = mapping(value)
    trace = fields.get("trace")
    held = trace if isinstance(trace, Mapping) else fields
    groups = next((held[key] for key in _LIFTED if key in held), None)
    request: Request = {"resourceSpans": groups}
    for _trace_id, _span_id, span in spans(request):
        _mark(span)
        for event in mappings(span.get("events")):
            _mark(event)
    yield request


def _has_base64_ids(fields: Mapping[str, object]) -> bool:
    first = next(spans(fields), None)
    given = first[2].get("traceId", first[2].get("trace_id")) if first else None
    return isinstance(given, str) and given.endswith("=")


def _mark(holder: Mapping[str, object]) -> None:
    for pair in mappings(holder.get("attributes")):
        value = pair.get("value")
        if isinstance(value, dict):
            for key in ("stringValue", "string_value"):
                if isinstance(text := value.get(key), str) and _is_cut(text):
                    value[key] = CutText(text)


def _is_cut(text: str) -> bool:
    """Whether the text is as long as the limit; a character cut through leaves one or more U+FFFD at its end."""
    if not ATTRIBUTE_LIMIT // 4 <= len(text) <= ATTRIBUTE_LIMIT:
        return False
    whole = text.rstrip(_UNREADABLE)
    size, lost = len(whole.encode("utf-8", "surrogatepass")), len(text) - len(whole)
    return size == ATTRIBUTE_LIMIT or (0 < lost <= 3 and ATTRIBUTE_LIMIT - 3 <= size < ATTRIBUTE_LIMIT)
