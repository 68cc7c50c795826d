"""Rules of `silence`: calls that never end and agents that make no step, seen while their spans are open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.trace import Span

from otel_stall import StallConfig, StallSpanProcessor
from otel_stall.config import PressureConfig
from otel_stall.silence import Pace
from otel_stall.testing import SECOND_NS as SECOND
from otel_stall.testing import RecordedProvider, tool_reading

LATE = 10_000 * SECOND


class Host:
    """A traced agent whose clock goes a second at each start and end."""

    def __init__(self, **pressure: float) -> None:
        self.logs = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
        provider = LoggerProvider(shutdown_on_exit=False)
        provider.add_log_record_processor(SimpleLogRecordProcessor(self.logs))
        config = StallConfig.create({"pressure": pressure})
        self.processor = StallSpanProcessor(config, logger_provider=provider)
        self.recorded = RecordedProvider(self.processor)

    @contextmanager
    def call(self, tool: str) -> Iterator[Span]:
        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
        with self.recorded.span(f"execute_tool {tool}", attributes) as span:
            yield span

    def late(self, now_ns: int = LATE) -> list[tuple[str, str, str]]:
        return [(one.reason, one.lane, one.tool) for one in self.processor.tick(now_ns)]

    def events(self) -> list[dict[str, object]]:
        records = [one.log_record for one in self.logs.get_finished_logs()]
        return [dict(one.attributes or {}) for one in records if one.event_name == "stall.silent"]


def test_a_call_that_never_ended() -> None:
    """While it is open it is late, with tool, lane and span; once ended it is not."""
    host = Host()
    with host.recorded.agent("coder", conversation="c-1"):
        with host.call("bash") as span:
            (one,) = host.processor.tick(LATE)
            assert (one.reason, one.conversation, one.lane, one.tool) == ("hung_call", "c-1", "coder", "bash")
            assert one.span_id == f"{span.get_span_context().span_id:016x}"
            assert (one.since_ns, one.seconds) == (2 * SECOND, 9_998.0)
        assert host.late(100 * SECOND) == []


def test_it_is_said_once() -> None:
    """Every tick returns it, one event tells of it."""
    host = Host()
    with host.recorded.agent("coder", conversation="c-1"), host.call("bash"):
        assert host.late(200 * SECOND) == host.late(300 * SECOND) != []
        assert host.events() == [
            {
                "gen_ai.conversation.id": "c-1",
                "gen_ai.agent.name": "coder",
                "gen_ai.tool.name": "bash",
                "stall.silence.reason": "hung_call",
                "stall.silence.seconds": 198,
            }
        ]


def test_a_tool_that_always_takes_long_is_not_late_so_soon() -> None:
    """What is usual is measured for each tool."""
    host = Host(hung_seconds=5, silent_seconds=9_999)
    with host.recorded.agent("coder", conversation="c-1"):
        with host.call("build"):
            for _ in range(20):
                host.recorded.clock()
        with host.call("build") as span:
            began = 24 * SECOND
            assert span.is_recording()
            assert host.late(began + 60 * SECOND) == []
            assert host.late(began + 70 * SECOND) == [("hung_call", "coder", "build")]


def test_an_agent_that_makes_no_step() -> None:
    """While its span is open and none of its calls is; the pauses seen in its lane say what is usual."""
    host = Host(silent_seconds=10)
    with host.recorded.agent("coder", conversation="c-1"):
        for _ in range(2):
            host.recorded.tool("bash", {"command": "ls"}, "a")
        assert host.late(15 * SECOND) == []
        assert host.late(16 * SECOND) == [("no_step", "coder", "")]
        for _ in range(20):
            host.recorded.clock()
        host.recorded.tool("bash", {"command": "ls"}, "a")
        assert host.late(90 * SECOND) == []
        assert host.late(96 * SECOND) == [("no_step", "coder", "")]
    assert host.late() == []


def test_who_waits_for_an_agent_below_is_not_late() -> None:
    """A call that runs another agent does not hang while that one makes steps, nor does its caller."""
    host = Host(silent_seconds=10, hung_seconds=10)
    with host.recorded.agent("coder", conversation="c-1"), host.call("search"):
        for _ in range(20):
            host.recorded.clock()
        with host.recorded.agent("searcher"):
            host.recorded.tool("bash", {"command": "ls"}, "a")
            assert host.late(30 * SECOND) == []
            assert host.late(50 * SECOND) == [("hung_call", "coder", "search"), ("no_step", "coder/searcher", "")]


def test_a_user_who_is_away_is_not_a_pause_of_the_agent() -> None:
    """Between two traces nothing is measured."""
    host = Host(silent_seconds=10)
    with host.recorded.agent("coder", conversation="c-1"):
        host.recorded.tool("bash", {"command": "ls"}, "a")
    for _ in range(500):
        host.recorded.clock()
    with host.recorded.agent("coder", conversation="c-1"):
        host.recorded.tool("bash", {"command": "ls"}, "a")
        assert host.late(520 * SECOND) == [("no_step", "coder", "")]


def test_nothing_is_said_where_it_is_switched_off() -> None:
    """A closed processor answers nothing."""
    host = Host()
    with host.recorded.agent("coder", conversation="c-1"), host.call("bash"):
        host.processor.shutdown()
        assert host.late() == []


def test_what_falls_out_is_counted() -> None:
    """Beyond its bounds the oldest pace goes, and is counted."""
    dropped: Counter[str] = Counter()
    pace = Pace(PressureConfig(), dropped)
    for number in range(1, 101):
        pace.saw(tool_reading("read", number=number), "c", f"lane {number}")
    assert dropped == {"paces": 100 - 64}
