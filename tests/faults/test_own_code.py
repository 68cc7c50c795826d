"""Faults of our own: an exception at every stage of a span's way, of every kind."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest
from doubles import CONFIG, Clock
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, NumberDataPoint

import otel_stall
from otel_stall.calls import HostMark
from otel_stall.emission import Event, Severity
from otel_stall.processor import StallSpanProcessor
from otel_stall.testing import RecordedProvider

ENDING = {
    "dialect rule": "otel_stall.dialects.read",
    "double emission": "otel_stall.dialects.doubles.Doubles.admit",
    "lineage": "otel_stall.lineage.Lineage.ended",
    "observation": "otel_stall.monitor.observation",
    "facts": "otel_stall.fold.facts_of",
    "fold": "otel_stall.monitor.fold",
    "attributes": "otel_stall.emitter.attributes_of",
    "annotation": "otel_stall.sdk.annotate",
    "events": "otel_stall.emitter.events_of",
    "event log": "otel_stall.emission.EventLog.emit",
    "metrics": "otel_stall.metrics.OTelStallMetrics.judged",
    "metrics of the processor": "otel_stall.metrics.OTelStallMetrics.ran",
    "watch of contents": "otel_stall.contents.ContentWatch.saw",
    "summary of the agent": "otel_stall.summaries.Summary.after",
    "pace": "otel_stall.silence.Pace.saw",
    "breaker": "otel_stall.processor.StallSpanProcessor._end",
}
"""What is broken, by the stage of a span's end."""

STARTING = {
    "start of a span": "otel_stall.lineage.Lineage.opened",
    "baggage": "otel_stall.processor._carried",
    "stamp": "otel_stall.processor.StallSpanProcessor._stamp",
}

ERRORS = [ValueError("secret content"), MemoryError(), RecursionError("secret"), OSError(28, "secret"), StopIteration()]


class Secret(BaseException):
    """What a host's own framework may throw through everything."""


@dataclass
class Host:
    """A host with a provider, our processor on a clock that stands, and meters that can be asked."""

    processor: StallSpanProcessor
    recorded: RecordedProvider
    clock: Clock
    reader: InMemoryMetricReader

    def work(self, conversation: str = "c") -> int:
        """Do the host's own work in a tool span, five times, and return what it made."""
        with self.recorded.agent("coder", conversation=conversation):
            return sum(self.call(number) for number in range(5))

    def call(self, number: int = 1) -> int:
        self.recorded.tool("read_file", {"path": "a"}, "text")
        return number

    def counted(self) -> int:
        """Return what the metric `stall.processor.errors` says."""
        data = self.reader.get_metrics_data()
        metrics = [m for r in (data.resource_metrics if data else ()) for s in r.scope_metrics for m in s.metrics]
        points = [point for m in metrics if m.name == "stall.processor.errors" for point in m.data.data_points]
        return sum(int(point.value) for point in points if isinstance(point, NumberDataPoint))


@pytest.fixture
def host() -> Iterator[Host]:
    reader, clock = InMemoryMetricReader(), Clock()
    meters = MeterProvider([reader], shutdown_on_exit=False)
    processor = StallSpanProcessor(CONFIG, meter_provider=meters, clock=clock)
    yield Host(processor, RecordedProvider(processor), clock, reader)
    meters.shutdown()


def raising(error: BaseException) -> Callable[..., NoReturn]:
    def broken(*_: object, **__: object) -> NoReturn:
        raise error

    return broken


def own_attributes(host: Host) -> list[dict[str, Any]]:
    """Return what the host itself wrote on its tool spans, as they were exported."""
    spans = [dict(span.attributes or {}) for span in host.recorded.spans() if "execute_tool" in span.name]
    return [{name: value for name, value in one.items() if name.startswith("gen_ai.t")} for one in spans]


