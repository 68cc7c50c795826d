"""`StallSpanExporter`: the same verdicts without a processor, on copies of the spans that are exported."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import Event as SpanEvent
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util import BoundedList

from otel_stall import dialects, sdk
from otel_stall.calls import Reading
from otel_stall.config import StallConfig
from otel_stall.emitter import Emitter, OnSpan, Providers
from otel_stall.judge import Judge
from otel_stall.monitor import Monitor
from otel_stall.spans import from_readable_span

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.metrics import MeterProvider

__all__ = ["StallSpanExporter"]


class StallSpanExporter(SpanExporter):
    """Judges each batch and hands it to the next exporter, tool spans as annotated copies.

    For those who want the SDK's public API alone: no span is changed and no private name is used. It sees spans
    late and without their start: nothing is stamped, no agent's span summed up, and an agent above a tool
    call is known only if it ended in the same batch or before. `export` runs on the thread of the processor
    that exports; an internal error is counted in `errors`, and the batch goes on as it came.
    """

    def __init__(
        self,
        next_exporter: SpanExporter,
        config: StallConfig | None = None,
        *,
        logger_provider: LoggerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.config = config if config is not None else StallConfig.from_environ(os.environ)
        self.monitor = Monitor(self.config)
        self._next = next_exporter
        self._judge = Judge(self.monitor)
        self._emitter = Emitter(
            self.config, self._judge.census, Providers(logger_provider, meter_provider), clock=clock
        )

    @property
    def errors(self) -> int:
        """Internal errors so far."""
        return self._emitter.errors

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Return what the next exporter says of the annotated batch."""
        if self.config.enabled:
            try:
                spans = self._annotated(spans)
            except RecursionError:
                self._emitter.errors += 1
            except Exception as error:
                self._emitter.failed(error)
        return self._next.export(spans)

    def shutdown(self) -> None:
        """Shut the next exporter down."""
        self._next.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Return what the next exporter says of its flush."""
        return self._next.force_flush(timeout_millis)

    def _annotated(self, spans: Sequence[ReadableSpan]) -> Sequence[ReadableSpan]:
        readings = [_read(span) for span in spans]
        order = sorted(range(len(spans)), key=lambda at: (readings[at].end_ns, readings[at].start_ns))
        copies = list(spans)
        for at, judgement in zip(order, self._judge.ended([readings[at] for at in order]), strict=True):
            if not judgement.judged:
                continue
            on_span = self._emitter.on_span(judgement)
            if self.config.mode == "annotate" and (on_span.attributes or on_span.events):
                copies[at] = _copy(spans[at], on_span)
            self._emitter.beside(judgement, sampled=True)
        return copies


def _read(span: ReadableSpan) -> Reading:
    reading = dialects.read(from_readable_span(span))
    return replace(reading, sampled=reading.sampled and not sdk.below_a_gap(span))


def _copy(span: ReadableSpan, on_span: OnSpan) -> ReadableSpan:
    """Return a span equal to this one but for our attributes and events, with the same counts of what was dropped."""
    added = {key: tuple(value) if isinstance(value, list) else value for key, value in on_span.attributes.items()}
    attributes = BoundedAttributes(None, {**(span.attributes or {}), **added}, immutable=True)
    attributes.dropped = span.dropped_attributes
    events: BoundedList[SpanEvent] = BoundedList(None)
    events.extend(
        [
            *span.events,
            *(SpanEvent(e.name, BoundedAttributes(None, e.attributes), span.end_time) for e in on_span.events),
        ]
    )
    events.dropped = span.dropped_events
    links = BoundedList.from_seq(None, span.links)
    links.dropped = span.dropped_links
    return ReadableSpan(
        name=span.name,
        context=span.get_span_context(),
        parent=span.parent,
        resource=span.resource,
        attributes=attributes,
        events=events,
        links=links,
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )
