"""`StallSpanProcessor`: judges tool calls as their spans end, and writes the verdict on the span."""

from __future__ import annotations

import logging
import os
import secrets
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from opentelemetry import baggage, trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from otel_stall import attributes as names
from otel_stall import dialects, sdk
from otel_stall.bounded import trim
from otel_stall.breaker import Breaker
from otel_stall.calls import HostMark, Reading, UserMark
from otel_stall.config import StallConfig
from otel_stall.dialects.identities import CONVERSATIONS
from otel_stall.dialects.readings import KNOWN
from otel_stall.emission import CONVERSATION, Event, Value, silent
from otel_stall.emitter import Emitter, Providers
from otel_stall.judge import HINTS, Census, Judge, Judgement
from otel_stall.lineage import Opening
from otel_stall.monitor import Monitor, at_mark
from otel_stall.silence import Silence
from otel_stall.status import Status
from otel_stall.summaries import Summary
from otel_stall.values import replace
from otel_stall.verdicts import Judged

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.metrics import MeterProvider

__all__ = ["StallSpanProcessor"]

_LOG = logging.getLogger("otel_stall")

_WAIT_SECONDS: Final = 1.0
_HANDLED: Final = 4_096
_CARRIED: Final = (CONVERSATION, "session.id")
_AGENT_AT_START: Final = frozenset(("gen_ai.agent.name", "gen_ai.agent.id", "agent.name"))
# Present only where the host's instrumentation uses it; it keeps the conversation in the context alone.
_AMBIENT: Final = "opentelemetry.util.genai._conversation_context"
_LANGFUSE: Final = "langfuse"
_SAID: Final = frozenset(CONVERSATIONS)

_Key = tuple[int, int]
_T = TypeVar("_T")


