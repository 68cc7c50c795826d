"""What a wrong time, a rename or a full span may do to a run: nothing that its owner does not see."""

from __future__ import annotations

import time
from dataclasses import replace

from acts import feed, read, readings
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import SpanLimits, TracerProvider

import otel_stall
from otel_stall import StallConfig, StallSpanProcessor
from otel_stall.conversations import Lane, Lanes
from otel_stall.dialects import Doubles
from otel_stall.judge import Judge
from otel_stall.metrics import create_stall_metrics
from otel_stall.monitor import Monitor
from otel_stall.testing import RecordedProvider, tool_reading
from otel_stall.verdicts import Judged

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


def test_a_stall_that_was_open_under_the_real_name_is_still_ended() -> None:
    """Where a provisional lane goes on in the place of one inside a stall, the stall goes on, and its end is told."""
    monitor, stuck = Monitor(), [read("a.py", "x = 1")] * 9
    assert feed(monitor, readings(stuck))[-1].verdict.stall is not None
    ((key, lane),) = list(monitor.lanes)
    monitor.lanes.put(("trace", key[1]), Lane())
    monitor.rename("trace", key[0])
    goes_on = monitor.lanes.get(key)
    assert goes_on is not lane
    assert goes_on is not None
    assert goes_on.open == lane.open


def test_tokens_of_a_stall_are_counted_once_though_it_was_renamed() -> None:
    """Under its trace's id and then under the conversation's, a stall's tokens are the same tokens."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    metrics = create_stall_metrics(provider, lambda: None)
    judged = _stalled_with_tokens()
    metrics.judged(replace(judged, conversation="trace"))
    metrics.renamed("trace", "real")
    metrics.judged(replace(judged, conversation="real"))
    data = reader.get_metrics_data()
    assert data is not None
    counted = [
        point.value  # type: ignore[union-attr]
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name == "stall.stalled_tokens"
        for point in metric.data.data_points
    ]
    provider.shutdown()
    assert counted == [120]


def _stalled_with_tokens() -> Judged:
    judged = feed(Monitor(), readings([read("a.py", "x = 1")] * 9))[-1]
    stall = judged.verdict.stall
    assert stall is not None
    return replace(judged, verdict=replace(judged.verdict, stall=replace(stall, tokens=120), changes=()))


def test_a_milestone_on_a_full_span_leaves_the_limit_of_events() -> None:
    """The event fits, and what the host adds after it meets the limit that was set."""
    limits = SpanLimits(max_events=4)
    recorded = RecordedProvider(StallSpanProcessor(StallConfig()), provider=TracerProvider(span_limits=limits))
    with recorded.agent("coder", conversation="c-1") as span:
        for number in range(4):
            span.add_event(f"own {number}")
        otel_stall.milestone("reached")
        for number in range(40):
            span.add_event(f"more {number}")
    (exported,) = recorded.spans()
    assert len(exported.events) <= 6


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


def test_the_memory_of_doubles_holds_no_text_of_an_error() -> None:
    """Some emitters put the whole error where its class belongs: that is not remembered, a class's name is."""
    doubles = Doubles()
    reading = tool_reading("read", {"a": 1}, "x")
    assert reading.record is not None
    for number, told in enumerate(("ValueError", "the secret of line 3")):
        record = replace(reading.record, error_type=told)  # type: ignore[arg-type]
        doubles.admit(replace(reading, span_id=f"{number:016x}", record=record))
    assert sorted(sight.error_type for sight in doubles._spans.values()) == ["", "ValueError"]


def test_open_spans_that_fall_out_are_counted() -> None:
    """Beyond the bound the oldest open span is forgotten, and the census says so."""
    processor = StallSpanProcessor(StallConfig.create({"bounds": {"open_spans": 2}}))
    recorded = RecordedProvider(processor)
    spans = [recorded.tracer.start_span(f"open {number}") for number in range(5)]
    census = processor._judge.census()
    assert census is not None
    assert census.forgotten == 3
    for span in spans:
        span.end()


def test_a_judge_says_what_was_renamed() -> None:
    """The judgement of the span that names the conversation carries the old and the new name."""
    judge = Judge(Monitor())
    child = tool_reading("read", {"a": 1}, "x", number=1)
    judge.ended([child])
    parent = replace(child, span_id=f"{9:016x}", record=None, conversation="real", is_agent=True)
    (judgement,) = judge.ended([parent])
    assert [(one.old, one.new) for one in judgement.renamed] == [(child.trace_id, "real")]
