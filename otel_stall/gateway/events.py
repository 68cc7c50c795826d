"""What the gateway adds, as requests of its own: events as log records, and marked copies of stalled steps.

Both carry the resource of the span they are about, so that they stand under the agent's service.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ResourceLogs, ScopeLogs, SeverityNumber
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, TracesData

from otel_stall import __version__
from otel_stall import attributes as names
from otel_stall.calls import Reading
from otel_stall.emission import SCOPE, Event, Severity, Value
from otel_stall.gateway.answers import Request
from otel_stall.otlp import Signal
from otel_stall.otlp.editing import any_value_message, event_message, key_value_messages

__all__ = ["Remark", "Telling", "copies_request", "events_request"]

_SAMPLED: Final = 1
_SEVERITIES: Final = {
    Severity.DEBUG: SeverityNumber.SEVERITY_NUMBER_DEBUG,
    Severity.INFO: SeverityNumber.SEVERITY_NUMBER_INFO,
    Severity.WARN: SeverityNumber.SEVERITY_NUMBER_WARN,
    Severity.ERROR: SeverityNumber.SEVERITY_NUMBER_ERROR,
}
_SCOPE: Final = InstrumentationScope(name=SCOPE, version=__version__)


@dataclass(frozen=True, slots=True)
class Remark:
    """What is said of one span or log record: the attributes of a step, and events.

    `mirrored` are the events that its span carries, `whose` names conversation and agent.
    """

    attributes: Mapping[str, Value]
    events: tuple[Event, ...]
    mirrored: tuple[Event, ...]
    whose: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Telling:
    """A remark beside what it is about; `resource` is that of the reading's span."""

    reading: Reading
    resource: Mapping[str, object]
    remark: Remark


def events_request(
    tellings: Iterable[Telling], clock: Callable[[], int] = time.time_ns, *, body: str | None = None
) -> Request | None:
    """Return a log request with one record per event, None where there is none; `clock` gives epoch ns.

    `body` is what the records say beside their attributes.
    """
    now = clock()
    groups = [
        ResourceLogs(resource=resource, scope_logs=[ScopeLogs(scope=_SCOPE, log_records=records)])
        for resource, group in _by_resource(tellings)
        if (records := [_record(telling, event, now, body) for telling in group for event in telling.remark.events])
    ]
    return Request(Signal.LOGS, LogsData(resource_logs=groups).SerializeToString()) if groups else None


def copies_request(tellings: Iterable[Telling]) -> Request | None:
    """Return a trace request with a marked copy of each step inside a stall, None where there is none.

    A copy is a span of its own beside the original, with a link to it: same trace, parent and times, what was
    judged and nothing of what the call held. Its id is made of the original's, so that it is the same each time.
    """
    groups = [
        ResourceSpans(resource=resource, scope_spans=[ScopeSpans(scope=_SCOPE, spans=spans)])
        for resource, group in _by_resource(tellings)
        if (spans := [_copy(telling) for telling in group if _stalled(telling)])
    ]
    return Request(Signal.TRACES, TracesData(resource_spans=groups).SerializeToString()) if groups else None


def _by_resource(tellings: Iterable[Telling]) -> list[tuple[Resource, Sequence[Telling]]]:
    groups: dict[int, list[Telling]] = {}
    for telling in tellings:
        groups.setdefault(id(telling.resource), []).append(telling)
    return [(Resource(attributes=key_value_messages(group[0].resource)), group) for group in groups.values()]


def _record(telling: Telling, event: Event, now_ns: int, body: str | None) -> LogRecord:
    reading = telling.reading
    return LogRecord(
        time_unix_nano=reading.end_ns,
        observed_time_unix_nano=now_ns,
        severity_number=_SEVERITIES[event.severity],
        severity_text=event.severity.value,
        event_name=event.name,
        body=any_value_message(body) if body is not None else None,
        attributes=key_value_messages(event.attributes),
        flags=_SAMPLED,
        trace_id=bytes.fromhex(reading.trace_id),
        span_id=bytes.fromhex(_span_id(reading)),
    )


def _stalled(telling: Telling) -> bool:
    return bool(telling.reading.trace_id) and telling.remark.attributes.get(names.DETECTED) is True


def _copy(telling: Telling) -> Span:
    reading, remark = telling.reading, telling.remark
    trace_id, span_id = bytes.fromhex(reading.trace_id), bytes.fromhex(_span_id(reading))
    digest = blake2b(f"{reading.trace_id}{reading.span_id}".encode(), digest_size=8, person=b"stall copy")
    return Span(
        trace_id=trace_id,
        span_id=digest.digest(),
        parent_span_id=bytes.fromhex(reading.parent_id),
        flags=_SAMPLED,
        name=f"stall {remark.attributes[names.KIND]}",
        kind=Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=reading.start_ns,
        end_time_unix_nano=reading.end_ns,
        attributes=key_value_messages({**remark.whose, **remark.attributes}),
        events=[event_message(one.name, reading.end_ns, one.attributes) for one in remark.events],
        links=[Span.Link(trace_id=trace_id, span_id=span_id, flags=_SAMPLED)] if span_id else [],
    )


def _span_id(reading: Reading) -> str:
    """Return the span that a reading is about: a log record's is the one it was written in."""
    return reading.parent_id if reading.log else reading.span_id
