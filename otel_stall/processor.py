"""`StallSpanProcessor`: judges tool calls as their spans end, and writes the verdict on the span."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from opentelemetry import baggage
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from otel_stall import attributes as names
from otel_stall import dialects, sdk
from otel_stall.calls import Reading
from otel_stall.config import StallConfig
from otel_stall.dialects.doubles import Doubles
from otel_stall.dialects.readings import KNOWN
from otel_stall.emission import Event, EventLog, Value, attributes_of, events_of
from otel_stall.lineage import Lineage, Opening
from otel_stall.monitor import Monitor
from otel_stall.verdicts import Judged

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider

__all__ = ["StallSpanProcessor"]

_LOG = logging.getLogger("otel_stall")

_WAIT_SECONDS: Final = 1.0
_QUIET_SECONDS: Final = 60.0
_HANDLED: Final = 4_096
_CONVERSATIONS: Final = ("gen_ai.conversation.id", "session.id")
_HINTS: Final = {names.RUN_ID: "run_id", names.TASK_ID: "task_id", names.TASK_CLASS: "task_class"}
_AGENT_AT_START: Final = frozenset(("gen_ai.agent.name", "gen_ai.agent.id", "agent.name"))
# Present only where the host's instrumentation uses it; it keeps the conversation in the context alone.
_AMBIENT: Final = "opentelemetry.util.genai._conversation_context"


class StallSpanProcessor(SpanProcessor):
    """Says on every tool-call span what the call gained, and whether the agent has stalled.

    Add it to a tracer provider before or after the exporting processors:
    `provider.add_span_processor(StallSpanProcessor())`. Without `config` the settings are those of the
    `OTEL_STALL_*` environment variables. All hooks run on the thread that starts or ends the span, do
    no input or output of their own and raise nothing; a span they cannot judge goes on untouched.

    `errors` counts internal errors, `skipped` the spans that came while the fold was busy for too long,
    and `unannotated` the verdicts a span did not take.
    """

    def __init__(
        self,
        config: StallConfig | None = None,
        *,
        monitor: Monitor | None = None,
        logger_provider: LoggerProvider | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.config = config if config is not None else StallConfig.from_environ(os.environ)
        self.monitor = monitor if monitor is not None else Monitor(self.config)
        self.errors = 0
        self.skipped = 0
        self.unannotated = 0
        self._lineage = Lineage(self.config.bounds.open_spans)
        self._doubles = Doubles()
        self._events = EventLog(logger_provider)
        self._clock = clock
        self._quiet_until = float("-inf")
        self._off = not self.config.enabled
        self._handled: dict[tuple[int, int], None] = {}
        self._busy = False
        self._lock = threading.RLock()
        _renew_after_fork(self)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Remember the span's parent and what it carries; costs a few microseconds."""
        if self._off:
            return
        try:
            self._open(span, parent_context)
        except Exception as error:
            self._failed(error)

    def _on_ending(self, span: Span) -> None:
        """Judge the span before any processor sees its end; the SDK calls this from 1.40 on."""
        if self._off:
            return
        try:
            self._handled[_key(span)] = None
            if len(self._handled) > _HANDLED:
                self._handled.pop(next(iter(self._handled)), None)
            self._end(span)
        except Exception as error:
            self._failed(error)

    def on_end(self, span: ReadableSpan) -> None:
        """Judge the span here where a wrapping processor passes on no `_on_ending`."""
        if self._off:
            return
        try:
            key = _key(span)
            if key in self._handled:
                self._handled.pop(key, None)
            else:
                self._end(span)
        except Exception as error:
            self._failed(error)

    def shutdown(self) -> None:
        """Let all further spans pass untouched; may be called twice."""
        self._off = True

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002 # the SDK's signature
        """Return True: nothing is held back."""
        return True

    def _open(self, span: Span, parent_context: Context | None) -> None:
        context = span.get_span_context()
        carried, hints = _carried(parent_context)
        opening = Opening(
            trace_id=f"{context.trace_id:032x}",
            span_id=f"{context.span_id:016x}",
            parent_id=f"{span.parent.span_id:016x}" if span.parent else "",
            start_ns=span.start_time or 0,
            name=span.name,
            scope=span.instrumentation_scope.name if span.instrumentation_scope else "",
            carried=carried,
            hints=hints,
            live=_OpenSpan(span),
        )
        named = not _AGENT_AT_START.isdisjoint(sdk.attributes_of(span))
        if not self._lock.acquire(timeout=_WAIT_SECONDS):
            self.skipped += 1
            return
        try:
            self._lineage.opened(opening)
            if named:
                self._lineage.named(opening.trace_id, opening.span_id)
        finally:
            self._lock.release()

    def _end(self, span: ReadableSpan) -> None:
        if not span.events and KNOWN.isdisjoint(sdk.attributes_of(span)):
            self._pass(span)
            return
        reading = _read(span)
        if judged := self._fold(reading):
            self._emit(span, reading, judged)

    def _pass(self, span: ReadableSpan) -> None:
        """Note the end of a span in which there is nothing to read, as most spans of a host."""
        trace_id, span_id = _key(span)
        if not self._lock.acquire(timeout=_WAIT_SECONDS):
            self.skipped += 1
            return
        try:
            self._lineage.passed(f"{trace_id:032x}", f"{span_id:016x}", span.end_time or 0)
        finally:
            self._lock.release()

    def _fold(self, reading: Reading) -> Sequence[Judged]:
        """Return what the monitor says of a span, () for one that is none of ours."""
        if not self._lock.acquire(timeout=_WAIT_SECONDS):
            self.skipped += 1
            return ()
        try:
            # The garbage collector can end a span of this very thread in the middle of the fold.
            if self._busy:
                self.skipped += 1
                return ()
            self._busy = True
            try:
                return self._observe(reading)
            finally:
                self._busy = False
        finally:
            self._lock.release()

    def _observe(self, reading: Reading) -> Sequence[Judged]:
        self._lineage.ended(reading)
        ours = not reading.judged and (reading.record is not None or bool(reading.marks))
        admitted = self._doubles.admit(reading, self._lineage.ancestors(reading)) if ours else None
        whose = self._lineage.resolve(admitted) if admitted is not None else None
        for renamed in self._lineage.renamed():
            self.monitor.rename(renamed.old, renamed.new)
        if admitted is None or whose is None:
            return ()
        completed = _with_hints(admitted, whose.hints)
        return self.monitor.observe(completed, whose.conversation, whose.lane, whose.agent)

    def _emit(self, span: ReadableSpan, reading: Reading, judged: Sequence[Judged]) -> None:
        written: dict[str, Value] = {}
        mirrored: list[Event] = []
        logged: list[tuple[Judged, list[Event]]] = []
        for each in judged:
            events = events_of(each)
            logged.append((each, events))
            if each.span_id == reading.span_id:
                written |= attributes_of(each, self.config.fingerprint_key)
                mirrored += events if self.config.span_events else ()
        if (written or mirrored) and not sdk.annotate(span, written, mirrored):
            self._refused()
        for each, events in logged:
            if events:
                self._events.emit(each, events, time_ns=reading.end_ns, sampled=reading.sampled)

    def _refused(self) -> None:
        self.unannotated += 1
        if self.unannotated == 1:
            _LOG.warning("spans of this SDK take no attributes at their end; verdicts go out as events only")

    def _failed(self, error: Exception) -> None:
        """Count an error and log where it happened, at most once a minute, without what spans held."""
        self.errors += 1
        now = self._clock()
        if now < self._quiet_until:
            return
        self._quiet_until = now + _QUIET_SECONDS
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else "unknown place"
        _LOG.warning(
            "%s at %s while judging a span, which goes on untouched (%d so far)",
            type(error).__name__,
            place,
            self.errors,
        )

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()
        self._busy = False


