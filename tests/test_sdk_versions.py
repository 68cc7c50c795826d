"""What must hold on every supported SDK: `make matrix` runs this module alone on each of them."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ConcurrentMultiSpanProcessor, ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_stall import StallConfig, StallSpanProcessor, attach
from otel_stall.exporter import StallSpanExporter
from otel_stall.testing import RecordedProvider

Exporting = type[SimpleSpanProcessor] | type[BatchSpanProcessor]


def act(provider: TracerProvider) -> None:
    """Make an agent that reads one file four times, and shut the provider down."""
    recorded = RecordedProvider(provider=provider)
    with recorded.agent("coder", conversation="c"):
        with recorded.span("GET"):
            pass
        for _ in range(4):
            recorded.tool("read_file", {"path": "a.py"}, "print(1)")
    provider.shutdown()


def seen(spans: Sequence[ReadableSpan]) -> list[tuple[str, object, object]]:
    told = [(span.name, span.attributes or {}) for span in spans]
    return [(name, held.get("stall.step"), held.get("stall.detected")) for name, held in told]


JUDGED = [
    ("GET", None, None),
    ("execute_tool read_file", 1, False),
    ("execute_tool read_file", 2, False),
    ("execute_tool read_file", 3, False),
    ("execute_tool read_file", 4, True),
    ("invoke_agent coder", None, True),
]


@pytest.mark.parametrize("kind", [SimpleSpanProcessor, BatchSpanProcessor])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("concurrent", [True, False])
def test_any_place_among_the_processors(
    kind: Exporting, first: bool, concurrent: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Before or after a simple or batch processor, one after the other or at once, verdicts are exported.

    Nothing is warned of but what processors that run at once are not told.
    """
    exporter = InMemorySpanExporter()
    stall = StallSpanProcessor(StallConfig())
    processors: list[SpanProcessor] = [stall, kind(exporter)]
    together = ConcurrentMultiSpanProcessor() if concurrent else None
    provider = TracerProvider(active_span_processor=together, shutdown_on_exit=False)
    for processor in processors if first else reversed(processors):
        provider.add_span_processor(processor)
    with caplog.at_level(logging.WARNING):
        act(provider)
    spans = exporter.get_finished_spans()
    assert seen(spans) == JUDGED
    assert [event.name for span in spans for event in span.events] == ["stall.started"]
    assert (stall.errors, stall.unannotated) == (0, 0)
    assert [message.partition(" ")[0] for message in caplog.messages] == ["ConcurrentMultiSpanProcessor"] * concurrent


def test_stamps_and_summary() -> None:
    """Through the public API alone, while spans are open: nothing is dropped or warned of."""
    recorded = RecordedProvider(StallSpanProcessor(StallConfig(stamp=True)))
    with recorded.agent("coder", conversation="c"):
        recorded.tool("read_file", {"path": "a.py"}, "print(1)")
    tool, agent = (dict(span.attributes or {}) for span in recorded.spans())
    assert (tool["gen_ai.conversation.id"], agent["stall.steps"], agent["stall.detected"]) == ("c", 1, False)


def test_wrapping_exporter() -> None:
    """Copies made by the public constructor are exported with the verdicts."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(StallSpanExporter(exporter, StallConfig())))
    act(provider)
    assert seen(exporter.get_finished_spans()) == [*JUDGED[:-1], ("invoke_agent coder", None, None)]


def test_attach() -> None:
    """The line that holds on any provider adds one processor, once."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    assert attach(provider, config=StallConfig()) is attach(provider)
    act(provider)
    assert seen(exporter.get_finished_spans()) == JUDGED


def test_metrics() -> None:
    """Metrics reach a reader, with the buckets that steps need."""
    reader = InMemoryMetricReader()
    meters = MeterProvider([reader], shutdown_on_exit=False)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(StallSpanProcessor(StallConfig(), meter_provider=meters))
    act(provider)
    data = reader.get_metrics_data()
    assert data is not None
    names = {metric.name for each in data.resource_metrics for scope in each.scope_metrics for metric in scope.metrics}
    assert {"stall.steps", "stall.starts", "stall.stalled_steps", "stall.active", "stall.processor.duration"} <= names
    meters.shutdown()
