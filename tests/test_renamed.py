"""What a stall may not lose, nor count twice, when the conversation of a trace becomes known while it lasts."""

from __future__ import annotations

from collections.abc import Sequence

from acts import SECOND
from doubles import logs
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from otel_stall import StallConfig, StallSpanProcessor
from otel_stall.calls import Capture, Content, ModelCall, Reading, ToolCall
from otel_stall.conversations import Lane
from otel_stall.monitor import Monitor
from otel_stall.testing import RecordedProvider
from otel_stall.verdicts import Change, Changed, EndReason, Judged, Stall


class Host:
    """Tells one monitor of turns and calls; each turn reads 100 tokens."""

    def __init__(self) -> None:
        self.monitor = Monitor()
        self._number = 0

    def turns(self, conversation: str, count: int, path: str = "a") -> list[Judged]:
        judged: list[Judged] = []
        for _ in range(count):
            call = ToolCall("read", Content({"path": path}, Capture.CAPTURED), Content("x = 1", Capture.CAPTURED))
            for record in (ModelCall(input_tokens=100), call):
                judged += self.monitor.observe(self._reading(record), conversation, "main", "")
        return judged

    def works(self, conversation: str) -> list[Judged]:
        self._number += 1
        call = ToolCall(
            "read", Content({"path": self._number}, Capture.CAPTURED), Content(f"new {self._number}", Capture.CAPTURED)
        )
        return [*self.monitor.observe(self._reading(call), conversation, "main", "")]

    def lane(self, conversation: str) -> Lane:
        lane = self.monitor.lanes.get((conversation, "main"))
        assert lane is not None
        return lane

    def _reading(self, record: ModelCall | ToolCall) -> Reading:
        self._number += 1
        at = self._number * SECOND
        return Reading("a" * 32, f"{self._number:016x}", "", "", start_ns=at, end_ns=at, record=record)


def tokens(judged: Sequence[Judged]) -> int:
    return sum(one.verdict.stalled_tokens for one in judged)


def changes(judged: Sequence[Judged]) -> list[Changed]:
    return [changed for one in judged for changed in one.verdict.changes]


def stall_of(lane: Lane) -> Stall:
    assert lane.open is not None
    return lane.open.stall


class TestTokens:
    def test_of_a_stall_are_counted_once(self) -> None:
        """Under its trace's id and then under the conversation's, they are the same tokens."""
        host = Host()
        judged = host.turns("trace", 20)
        host.monitor.rename("trace", "real")
        judged += host.turns("real", 2)
        assert tokens(judged) == stall_of(host.lane("real")).tokens == 2_100

    def test_of_a_relapse_are_counted_once(self) -> None:
        """What a stall had spent before it closed and came back was counted then."""
        host = Host()
        judged = host.turns("c", 9)
        for _ in range(9):
            judged += host.works("c")
        assert host.lane("c").open is None
        judged += host.turns("c", 9)
        assert [changed.change for changed in changes(judged)].count(Change.STARTED) == 2
        assert (stall_of(host.lane("c")).number, tokens(judged)) == (1, stall_of(host.lane("c")).tokens)

    def test_after_a_snapshot_are_counted_once(self) -> None:
        """A process that goes on where another ended does not count what that one did."""
        first, second = Host(), Host()
        judged = first.turns("c", 9)
        second.monitor.restore(first.monitor.snapshot())
        second._number = first._number
        judged += second.turns("c", 9)
        assert tokens(judged) == stall_of(second.lane("c")).tokens

    def test_of_both_parts_of_a_conversation_add_up(self) -> None:
        """The stall that goes on has its own tokens from before, and those that came since."""
        host = Host()
        judged = host.turns("real", 9)
        judged += host.turns("trace", 2)
        host.monitor.rename("trace", "real")
        judged += host.turns("real", 3)
        stall = stall_of(host.lane("real"))
        assert (host.lane("real").tokens, stall.tokens) == (1_400, 1_300)
        assert tokens(judged) == 1_300

    def test_in_the_metric(self) -> None:
        """The counter says what the stall says."""
        reader = InMemoryMetricReader()
        meters = MeterProvider([reader], shutdown_on_exit=False)
        processor = StallSpanProcessor(StallConfig(), meter_provider=meters)
        recorded = RecordedProvider(processor)
        with recorded.span("root"):
            for number in range(20):
                named = {"gen_ai.conversation.id": "real"} if number > 12 else {}
                recorded.chat("", {"gen_ai.usage.input_tokens": 100, **named})
                recorded.tool("read_file", {"path": "a"}, "x", attributes=named)
        data = reader.get_metrics_data()
        meters.shutdown()
        assert data is not None
        counted = [
            point.value  # type: ignore[union-attr]
            for scope in data.resource_metrics[0].scope_metrics
            for metric in scope.metrics
            if metric.name == "stall.stalled_tokens"
            for point in metric.data.data_points
        ]
        lane = processor.monitor.lanes.get(("real", "main"))
        assert lane is not None
        assert sum(counted) == stall_of(lane).tokens


class TestOpenStalls:
    def test_one_goes_on_in_the_lane_that_takes_its_place(self) -> None:
        """It keeps its level and number, in the steps of the lane that goes on, and its end is told once."""
        host = Host()
        before = stall_of_after(host, "real", 9)
        host.turns("trace", 2)
        host.monitor.rename("trace", "real")
        stall = stall_of(host.lane("real"))
        assert (stall.number, stall.level, stall.first_step, stall.last_step) == (1, before.level, 1, 2)
        ended = [changed for _ in range(9) for changed in changes(host.works("real"))]
        assert [(one.change, one.stall.number if one.stall else None) for one in ended] == [(Change.ENDED, 1)]

    def test_of_two_one_is_ended(self) -> None:
        """Both were told to have started, so both are told to have ended; each has a number of its own."""
        host = Host()
        host.turns("real", 9)
        host.turns("trace", 9, "b")
        host.monitor.rename("trace", "real")
        assert stall_of(host.lane("real")).number == 2
        told = changes(host.turns("real", 1, "b"))
        assert [(one.change, one.stall.number, one.stall.ended) for one in told if one.stall] == [
            (Change.ENDED, 1, EndReason.RENAMED)
        ]
        assert changes(host.turns("real", 1, "b")) == []

    def test_what_is_untold_is_saved(self) -> None:
        """A restart in between loses no end."""
        host, after = Host(), Host()
        host.turns("real", 9)
        host.turns("trace", 9, "b")
        host.monitor.rename("trace", "real")
        after.monitor.restore(host.monitor.snapshot())
        assert after.lane("real").untold == host.lane("real").untold
        assert len(after.lane("real").untold) == 1

    def test_as_events(self) -> None:
        """The log has as many ends as starts."""
        with logs() as (provider, exporter):
            processor = StallSpanProcessor(StallConfig(), logger_provider=provider)
            recorded = RecordedProvider(processor)
            real = {"gen_ai.conversation.id": "real"}
            for _ in range(9):
                recorded.tool("read_file", {"path": "a"}, "x", attributes=real)
            with recorded.span("root"):
                for number in range(12):
                    recorded.tool("read_file", {"path": "b"}, "y", attributes=real if number > 9 else {})
                for number in range(12):
                    recorded.tool("read_file", {"path": number}, f"new {number}", attributes=real)
            told = [str(each.log_record.event_name) for each in exporter.get_finished_logs()]
        assert (told.count("stall.started"), told.count("stall.ended")) == (2, 2)


def stall_of_after(host: Host, conversation: str, count: int) -> Stall:
    host.turns(conversation, count)
    return stall_of(host.lane(conversation))
