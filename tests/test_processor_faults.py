"""Rules of `processor`: whatever goes wrong, the host notices nothing else, and it is counted."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence

import pytest
from doubles import CONFIG, STARTED, Clock, Raising, Scripted, logs, stall_processor, steps_of
from opentelemetry import context
from opentelemetry.context import Context
from opentelemetry.metrics import Counter as MetricsCounter
from opentelemetry.metrics import Meter, NoOpCounter, NoOpMeter, NoOpMeterProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, NumberDataPoint
from opentelemetry.sdk.trace import (
    ReadableSpan,
    Span,
    SpanProcessor,
    TracerProvider,
)
from opentelemetry.sdk.trace.export import (
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)

import otel_stall
from otel_stall.calls import Reading
from otel_stall.config import StallConfig
from otel_stall.processor import StallSpanProcessor
from otel_stall.testing import RecordedProvider
from otel_stall.verdicts import Judged


class TestMetrics:
    def collected(self, processor_of: Callable[[MeterProvider], StallSpanProcessor]) -> dict[str, float]:
        reader = InMemoryMetricReader()
        meters = MeterProvider([reader], shutdown_on_exit=False)
        recorded = RecordedProvider(processor_of(meters))
        with recorded.agent("coder", conversation="c"):
            for _ in range(4):
                recorded.tool("read_file", {"path": "a"}, "text")
        data = reader.get_metrics_data()
        meters.shutdown()
        found: dict[str, float] = defaultdict(float)
        for scope in (scope for each in data.resource_metrics for scope in each.scope_metrics) if data else ():
            for metric in scope.metrics:
                for point in metric.data.data_points:
                    found[metric.name] += point.value if isinstance(point, NumberDataPoint) else point.count
        return found

    def test_of_a_run(self) -> None:
        """What the spans say is counted, gauges show the conversation, and time is taken where there is a verdict."""
        assert self.collected(lambda meters: StallSpanProcessor(CONFIG, meter_provider=meters)) == {
            "stall.steps": 4,
            "stall.starts": 1,
            "stall.stalled_steps": 1,
            "stall.active": 1,
            "stall.conversations": 1,
            "stall.evictions": 0,
            "stall.late_steps": 0,
            "stall.processor.skipped": 0,
            "stall.processor.forgotten": 0,
            "stall.processor.duration": 4,
        }

    def test_of_faults(self) -> None:
        """Internal errors are counted, and take no time of verdicts."""
        found = self.collected(lambda m: StallSpanProcessor(CONFIG, monitor=Raising(CONFIG), meter_provider=m))
        assert (found["stall.processor.errors"], "stall.processor.duration" in found) == (4, False)

    def test_switched_off(self) -> None:
        """With the switch off nothing is recorded."""
        config = StallConfig(metrics=False)
        assert self.collected(lambda meters: StallSpanProcessor(config, meter_provider=meters)) == {}

    def test_a_meter_that_raises(self) -> None:
        """A broken meter costs no verdict on the span, and no event."""

        class Broken(NoOpMeter):
            def create_counter(self, name: str, unit: str = "", description: str = "") -> MetricsCounter:
                class Raising(NoOpCounter):
                    def add(self, *args: object, **kwargs: object) -> None:
                        raise RuntimeError("down")

                return Raising(name)

        class Meters(NoOpMeterProvider):
            def get_meter(self, name: str, *args: object, **kwargs: object) -> Meter:
                return Broken(name)

        with logs() as (provider, exporter):
            processor = StallSpanProcessor(
                CONFIG, monitor=Scripted(STARTED), logger_provider=provider, meter_provider=Meters()
            )
            recorded = RecordedProvider(processor)
            recorded.tool("read_file")
            logged = [each.log_record.event_name for each in exporter.get_finished_logs()]
        assert (steps_of(recorded.exporter), logged) == ([1], ["stall.started"])
        assert processor.errors == 1


class Slow(Scripted):
    """A monitor that takes a second for each reading."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def observe(self, reading: Reading, conversation: str, lane: str, agent: str) -> Sequence[Judged]:
        self._clock.now += 1.0
        return super().observe(reading, conversation, lane, agent)


