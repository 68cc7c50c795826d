"""Faults of what a host brings along: callbacks, clocks, meters, log processors, exporters."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NoReturn

import pytest
from doubles import CONFIG, STARTED, Clock, Scripted, steps_of
from opentelemetry.sdk._logs import LoggerProvider, LogRecordProcessor
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult

from otel_stall.config import StallConfig
from otel_stall.exporter import StallSpanExporter
from otel_stall.pressure import Abandonment, Ladder, Texts
from otel_stall.pressure.ladder import NONE
from otel_stall.processor import StallSpanProcessor
from otel_stall.status import Status
from otel_stall.testing import RecordedProvider
from otel_stall.verdicts import Level


def stuck(processor: StallSpanProcessor, steps: int = 70) -> RecordedProvider:
    """Return a provider under which an agent is far inside a stall."""
    recorded = RecordedProvider(processor)
    with recorded.agent("coder", conversation="c"):
        for _ in range(steps):
            recorded.tool("read_file", {"path": "a"}, "text")
    return recorded


class Broken(SpanExporter):
    """An exporter that raises."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        raise RuntimeError("secret")


class TestPressure:
    def test_on_abandon(self, caplog: pytest.LogCaptureFixture) -> None:
        """An exception in the host's `on_abandon`.

        Host: gets the record of the run all the same, once.
        Told: one line in the log with the type.
        """

        def save(_: Abandonment) -> None:
            raise ValueError("secret")

        processor = StallSpanProcessor(CONFIG)
        stuck(processor, 300)
        ladder = Ladder(["abandon"], source=processor, on_abandon=save)
        pressure = ladder.look("c")
        assert pressure.action is Level.ABANDON
        first, second = ladder.abandon(pressure), ladder.abandon(pressure)
        assert first is not None
        assert second is not None
        assert caplog.messages == ["on_abandon failed: ValueError"]

    def test_texts(self, caplog: pytest.LogCaptureFixture) -> None:
        """An exception in the host's own texts, or in a source of its own, at every turn.

        Host: no pressure is shown; its agent goes on.
        Told: `Ladder.errors` counts each, the log has the type once a minute.
        """

        class Failing(Texts):
            def counter_line(self, status: Status) -> NoReturn:
                raise ValueError("secret")

        processor, clock = StallSpanProcessor(CONFIG), Clock()
        stuck(processor)
        ladder = Ladder(["notice"], source=processor, texts=Failing(), clock=clock)
        for clock.now in (0.0, 30.0, 61.0):
            assert ladder.look("c") == NONE
        assert (ladder.errors, len(caplog.messages)) == (3, 2)
        assert "secret" not in caplog.text


class TestParts:
    def test_a_clock(self) -> None:
        """An exception in a clock that the host passed in.

        Host: its spans are exported untouched.
        Told: `errors` counts each.
        """

        def clock() -> NoReturn:
            raise OSError("secret")

        processor = StallSpanProcessor(CONFIG, clock=clock)
        recorded = stuck(processor, 3)
        assert steps_of(recorded.exporter)[:3] == [None] * 3
        assert processor.errors >= 8

    def test_a_log_processor(self) -> None:
        """An exception in a log processor of the host's.

        Host: the verdict is on the span, the event is lost.
        Told: `errors` counts it.
        """

        class Raising(LogRecordProcessor):
            def on_emit(self, log_record: object) -> NoReturn:
                raise RuntimeError("down")

            def shutdown(self) -> None:
                pass

            def force_flush(self, timeout_millis: int = 30_000) -> bool:
                return True

        provider = LoggerProvider(shutdown_on_exit=False)
        provider.add_log_record_processor(Raising())
        processor = StallSpanProcessor(CONFIG, monitor=Scripted(STARTED), logger_provider=provider)
        recorded = RecordedProvider(processor)
        recorded.tool("read_file")
        assert (steps_of(recorded.exporter), processor.errors) == ([1], 1)

    @pytest.mark.parametrize("batched", [False, True])
    def test_an_exporter(self, batched: bool, caplog: pytest.LogCaptureFixture) -> None:
        """An exporter that raises, beside ours and one that works.

        Host: the one that works gets every span, annotated.
        Told: what the SDK logs of the exporter; nothing of ours.
        """
        caplog.set_level(logging.CRITICAL)
        processor = StallSpanProcessor(CONFIG)
        broken = BatchSpanProcessor(Broken()) if batched else SimpleSpanProcessor(Broken())
        recorded = RecordedProvider(broken, processor)
        for _ in range(3):
            recorded.tool("read_file")
        recorded.provider.shutdown()
        assert (steps_of(recorded.exporter), processor.errors) == ([1, 1, 1], 0)

    def test_a_processor_behind(self) -> None:
        """A span processor behind ours that raises into the host.

        Host: sees that exception, as it would without us; the spans after it are judged and counted on.
        Told: nothing of ours.
        """

        class Raising(SpanProcessor):
            def on_end(self, span: ReadableSpan) -> None:
                if failing:
                    raise RuntimeError("the host's")

        processor, failing = StallSpanProcessor(CONFIG), [True]
        recorded = RecordedProvider(processor, Raising())
        with recorded.agent(conversation="c"):
            with pytest.raises(RuntimeError, match="the host's"):
                recorded.tool("read_file")
            failing.clear()
            recorded.tool("read_file")
        assert (steps_of(recorded.exporter), processor.errors) == ([2, None], 0)

    def test_the_exporter_behind_ours(self, caplog: pytest.LogCaptureFixture) -> None:
        """The exporter that `StallSpanExporter` wraps raises.

        Host: its SDK sees that exception, as without us, and goes on.
        Told: what the SDK logs; nothing of ours.
        """
        caplog.set_level(logging.CRITICAL)
        exporter = StallSpanExporter(Broken(), CONFIG)
        provider = TracerProvider(shutdown_on_exit=False)
        recorded = RecordedProvider(SimpleSpanProcessor(exporter), provider=provider)
        recorded.tool("read_file")
        assert (len(recorded.spans()), exporter.errors) == (1, 0)

    def test_a_milestone_rule(self) -> None:
        """A rule of the settings that would match without end: rules are patterns, they run no code of the host's.

        Host: each call is judged in time in proportion to its name.
        Told: nothing.
        """
        patterns = ["*" * 119 + "x", "a?*" * 40, "*a*a*a*a*a*a*a*a*b"]
        config = StallConfig.create({"milestones": {"tools": {"irreversible": patterns}}})
        processor = StallSpanProcessor(config)
        recorded = RecordedProvider(processor)
        recorded.tool("a" * 200, {"x": 1}, "ok")
        assert (steps_of(recorded.exporter), processor.errors, processor.skipped) == ([1], 0, 0)