class _OpenSpan:
    """An open span of the SDK, held weakly, that is read again only when it has more attributes than before."""

    __slots__ = ("_size", "_span")

    def __init__(self, span: Span) -> None:
        self._span = weakref.ref(span)
        self._size = 0

    def changed(self) -> Reading | None:
        span = self._span()
        if span is None or (size := len(sdk.attributes_of(span))) == self._size:
            return None
        self._size = size
        return dialects.read(sdk.view_of(span))

    def alive(self) -> bool:
        return self._span() is not None


def _renew_after_fork(processor: StallSpanProcessor) -> None:
    """Give a forked child a lock of its own: the parent's may be held by a thread that does not exist there."""
    if not hasattr(os, "register_at_fork"):
        return
    renew = weakref.WeakMethod(processor._renew_lock)

    def renew_in_child() -> None:
        if (method := renew()) is not None:
            method()

    os.register_at_fork(after_in_child=renew_in_child)


def _key(span: ReadableSpan) -> tuple[int, int]:
    context = span.get_span_context()
    return (context.trace_id, context.span_id) if context else (0, 0)


def _read(span: ReadableSpan) -> Reading:
    """Return the reading of an ended span; one below an unsampled parent counts as unsampled itself."""
    reading = dialects.read(sdk.view_of(span))
    if reading.sampled and span.parent is not None and not span.parent.trace_flags.sampled:
        return replace(reading, sampled=False)
    return reading


def _carried(context: Context | None) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the conversation that baggage or context names, and the hints in the baggage."""
    entries = baggage.get_all(context)
    carried = _first(entries, _CONVERSATIONS) if entries else ""
    hints = tuple((key, str(entries[key])) for key in _HINTS if key in entries) if entries else ()
    ambient = sys.modules.get(_AMBIENT)
    if not carried and ambient is not None:
        carried = ambient.get_ambient_conversation_id(context) or ""
    return carried, hints


def _first(entries: Mapping[str, object], keys: Sequence[str]) -> str:
    return next((str(entries[key]) for key in keys if entries.get(key)), "")


def _with_hints(reading: Reading, hints: tuple[tuple[str, str], ...]) -> Reading:
    missing = {_HINTS[key]: value for key, value in hints if not getattr(reading, _HINTS[key])}
    return replace(reading, **missing) if missing else reading  # type: ignore[arg-type] # all are strings
