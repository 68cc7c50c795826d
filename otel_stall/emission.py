"""What a verdict becomes in telemetry: the `stall.*` attributes of a tool span, and the five events.

Both are pure functions of a `Judged`. `EventLog` hands events to the logging API, linked to the span
they are about; it is silent where the host has set up no logger provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from otel_stall import attributes as names
from otel_stall.silence import Silence
from otel_stall.verdicts import Change, Changed, Judged, Level, Milestone, Stall

if TYPE_CHECKING:
    from opentelemetry._logs import Logger, LoggerProvider
    from opentelemetry.context import Context

__all__ = [
    "AGENT",
    "CONVERSATION",
    "SCOPE",
    "Event",
    "EventLog",
    "Severity",
    "Value",
    "attributes_of",
    "bounded_text",
    "events_of",
    "fingerprint",
    "silent",
    "stall_attributes",
    "whose_attributes",
]

Value = str | int | bool | list[str]

EVIDENCE_ENTRIES: Final = 8
TEXT_CHARS: Final = 120

_DIGEST_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF
CONVERSATION: Final = "gen_ai.conversation.id"
AGENT: Final = "gen_ai.agent.name"
SCOPE: Final = "otel_stall"


class Severity(StrEnum):
    """Severity of an event, by the names of the logs data model."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it is logged, and mirrored on the span."""

    name: str
    severity: Severity
    attributes: Mapping[str, Value]


def attributes_of(judged: Judged, key: str = "", *, minimal: bool = False) -> dict[str, Value]:
    """Return the attributes for the span of a counted step, {} for any other observation.

    With a `key`, fingerprints are tokens that only its owner can recompute. A fingerprint of unknown
    content is left out. `minimal`: outside a stall only the five that counters and samplers need.
    """
    verdict = judged.verdict
    if not verdict.counted:
        return {}
    written: dict[str, Value] = {
        names.STEP: verdict.step,
        names.GAIN_TYPE: verdict.gain.value,
        names.STEPS_SINCE_MILESTONE: verdict.steps_since_milestone,
        names.STEPS_SINCE_GAIN: verdict.steps_since_gain,
        names.DETECTED: verdict.stall is not None,
    }
    if minimal and verdict.stall is None:
        return written
    written |= {
        names.GAIN_REASON: verdict.reason,
        names.MILESTONE_COUNT: verdict.milestone_count,
        names.STATE_CHANGES: verdict.state_changes,
        names.CONTEXT_EPOCH: verdict.epoch,
    }
    if verdict.call_fingerprint is not None:
        written[names.CALL_FINGERPRINT] = fingerprint(verdict.call_fingerprint, key)
    if verdict.outcome_fingerprint is not None:
        written[names.OUTCOME_FINGERPRINT] = fingerprint(verdict.outcome_fingerprint, key)
    if verdict.stall is not None:
        written |= stall_attributes(verdict.stall)
    return written


def events_of(judged: Judged) -> list[Event]:
    """Return one event for each change the verdict reports, in its order."""
    if not judged.verdict.changes:
        return []
    whose = whose_attributes(judged.conversation, judged.agent)
    return [_event(changed, whose) for changed in judged.verdict.changes]


def silent(silence: Silence) -> Event:
    """Return the event that says what is late."""
    written = whose_attributes(silence.conversation, silence.agent)
    if silence.tool:
        written["gen_ai.tool.name"] = bounded_text(silence.tool)
    written |= {names.SILENCE_REASON: silence.reason, names.SILENCE_SECONDS: int(silence.seconds)}
    return Event(names.EVENT_SILENT, Severity.WARN, written)


def fingerprint(digest: int, key: str = "") -> str:
    """Return a 64-bit digest as 16 hex digits: as it is, or as keyed BLAKE2b of it where there is a key."""
    bits = digest & _DIGEST_MASK
    if not key:
        return f"{bits:016x}"
    return blake2b(bits.to_bytes(8, "big"), key=_key(key), digest_size=8).hexdigest()