class TestErrors:
    @pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
    @pytest.mark.parametrize("stage", ENDING)
    def test_at_the_end_of_a_span(
        self,
        stage: str,
        error: Exception,
        host: Host,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """An exception in a dialect's rule, facts, fold, emission, metrics or anything between, MemoryError too.

        Host: its work goes on; every span is exported with all that the host wrote, annotated or not.
        Told: `errors` and `stall.processor.errors` count each; the log has type and place once a minute, no content.
        """
        monkeypatch.setattr(ENDING[stage], raising(error))
        assert host.work() == 10
        assert (
            own_attributes(host)
            == [
                {
                    "gen_ai.tool.name": "read_file",
                    "gen_ai.tool.call.arguments": '{"path": "a"}',
                    "gen_ai.tool.call.result": "text",
                }
            ]
            * 5
        )
        assert host.processor.errors == host.counted() >= 1
        assert [type(error).__name__ in message for message in caplog.messages] == [True]
        host.clock.now += 61
        host.work("another")
        assert len(caplog.messages) == 2
        assert "secret" not in caplog.text

    @pytest.mark.parametrize("stage", STARTING)
    def test_at_the_start_of_a_span(
        self, stage: str, host: Host, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """An exception while a span starts.

        Host: the same; its calls are judged all the same, perhaps under the trace in place of the conversation.
        Told: the same.
        """
        monkeypatch.setattr(STARTING[stage], raising(ValueError("secret")))
        assert host.work() == 10
        assert [verdict["stall.step"] for verdict in host.recorded.verdicts()] == [1, 2, 3, 4, 5]
        assert host.processor.errors == host.counted() >= 1
        assert (len(caplog.messages), "secret" in caplog.text) == (1, False)

    @pytest.mark.parametrize("ask", ["standing", "tick", "spoke", "say", "mark"])
    def test_in_what_a_host_calls(
        self, ask: str, host: Host, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """An exception in what a host calls itself: `standing`, `tick`, `spoke`, `say`, a milestone.

        Host: nothing is raised; the answer is the one for "nothing is known".
        Told: the same.
        """
        broken = raising(ValueError("secret"))
        for place in (
            "otel_stall.judge.Judge.standing",
            "otel_stall.judge.Judge.late",
            "otel_stall.judge.Judge.ended",
            "otel_stall.judge.Judge.marked",
            "otel_stall.emission.EventLog.say",
        ):
            monkeypatch.setattr(place, broken)
        calls: dict[str, Callable[[], object]] = {
            "standing": lambda: host.processor.standing("c"),
            "tick": host.processor.tick,
            "spoke": lambda: host.processor.spoke("c"),
            "say": lambda: host.processor.say(EVENT),
            "mark": lambda: host.processor.mark(MARK),
        }
        assert calls[ask]() in (None, ())
        assert host.processor.errors == host.counted() == 1
        assert (len(caplog.messages), "secret" in caplog.text) == (1, False)

    def test_while_metrics_are_collected(
        self, host: Host, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """An exception while the host's reader asks for gauges.

        Host: its own metrics are collected; ours of that moment are missing.
        Told: the same.
        """
        monkeypatch.setattr("otel_stall.judge.Judge.census", raising(ValueError("secret")))
        host.work()
        for _ in range(3):
            host.reader.get_metrics_data()
        assert host.processor.errors >= 3
        assert host.counted() >= 3
        assert (len(caplog.messages), "secret" in caplog.text) == (1, False)

    def test_a_log_filter_that_raises(self, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
        """An exception of ours whose log line meets a filter of the host's that raises.

        Host: the same.
        Told: `errors` counts it; the log says nothing.
        """
        monkeypatch.setattr(ENDING["fold"], raising(ValueError()))
        logger = logging.getLogger("otel_stall")
        logger.addFilter(broken := raising(RuntimeError()))
        try:
            assert host.work() == 10
        finally:
            logger.removeFilter(broken)
        assert host.processor.errors == 5


class TestInterruptions:
    @pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, Secret])
    @pytest.mark.parametrize("stage", ["dialect rule", "fold", "attributes", "metrics"])
    def test_comes_through(
        self, stage: str, error: type[BaseException], host: Host, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """KeyboardInterrupt, SystemExit, or a framework's own BaseException that arrives inside a hook.

        Host: it comes through, as from any line of the host; no lock stays held, the next span is judged.
        Told: nothing: it is no error.
        """
        with monkeypatch.context() as patched:
            patched.setattr(ENDING[stage], raising(error()))
            with pytest.raises(error):
                host.call()
        host.call()
        assert host.recorded.verdicts()[-1]["stall.detected"] is False
        assert host.processor.errors == 0

    @pytest.mark.parametrize("ask", ["standing", "tick", "spoke", "say", "mark", "milestone"])
    def test_in_the_last_frames(self, ask: str, host: Host) -> None:
        """The recursion limit, nearly reached by the host.

        Host: wherever it could call what does nothing, ours returns; hooks, too (`test_processor_faults.py`).
        Told: `errors` counts what was left out.
        """
        calls: dict[str, Callable[[], object]] = {
            "standing": lambda: host.processor.standing("c"),
            "tick": lambda: host.processor.tick(None),
            "spoke": lambda: host.processor.spoke("c"),
            "say": lambda: host.processor.say(EVENT),
            "mark": lambda: host.processor.mark(MARK),
            "milestone": lambda: otel_stall.milestone("m", conversation="c"),
        }
        calls[ask]()
        assert fitting(calls[ask]) == fitting(lambda: nothing("c"))


EVENT = Event("stall.x", Severity.INFO, {})
MARK = HostMark("m", "observed", 5, "c")


def nothing(_: str) -> None:
    """A call as any other."""


def fitting(act: Callable[[], object]) -> list[int]:
    """Return under how many frames this can be called."""
    limit = sys.getrecursionlimit()
    return [frames for frames in range(limit - 160, limit) if fits(frames, act)]


def fits(frames: int, act: Callable[[], object]) -> bool:
    try:
        down(frames, act)
    except RecursionError:
        return False
    return True


def down(frames: int, act: Callable[[], object]) -> None:
    if frames:
        down(frames - 1, act)
    else:
        act()
