"""What left the provider: the exported tool spans with their verdicts, and the lanes they were counted in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.util.types import AttributeValue

from otel_stall import StallSpanProcessor
from otel_stall.analysis import analyze
from otel_stall.dialects import content_switch
from otel_stall.spans import from_readable_span
from otel_stall.verdicts import Stall

__all__ = ["STUCK", "Host", "Judged", "Traced"]


class Host(NamedTuple):
    """The one tracer provider of the process, where it exports to, and the processor that judges."""

    provider: TracerProvider
    exporter: InMemorySpanExporter
    processor: StallSpanProcessor


class Judged(NamedTuple):
    """A counted step as its exported span tells it."""

    step: int
    gain: str
    detected: bool


STUCK = [
    *(Judged(step, "information", detected=False) for step in (1, 2, 3)),
    *(Judged(step, "none", detected=False) for step in range(4, 9)),
    Judged(9, "none", detected=True),
]
"""What every framework's export must say of `stuck.CALLS`."""


class Traced:
    """The provider, and what was exported and counted since the test began."""

    def __init__(
        self,
        provider: TracerProvider,
        exporter: InMemorySpanExporter,
        processor: StallSpanProcessor,
        before: Iterable[tuple[str, str]],
    ) -> None:
        self.provider = provider
        self.processor = processor
        self._exporter = exporter
        self._before = frozenset(before)

    def spans(self) -> list[ReadableSpan]:
        """Return all exported spans, in order of their end."""
        return list(self._exporter.get_finished_spans())

    def steps(self) -> list[ReadableSpan]:
        """Return the spans that carry a verdict."""
        return [span for span in self.spans() if "stall.step" in _attributes(span)]

    def judged(self) -> list[Judged]:
        """Return the verdicts, in order of the spans' ends."""
        return [_judged(span) for span in self.steps()]

    def judged_offline(self) -> list[Judged]:
        """Return what the analysis of the exported spans says of the same steps, sorted."""
        found = analyze((from_readable_span(span) for span in self.spans()), details=True)
        lanes = [(detail, lane.stalls) for lane in found.conversations for detail in lane.details]
        return sorted(Judged(d.step, d.gain.value, any(map(_opened_by(d.step), stalls))) for d, stalls in lanes)

    def lanes(self) -> dict[tuple[str, str], int]:
        """Return the steps counted in each conversation and lane that the test began."""
        lanes = self.processor.monitor.lanes
        return {key: lane.counters.step for key, lane in lanes if key not in self._before}

    def conversations(self) -> set[object]:
        """Return the conversations that the judged spans themselves name."""
        named = (_attributes(span) for span in self.steps())
        return {own.get("gen_ai.conversation.id") or own.get("session.id") for own in named}

    def traces(self) -> int:
        """Return in how many traces the judged spans are."""
        return len({span.context.trace_id for span in self.steps()})

    def switches(self) -> set[str]:
        """Return what to switch on for the instrumentations whose tool spans were judged."""
        scopes = {span.instrumentation_scope.name for span in self.steps() if span.instrumentation_scope}
        return {content_switch(scope) for scope in scopes}


def _opened_by(step: int) -> Callable[[Stall], bool]:
    return lambda stall: stall.detected_step <= step <= stall.last_step


def _attributes(span: ReadableSpan) -> dict[str, AttributeValue]:
    return dict(span.attributes or {})


def _judged(span: ReadableSpan) -> Judged:
    written = _attributes(span)
    step, gain, detected = (written[key] for key in ("stall.step", "stall.gain.type", "stall.detected"))
    assert isinstance(step, int)
    assert isinstance(detected, bool)
    return Judged(step, str(gain), detected)