class EventLog:
    """Logs events through the OpenTelemetry logs API, each in the context of the span it is about.

    `provider` defaults to the global one. `emit` may be called on any thread; it costs what the host's
    log processors cost, and may raise what they raise.
    """

    def __init__(self, provider: LoggerProvider | None = None) -> None:
        self._provider = provider
        self._logger: Logger | None = None

    def emit(self, judged: Judged, events: list[Event], *, time_ns: int, sampled: bool) -> None:
        """Log the events of one verdict; `time_ns` is the end of its span."""
        from opentelemetry._logs import LogRecord, SeverityNumber, get_logger

        if self._logger is None:
            self._logger = get_logger(SCOPE, logger_provider=self._provider)
        context = _context(judged, sampled)
        for event in events:
            record = LogRecord(
                timestamp=time_ns,
                context=context,
                severity_number=SeverityNumber[event.severity.value],
                severity_text=event.severity.value,
                attributes=dict(event.attributes),
                event_name=event.name,
            )
            self._logger.emit(record)

    def say(self, event: Event, *, time_ns: int, body: str | None = None) -> None:
        """Log an event that is about no span's end, in the current context."""
        from opentelemetry._logs import LogRecord, SeverityNumber, get_logger

        if self._logger is None:
            self._logger = get_logger(SCOPE, logger_provider=self._provider)
        record = LogRecord(
            timestamp=time_ns,
            severity_number=SeverityNumber[event.severity.value],
            severity_text=event.severity.value,
            body=body,
            attributes=dict(event.attributes),
            event_name=event.name,
        )
        self._logger.emit(record)


_NAMES: Final = {
    Change.STARTED: names.EVENT_STARTED,
    Change.ESCALATED: names.EVENT_ESCALATED,
    Change.ENDED: names.EVENT_ENDED,
    Change.MILESTONE_REACHED: names.EVENT_MILESTONE,
    Change.CONTEXT_COMPACTED: names.EVENT_COMPACTED,
}


def _event(changed: Changed, whose: Mapping[str, Value]) -> Event:
    written: dict[str, Value] = {**whose, names.STEP: changed.step}
    if changed.stall is not None:
        written |= stall_attributes(changed.stall)
        if changed.stall.ended is not None:
            written[names.END_REASON] = changed.stall.ended.value
    if changed.inferred:
        written[names.CONTEXT_INFERRED] = True
    if changed.milestone is not None:
        written |= _of_milestone(changed.milestone)
    return Event(_NAMES[changed.change], _severity(changed), written)


def _severity(changed: Changed) -> Severity:
    if changed.change is Change.CONTEXT_COMPACTED:
        return Severity.DEBUG
    if changed.change is Change.ESCALATED and changed.stall is not None:
        return Severity.ERROR if changed.stall.level.rank > Level.REPLAN.rank else Severity.WARN
    return Severity.INFO


def whose_attributes(conversation: str, agent: str) -> dict[str, Value]:
    """Return the attributes that say whose an event is; what is not known is left out."""
    said = {CONVERSATION: conversation, AGENT: agent}
    return {name: bounded_text(value) for name, value in said.items() if value}


def stall_attributes(stall: Stall) -> dict[str, Value]:
    """Return the attributes that describe a stall."""
    return {
        names.KIND: stall.kind.value,
        names.LEVEL: stall.level.value,
        names.FIRST_STEP: stall.first_step,
        names.EVIDENCE: [bounded_text(entry) for entry in stall.evidence[:EVIDENCE_ENTRIES]],
    }


def _of_milestone(milestone: Milestone) -> dict[str, Value]:
    written: dict[str, Value] = {
        names.MILESTONE_NAME: bounded_text(milestone.name),
        names.MILESTONE_EVIDENCE: milestone.evidence.value,
        names.SEGMENT_LENGTH: milestone.segment,
    }
    if milestone.confirms:
        declared = dict.fromkeys(bounded_text(one.name) for one in milestone.confirms)
        written[names.MILESTONE_DECLARED] = list(declared)[:EVIDENCE_ENTRIES]
    return written


def bounded_text(text: str) -> str:
    """Return text that fits and that every exporter encodes: a lone surrogate makes some drop the value."""
    if len(text) > TEXT_CHARS:
        text = text[: TEXT_CHARS - 1] + "…"
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


@lru_cache(maxsize=8)
def _key(key: str) -> bytes:
    return blake2b(key.encode("utf-8", "surrogatepass")).digest()


def _context(judged: Judged, sampled: bool) -> Context:
    """Return a context that holds the judged span alone: an empty one would fall back to the caller's."""
    from opentelemetry.context import Context
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

    flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
    span = SpanContext(int(judged.trace_id or "0", 16), int(judged.span_id or "0", 16), False, flags)
    return set_span_in_context(NonRecordingSpan(span), Context())