class StallSpanProcessor(SpanProcessor):
    """Says on every tool-call span what the call gained, and whether the agent has stalled.

    Add it to a tracer provider before or after the exporting processors:
    `provider.add_span_processor(StallSpanProcessor())`. Without `config` the settings are those of the
    `OTEL_STALL_*` environment variables. All hooks run on the thread that starts or ends the span, do
    no input or output of their own and raise nothing; a span they cannot judge goes on untouched.

    `errors` counts internal errors, `skipped` the spans passed untouched to keep the host from waiting,
    and `unannotated` the verdicts a span did not take.
    """

    def __init__(
        self,
        config: StallConfig | None = None,
        *,
        monitor: Monitor | None = None,
        logger_provider: LoggerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.config = config if config is not None else StallConfig.from_environ(os.environ)
        self.monitor = monitor if monitor is not None else Monitor(self.config)
        self.closed = not self.config.enabled
        self._judge = Judge(self.monitor, wait_seconds=self.config.hook_seconds or _WAIT_SECONDS)
        self._emitter = Emitter(self.config, self._census, Providers(logger_provider, meter_provider), clock=clock)
        self._breaker = Breaker(self.config.hook_seconds)
        self._clock = clock
        self._touches = self.config.mode == "annotate"
        self._stamped: dict[_Key, dict[str, object]] = {}
        self._handled: dict[_Key, None] = {}
        self._passed = 0
        self._told: dict[tuple[str, int], None] = {}
        self._looked = False

    @property
    def errors(self) -> int:
        """Internal errors so far."""
        return self._emitter.errors

    @property
    def skipped(self) -> int:
        """Spans passed untouched so far because judging took too long, or another thread was in the way."""
        return self._passed + self._judge.skipped

    @property
    def unannotated(self) -> int:
        """Verdicts so far that a span did not take."""
        return self._emitter.unannotated

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Remember the span's parent and what it carries; costs a few microseconds."""
        # Here and in every hook: near the recursion limit no call can be made, not even that of what counts errors.
        try:
            self._run(self._open, span, parent_context)
        except RecursionError:
            self._emitter.errors += 1

    def _on_ending(self, span: Span) -> None:
        """Judge the span before any processor sees its end; the SDK calls this from 1.40 on."""
        try:
            self._run(self._ending, span)
        except RecursionError:
            self._emitter.errors += 1

    def on_end(self, span: ReadableSpan) -> None:
        """Judge the span here where a wrapping processor passes on no `_on_ending`."""
        if self.closed:
            return
        try:
            # An entry is None: this span was there in `_on_ending`.
            if self._handled.pop(sdk.key_of(span), False) is not None:
                self._run(self._end, span)
        except RecursionError:
            self._emitter.errors += 1
        except Exception as error:
            self._emitter.failed(error)

    def mark(self, mark: HostMark, span: Span | None = None) -> None:
        """Count a milestone of the host's at once, on any thread; raises nothing, as every hook.

        `span` is the open span that carries its event, and tells whose it is. Without one it is that of
        `mark.conversation`, or else of the conversation that the current context carries.
        """
        try:
            self._run(self._mark, mark, span)
        except RecursionError:
            self._emitter.errors += 1

    def spoke(self, conversation: str) -> None:
        """Take note that a person spoke, where no span tells of it: an open stall ends. Raises nothing."""
        try:
            self._run(self._spoke, conversation)
        except RecursionError:
            self._emitter.errors += 1

    def standing(self, conversation: str = "", *, lane: str = "", agent: str = "") -> Status | None:
        """Return where a lane stands: of this name or agent, or the one used last; on any thread, raises nothing.

        Without `conversation` it is that of the current span, or of the baggage. None where nothing is known.
        """
        try:
            return self._answered(None, lambda: self._standing(conversation, lane, agent))
        except RecursionError:
            self._emitter.errors += 1
            return None

    def tick(self, now_ns: int | None = None) -> tuple[Silence, ...]:
        """Return the tool calls and agents that are late now, longest first; called from time to time, on any thread.

        Each is logged once as an event `stall.silent`. `now_ns` is the current time where it is not given.
        Raises nothing.
        """
        try:
            return self._answered((), lambda: self._late(time.time_ns() if now_ns is None else now_ns))
        except RecursionError:
            self._emitter.errors += 1
            return ()

    def say(self, event: Event, body: str | None = None) -> None:
        """Log an event of a host's reaction, in the current context and on the current span; raises nothing."""
        try:
            if not self.closed:
                self._say(event, body)
        except RecursionError:
            self._emitter.errors += 1
        except Exception as error:
            self._emitter.failed(error)

    def _say(self, event: Event, body: str | None) -> None:
        now = time.time_ns()
        self._emitter.say(event, time_ns=now, body=body)
        span = trace.get_current_span()
        if self._touches and self.config.span_events and span.is_recording():
            span.add_event(event.name, dict(event.attributes), timestamp=now)

    def _spoke(self, conversation: str) -> bool:
        now = time.time_ns()
        reading = Reading("", secrets.token_hex(8), "", "", now, now, record=UserMark(), conversation=conversation)
        (judgement,) = self._judge.ended([reading])
        self._emitter.beside(judgement, sampled=False)
        return bool(judgement.judged)

    def _standing(self, conversation: str, lane: str, agent: str) -> Status | None:
        if not conversation:
            span = sdk.recording(trace.get_current_span())
            if span is None:
                conversation, _ = _carried(None)
            elif (whose := self._judge.whose(self._read(span, self._without_stamps(span)))) is not None:
                conversation, lane = whose.conversation, lane or (whose.lane if not agent else "")
        return self._judge.standing(conversation, lane=lane, agent=agent) if conversation else None

    def _late(self, now_ns: int) -> tuple[Silence, ...]:
        late = self._judge.late(now_ns)
        for one in late:
            if (one.span_id, one.since_ns) not in self._told:
                self._told[one.span_id, one.since_ns] = None
                self._emitter.say(silent(one), time_ns=now_ns)
        trim(self._told, _HANDLED, self._judge.dropped, "paces")
        return late

    def _answered(self, nothing: _T, ask: Callable[[], _T]) -> _T:
        """Return what is asked for, `nothing` where the processor is closed or an error was counted."""
        if self.closed:
            return nothing
        try:
            return ask()
        except Exception as error:
            self._emitter.failed(error)
            return nothing

    def shutdown(self) -> None:
        """Let all further spans pass untouched; may be called twice."""
        self.closed = True

    def reopen(self) -> None:
        """Judge spans again after a shutdown, with all that was known: a provider may have been replaced by another."""
        self.closed = not self.config.enabled

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002 # the SDK's signature
        """Return True: nothing is held back."""
        return True

    def _run(self, hook: Callable[..., bool], *arguments: object) -> None:
        """Run a hook under the guard that every hook has; it says whether there was a verdict."""
        if self.closed:
            return
        try:
            began = self._clock()
            try:
                judged = hook(*arguments)
            finally:
                ended = self._clock()
                if ended - began > self._breaker.budget:
                    self._breaker.ran(began, ended)
            if judged:
                self._emitter.metrics.ran(ended - began)
        except Exception as error:
            self._emitter.failed(error)

    def _census(self) -> Census | None:
        try:
            census = self._judge.census()
        except Exception as error:
            self._emitter.failed(error)
            return None
        return census._replace(skipped=self.skipped) if census is not None else None

    def _open(self, span: Span, parent_context: Context | None) -> bool:
        if self._breaker.open and self._breaker.lets_pass(self._clock()):
            return False
        if not self._looked:
            self._look(span)
        trace_id, span_id = sdk.key_of(span)
        parent, scope = span.parent, span.instrumentation_scope
        carried, hints = _carried(parent_context)
        opening = Opening(
            f"{trace_id:032x}",
            f"{span_id:016x}",
            f"{parent.span_id:016x}" if parent else "",
            span.start_time or 0,
            span.name,
            scope.name if scope else "",
            carried,
            hints,
            _OpenSpan(span, told=self._touches and self.config.agent_summary),
        )
        named = not _AGENT_AT_START.isdisjoint(sdk.attributes_of(span))
        conversation = self._judge.opened(opening, named=named)
        if (conversation or hints) and self._stamps():
            self._stamp(span, conversation, hints)
        return False

    def _look(self, first: Span) -> None:
        self._looked = True
        if sdk.starts_elsewhere(first):
            _LOG.warning(
                "ConcurrentMultiSpanProcessor tells of spans on threads of its own without their context: what baggage "
                "says of conversations and runs is not seen, only what spans say; the default processor passes it on"
            )

    def _stamps(self) -> bool:
        wanted = self.config.stamp
        return self._touches and (wanted if wanted is not None else _LANGFUSE not in sys.modules)

    def _stamp(self, span: Span, conversation: str, hints: tuple[tuple[str, str], ...]) -> None:
        """Write conversation and run on a span that says neither, so that they survive routing and sampling."""
        held = sdk.attributes_of(span)
        stamps: dict[str, Value] = {}
        if conversation and _SAID.isdisjoint(held):
            stamps[CONVERSATION] = conversation
        for name, value in hints:
            if name == names.RUN_ID and name not in held:
                stamps[name] = value
        if stamps and sdk.write(span, stamps):
            self._stamped[sdk.key_of(span)] = {name: held.get(name) for name in stamps}
            trim(self._stamped, self.config.bounds.open_spans, self._judge.dropped, "stamps")

    def _ending(self, span: Span) -> bool:
        self._handled[sdk.key_of(span)] = None
        if len(self._handled) > _HANDLED:
            trim(self._handled, _HANDLED, self._judge.dropped, "ended_spans")
        return self._end(span)

    def _end(self, span: ReadableSpan) -> bool:
        if self._breaker.open and self._breaker.lets_pass(self._clock()):
            self._passed += 1
            return False
        said = self._said_by_host(span)
        if not sdk.has_events(span) and KNOWN.isdisjoint(said):
            trace_id, span_id = sdk.key_of(span)
            self._judge.passed(f"{trace_id:032x}", f"{span_id:016x}", span.end_time or 0)
            return False
        (judgement,) = self._judge.ended([self._read(span, said)])
        if not judgement.judged:
            return False
        if self._touches:
            attributes, events = self._emitter.on_span(judgement)
            if (attributes or events) and not sdk.annotate(span, attributes, events):
                self._emitter.refused()
        context = span.get_span_context()
        self._emitter.beside(judgement, sampled=bool(context and context.trace_flags.sampled))
        return True

    def _mark(self, mark: HostMark, span: Span | None) -> bool:
        if span is None:
            carried, _ = _carried(None)
            mark = replace(mark, conversation=mark.conversation or carried)
            alone = Reading("", "", "", "", start_ns=0, end_ns=mark.time_ns)
            judgement = self._judge.marked(at_mark(alone, mark)) if mark.conversation else Judgement(alone)
        else:
            # An open span ends now, if ever: a mark beyond that has a time of another clock.
            reading = replace(self._read(span, self._without_stamps(span)), end_ns=time.time_ns())
            judgement = self._judge.marked(at_mark(reading, mark))
            events = self._emitter.on_span(judgement).events if self._touches else []
            if events and not sdk.annotate(span, {}, events):
                self._emitter.refused()
        context = span.get_span_context() if span is not None else None
        self._emitter.beside(judgement, sampled=bool(context and context.trace_flags.sampled))
        return bool(judgement.judged)

    def _read(self, span: ReadableSpan, said: Mapping[str, object]) -> Reading:
        """Return the reading; it counts as sampled unless the span above it is missing here.

        What is recorded and not exported (`RecordAllSampler`) is all there, so nothing is a lower bound.
        """
        reading = dialects.read(sdk.view_of(span, said))
        whole = not sdk.below_a_gap(span) or self._judge.knows(reading.trace_id, reading.parent_id)
        return reading if whole is reading.sampled else replace(reading, sampled=whole)

    def _said_by_host(self, span: ReadableSpan) -> Mapping[str, object]:
        """Return the span's attributes without the stamps: those say nothing that the lineage did not know."""
        said = self._without_stamps(span)
        if self._stamped:
            self._stamped.pop(sdk.key_of(span), None)
        return said

    def _without_stamps(self, span: ReadableSpan) -> Mapping[str, object]:
        held = sdk.attributes_of(span)
        stamps = self._stamped.get(sdk.key_of(span)) if self._stamped else None
        if stamps is None:
            return held
        return {name: value for name, value in held.items() if name not in stamps or stamps[name] != value}


_NOTHING_YET: Final = Summary()


class _OpenSpan:
    """An open span of the SDK, held weakly, that is read again only when it has more attributes than before."""

    __slots__ = ("_size", "_span", "_summary", "_written")

    def __init__(self, span: Span, *, told: bool) -> None:
        self._span = weakref.ref(span)
        self._size = 0
        self._summary = _NOTHING_YET if told else None
        self._written: dict[str, str | int | bool] = {}

    def changed(self) -> Reading | None:
        span = self._span()
        if span is None or (size := sdk.count_of(span)) == self._size:
            return None
        self._size = size
        return dialects.read(sdk.view_of(span))

    def alive(self) -> bool:
        return self._span() is not None

    def tell(self, judged: Sequence[Judged]) -> None:
        span = self._span()
        if span is None or self._summary is None:
            return
        for each in judged:
            self._summary = self._summary.after(each)
        summary, before = self._summary.attributes(), sdk.count_of(span)
        if sdk.write(span, {name: value for name, value in summary.items() if self._written.get(name) != value}):
            self._written = summary
        # What we write ourselves is no reason to read the span again.
        self._size += sdk.count_of(span) - before


def _carried(context: Context | None) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the conversation that baggage or context names, and the hints in the baggage."""
    entries = baggage.get_all(context)
    carried = _first(entries, _CARRIED) if entries else ""
    hints = tuple((key, str(entries[key])) for key in HINTS if key in entries) if entries else ()
    ambient = sys.modules.get(_AMBIENT)
    if not carried and ambient is not None:
        carried = ambient.get_ambient_conversation_id(context) or ""
    return carried, hints


def _first(entries: Mapping[str, object], keys: Sequence[str]) -> str:
    return next((str(entries[key]) for key in keys if entries.get(key)), "")
