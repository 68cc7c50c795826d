"""What a wrong time, a rename or a full span may do to a run: nothing that its owner does not see."""

from __future__ import annotations

import time
from dataclasses import replace

from opentelemetry.sdk.trace import SpanLimits, TracerProvider

import otel_stall
from otel_stall import StallConfig, StallSpanProcessor
from otel_stall.conversations import Lanes
from otel_stall.monitor import Monitor
from otel_stall.testing import RecordedProvider, tool_reading

DAYS_NS = 10 * 86_400 * 10**9


def test_a_span_from_the_future_makes_no_other_conversation_old() -> None:
    """Live, a lane is idle by the clock of arrival: one clock that is days ahead costs nobody the counts."""
    monitor = Monitor(clock=time.time_ns)
    monitor.observe(tool_reading("read", {"a": 1}, "x", number=1), "here", "main", "")
    late = tool_reading("read", {"a": 1}, "x", number=2)
    for number in range(2_000):
        ahead = replace(late, span_id=f"{number:016x}", end_ns=late.end_ns + DAYS_NS)
        monitor.observe(ahead, "ahead", "main", "")
    (status,) = monitor.status("here")
    assert status.step == 1
    assert monitor.lanes.evicted == 0


def test_a_milestone_in_a_wrong_unit_costs_no_counts() -> None:
    """A timestamp of another unit, or of the far future, counts as now, and the steps after it are not late."""
    processor = StallSpanProcessor(StallConfig())
    recorded = RecordedProvider(processor)
    with recorded.agent("coder", conversation="c-1"):
        recorded.tool("read", {"a": 1}, "x")
        otel_stall.milestone("reached", timestamp=time.time_ns() * 1_000)
        recorded.tool("read", {"a": 2}, "y")
    assert [one["stall.step"] for one in recorded.verdicts()] == [1, 2]
    assert [one["stall.milestone.count"] for one in recorded.verdicts()] == [0, 1]
    assert processor.monitor.lanes.evicted == 0


def test_a_milestone_on_a_full_span_leaves_the_limit_of_events() -> None:
    """However many there are, and whatever the host adds after them, the span holds as many as it may."""
    limits = SpanLimits(max_events=4)
    recorded = RecordedProvider(StallSpanProcessor(StallConfig()), provider=TracerProvider(span_limits=limits))
    with recorded.agent("coder", conversation="c-1") as span:
        for number in range(4):
            span.add_event(f"own {number}")
        for number in range(9):
            otel_stall.milestone(f"reached {number}")
        assert [event.name for event in span.events] == ["stall.milestone", "stall.milestone_reached"] * 2
        for number in range(40):
            span.add_event(f"more {number}")
    (exported,) = recorded.spans()
    assert [event.name for event in exported.events] == [f"more {number}" for number in range(36, 40)]
    assert exported.dropped_events == 4 + 2 * 9 + 36


def test_counts_survive_a_snapshot() -> None:
    """What fell out and what came late before is still counted after a restore."""
    lanes = Lanes()
    lanes.evicted = 7
    again = Lanes()
    again.restore(lanes.snapshot())
    assert again.evicted == 7
    monitor = Monitor()
    first, second = (tool_reading("read", {"a": n}, "x", number=n) for n in (2, 1))
    for reading in (first, second):
        monitor.observe(reading, "c", "main", "")
    restored = Monitor()
    restored.restore(monitor.snapshot())
    assert restored.late_steps == monitor.late_steps == 1


def test_open_spans_that_fall_out_are_counted() -> None:
    """Beyond the bound the oldest open span is forgotten, and the census says so."""
    processor = StallSpanProcessor(StallConfig.create({"bounds": {"open_spans": 2}}))
    recorded = RecordedProvider(processor)
    spans = [recorded.tracer.start_span(f"open {number}") for number in range(5)]
    census = processor._judge.census()
    assert census is not None
    assert census.forgotten == {"open_spans": 3}
    for span in spans:
        span.end()