class TestBreaker:
    def test_a_slow_fold(self, caplog: pytest.LogCaptureFixture) -> None:
        """After five hooks over their budget spans pass untouched for a minute, and are judged again then."""
        clock = Clock()

        processor = StallSpanProcessor(CONFIG, monitor=Slow(clock), clock=clock)
        recorded = RecordedProvider(processor)
        for _ in range(7):
            recorded.tool("read_file")
        clock.now += 60.0
        recorded.tool("read_file")
        assert steps_of(recorded.exporter) == [1, 1, 1, 1, 1, None, None, 1]
        assert (processor.skipped, processor.errors, len(caplog.messages)) == (2, 0, 1)
        assert "hook_seconds" in caplog.text

    def test_without_a_budget(self) -> None:
        """With 0 hooks may take as long as they do."""
        clock = Clock()

        recorded = RecordedProvider(StallSpanProcessor(StallConfig(hook_seconds=0), monitor=Slow(clock), clock=clock))
        for _ in range(9):
            recorded.tool("read_file")
        assert steps_of(recorded.exporter) == [1] * 9


class TestFaults:
    def test_a_monitor_that_raises(self, caplog: pytest.LogCaptureFixture) -> None:
        """An internal error leaves the span as it was, is counted, and logged once a minute without content."""
        clock = Clock()
        processor = StallSpanProcessor(CONFIG, monitor=Raising(CONFIG), clock=clock)
        recorded = RecordedProvider(processor)
        for clock.now in (0.0, 30.0, 61.0):
            recorded.tool("read_file", {"path": "a"})
        assert recorded.verdicts() == [{}, {}, {}]
        assert (processor.errors, len(caplog.records)) == (3, 2)
        assert "secret" not in caplog.text
        assert "ValueError at " in caplog.text

    def test_an_exporter_that_raises(self, caplog: pytest.LogCaptureFixture) -> None:
        """An exporter in front that raises takes nothing away from the one behind."""

        class Broken(SpanExporter):
            def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
                raise RuntimeError("down")

        caplog.set_level(logging.CRITICAL)
        recorded = RecordedProvider(SimpleSpanProcessor(Broken()), stall_processor())
        recorded.tool("read_file")
        assert steps_of(recorded.exporter) == [1]

    def test_a_span_that_ends_inside_the_fold(self) -> None:
        """A span that the garbage collector ends in the middle of a fold is skipped; nothing waits for itself."""

        class Nested(Scripted):
            def observe(self, reading: Reading, conversation: str, lane: str, agent: str) -> Sequence[Judged]:
                inner.end()
                return super().observe(reading, conversation, lane, agent)

        processor = stall_processor(Nested())
        recorded = RecordedProvider(processor)
        inner = recorded.tracer.start_span("execute_tool", attributes={"gen_ai.operation.name": "execute_tool"})
        recorded.tool("read_file")
        assert steps_of(recorded.exporter) == [None, 1]
        assert (processor.skipped, processor.errors) == (1, 0)

    def test_a_fold_that_takes_too_long(self) -> None:
        """While one thread is stuck in the fold others wait a second at most, and their spans go on."""
        release = threading.Event()
        entered = threading.Event()

        class Stuck(Scripted):
            def observe(self, reading: Reading, conversation: str, lane: str, agent: str) -> Sequence[Judged]:
                entered.set()
                release.wait(30)
                return super().observe(reading, conversation, lane, agent)

        processor = stall_processor(Stuck())
        recorded = RecordedProvider(processor)
        waiting = recorded.tracer.start_span("execute_tool", attributes={"gen_ai.operation.name": "execute_tool"})
        thread = threading.Thread(target=recorded.tool, args=("read_file",))
        thread.start()
        entered.wait(30)
        waiting.end()
        release.set()
        thread.join()
        assert (steps_of(recorded.exporter), processor.skipped) == ([None, 1], 1)

    def test_shutdown_and_flush(self) -> None:
        """Both may be called twice; spans that end after shutdown are exported untouched."""
        processor = stall_processor()
        recorded = RecordedProvider(processor)
        recorded.tool("read_file")
        assert [processor.force_flush(), processor.force_flush(0)] == [True, True]
        processor.shutdown()
        processor.shutdown()
        recorded.tool("read_file")
        assert steps_of(recorded.exporter) == [1, None]

    def test_switched_off(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The environment alone switches a processor off that was made without settings."""
        monkeypatch.setenv("OTEL_STALL_ENABLED", "false")
        recorded = RecordedProvider(StallSpanProcessor())
        recorded.tool("read_file")
        assert recorded.verdicts() == [{}]

    def test_reopened(self) -> None:
        """After `reopen` spans are judged again, and counting goes on; a processor that is off stays off."""
        recorded = RecordedProvider(processor := StallSpanProcessor(CONFIG))
        off = StallSpanProcessor(StallConfig(enabled=False))
        with recorded.agent(conversation="c"):
            for turn in (processor.reopen, processor.shutdown, processor.reopen):
                turn()
                recorded.tool("read_file")
        off.reopen()
        assert [verdict.get("stall.step") for verdict in recorded.verdicts()] == [1, None, 2]
        assert off.closed

    def test_hooks_can_be_replaced(self) -> None:
        """Hosts that patch `on_start` on the instance can."""
        processor = stall_processor()
        started: list[str] = []

        def patched(span: Span, parent_context: context.Context | None = None) -> None:
            started.append(span.name)

        processor.on_start = patched  # type: ignore[method-assign] # what such hosts do
        RecordedProvider(processor).tool("read_file")
        assert started == ["execute_tool read_file"]

    def test_fork_with_the_lock_held(self) -> None:
        """A child forked while another thread is in the fold judges its own spans."""
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", FORKING], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.stdout, done.returncode) == ("[1]\n", 0), done.stderr


FORKING = """
import os, sys, threading
from otel_stall.config import StallConfig
from otel_stall.processor import StallSpanProcessor
from otel_stall.sampler import RecordAllSampler
from otel_stall.spans import from_readable_span
from otel_stall.testing import RecordedProvider

processor = StallSpanProcessor(StallConfig())
recorded = RecordedProvider(processor)
held = threading.Event()

def hold():
    with processor._judge._lock:
        held.set()
        threading.Event().wait(30)

threading.Thread(target=hold, daemon=True).start()
held.wait()
child = os.fork()
if child == 0:
    recorded.tool("read_file", {"path": "a"}, "text")
    print([verdict.get("stall.step") for verdict in recorded.verdicts()], flush=True)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


class Hookless(SpanProcessor):
    """A processor whose hooks do nothing, at the cost of one frame each."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        pass

    def _on_ending(self, span: Span) -> None:
        pass

    def on_end(self, span: ReadableSpan) -> None:
        pass


def deep(frames: int, act: Callable[[], object]) -> None:
    if frames:
        deep(frames - 1, act)
    else:
        act()


def fits(frames: int, act: Callable[[], object]) -> bool:
    try:
        deep(frames, act)
    except RecursionError:
        return False
    return True


class TestRecursionLimit:
    """What works in the last frames of a host works there with us."""

    def fitting(self, act: Callable[[], object]) -> list[int]:
        """Return under how many frames this can be called."""
        limit = sys.getrecursionlimit()
        return [frames for frames in range(limit - 200, limit) if fits(frames, act)]

    def hooks(self, processor: SpanProcessor) -> list[Callable[[], object]]:
        tracer = TracerProvider(shutdown_on_exit=False).get_tracer("t")
        span = tracer.start_span("execute_tool bash", attributes={"gen_ai.tool.name": "bash", "gen_ai.agent.name": "a"})
        assert isinstance(span, Span)
        return [
            lambda: processor.on_start(span),
            lambda: processor._on_ending(span),
            lambda: processor.on_end(span),
        ]

    def test_no_hook_needs_more_frames_than_one_that_does_nothing(self) -> None:
        """Wherever the host could call a hook that does nothing, ours returns; what is left out is counted."""
        processor = stall_processor()
        for empty, ours in zip(self.hooks(Hookless()), self.hooks(processor), strict=True):
            assert self.fitting(ours) == self.fitting(empty)
        assert processor.errors >= 3

    def test_a_milestone_needs_one_frame(self) -> None:
        """The host's word may be lost there, the host is not."""
        milestone = otel_stall.milestone
        fitting = self.fitting(lambda: milestone("m", conversation="c"))
        assert fitting == self.fitting(lambda: one_frame("m", conversation="c"))


def one_frame(name: str, *, conversation: str) -> None:
    pass
