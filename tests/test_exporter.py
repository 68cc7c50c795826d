"""Rules of `exporter`: annotated copies go on, the spans themselves stay as they are."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status

from otel_stall.config import StallConfig
from otel_stall.exporter import StallSpanExporter
from otel_stall.processor import StallSpanProcessor
from otel_stall.testing import RecordedProvider


class Keeping(SpanExporter):
    """Keeps what it is given, and answers as it was told."""

    def __init__(self, answer: SpanExportResult = SpanExportResult.SUCCESS) -> None:
        self.answer = answer
        self.spans: list[ReadableSpan] = []
        self.flushed: list[int] = []
        self.down = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans += spans
        return self.answer

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        self.flushed.append(timeout_millis)
        return False

    def shutdown(self) -> None:
        self.down += 1


def ended(limits: SpanLimits | None = None, *, agent: str = "coder") -> list[ReadableSpan]:
    """Return the spans of an agent that reads one file four times, as an exporter gets them."""
    provider = TracerProvider(span_limits=limits, shutdown_on_exit=False)
    recorded = RecordedProvider(provider=provider)
    with recorded.agent(agent, conversation="c"):
        for _ in range(4):
            recorded.tool("read_file", {"path": "a.py"}, "print(1)")
    return recorded.spans()


def wrapped(config: StallConfig | None = None) -> tuple[StallSpanExporter, Keeping]:
    kept = Keeping()
    return StallSpanExporter(kept, config or StallConfig()), kept


def stall(span: ReadableSpan) -> dict[str, object]:
    return {name: value for name, value in (span.attributes or {}).items() if name.startswith("stall.")}


class TestExport:
    def test_verdicts_are_those_of_the_processor(self) -> None:
        """The tool spans carry what the processor would have written, and the same events."""
        recorded = RecordedProvider(StallSpanProcessor(StallConfig()))
        with recorded.agent("coder", conversation="c"):
            for _ in range(4):
                recorded.tool("read_file", {"path": "a.py"}, "print(1)")
        exporter, kept = wrapped()
        exporter.export(ended())
        assert [stall(span) for span in kept.spans[:4]] == recorded.verdicts()
        told = [[(event.name, dict(event.attributes or {})) for event in span.events] for span in kept.spans[:4]]
        assert told == [[(e.name, dict(e.attributes or {})) for e in span.events] for span in recorded.spans()[:4]]

    def test_copies_differ_in_nothing_else(self) -> None:
        """The originals are untouched; a copy is equal but for what was added, dropped counts included."""
        spans = ended(SpanLimits(max_span_attributes=3))
        before = [span.to_json() for span in spans]
        exporter, kept = wrapped()
        exporter.export(spans)
        assert [span.to_json() for span in spans] == before
        assert kept.spans[4] is spans[4]
        for span, copy in zip(spans[:4], kept.spans, strict=False):
            own = {name: value for name, value in (copy.attributes or {}).items() if not name.startswith("stall.")}
            assert own == span.attributes
            assert (copy.dropped_attributes, copy.dropped_events, copy.dropped_links) == (1, 0, 0)
            assert (copy.name, copy.context, copy.parent, copy.kind, copy.status, copy.links) == (
                span.name,
                span.context,
                span.parent,
                span.kind,
                span.status,
                span.links,
            )
            assert (copy.start_time, copy.end_time, copy.resource, copy.instrumentation_scope) == (
                span.start_time,
                span.end_time,
                span.resource,
                span.instrumentation_scope,
            )

    def test_order_and_end_times(self) -> None:
        """A batch is judged in the order of ends, and handed on in the order it came in."""
        spans = ended()[::-1]
        exporter, kept = wrapped()
        exporter.export(spans)
        assert [stall(span).get("stall.step") for span in kept.spans] == [None, 4, 3, 2, 1]

    def test_over_batches(self) -> None:
        """What was known after one batch is known in the next."""
        exporter, kept = wrapped()
        for span in ended():
            exporter.export([span])
        assert [stall(span).get("stall.step") for span in kept.spans] == [1, 2, 3, 4, None]

    def test_behind_a_batch_processor(self) -> None:
        """On the thread of the SDK's batch processor nothing is different."""
        memory = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(StallSpanExporter(memory, StallConfig())))
        RecordedProvider(provider=provider).tool("read_file", {"path": "a"}, "text")
        provider.shutdown()
        assert [stall(span).get("stall.step") for span in memory.get_finished_spans()] == [1]

    def test_a_judged_span_is_left_alone(self) -> None:
        """Behind the processor it writes nothing: the spans were judged before."""
        memory = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        exporter = StallSpanExporter(memory, StallConfig())
        provider.add_span_processor(StallSpanProcessor(StallConfig()))
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        RecordedProvider(provider=provider).tool("read_file")
        assert [stall(span)["stall.step"] for span in memory.get_finished_spans()] == [1]
        assert len(exporter.monitor.lanes) == 0

    def test_no_private_name_of_the_sdk(self) -> None:
        """A span that has the public properties alone is enough."""

        class Public(ReadableSpan):
            def __getattribute__(self, name: str) -> object:
                if name in ("_attributes", "_events", "_links") and not self.__dict__.get("allowed"):
                    raise AttributeError(name)
                return super().__getattribute__(name)

            @property
            def attributes(self) -> dict[str, str]:
                return {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read_file"}

            events = ()
            links = ()
            dropped_attributes = dropped_events = dropped_links = 0

        exporter, kept = wrapped()
        exporter.export([Public("execute_tool", context=trace.SpanContext(1, 1, is_remote=False))])
        assert (exporter.errors, stall(kept.spans[0])["stall.step"]) == (0, 1)


class TestModes:
    def test_events_only(self) -> None:
        """Without annotation the very spans go on, and are judged all the same."""
        exporter, kept = wrapped(StallConfig(mode="events_only"))
        spans = ended()
        exporter.export(spans)
        assert [copy is span for copy, span in zip(kept.spans, spans, strict=True)] == [True] * 5
        assert len(exporter.monitor.lanes) == 1

    def test_switched_off(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The environment alone switches it off."""
        monkeypatch.setenv("OTEL_STALL_ENABLED", "false")
        kept = Keeping()
        StallSpanExporter(kept).export(ended())
        assert [stall(span) for span in kept.spans] == [{}] * 5


class TestFaults:
    def test_an_internal_error(self, caplog: pytest.LogCaptureFixture) -> None:
        """The batch goes on as it came; the error is counted and said without content."""

        class Broken(ReadableSpan):
            @property
            def status(self) -> Status:
                raise ValueError("secret")

        exporter, kept = wrapped()
        with caplog.at_level(logging.WARNING):
            exporter.export([*ended()[1:], Broken("broken")])
        assert ([stall(span) for span in kept.spans], exporter.errors) == ([{}] * 5, 1)
        assert "ValueError at " in caplog.text
        assert "secret" not in caplog.text

    def test_the_next_exporter_is_asked(self) -> None:
        """Result, flush and shutdown are those of the next exporter."""
        kept = Keeping(SpanExportResult.FAILURE)
        exporter = StallSpanExporter(kept, StallConfig())
        assert exporter.export([]) is SpanExportResult.FAILURE
        assert exporter.force_flush(7) is False
        exporter.shutdown()
        assert (kept.flushed, kept.down) == ([7], 1)
