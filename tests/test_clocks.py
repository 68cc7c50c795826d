"""Rules of `clocks`: a wrong time of one span moves no clock that other spans are measured by."""

from __future__ import annotations

from dataclasses import replace

import pytest

from otel_stall.analysis import analyze
from otel_stall.calls import Reading
from otel_stall.clocks import AHEAD_NS, SetClock, arrived, confirmed
from otel_stall.config import StallConfig
from otel_stall.conversations import Lane
from otel_stall.findings import Analysis
from otel_stall.journal import Entry
from otel_stall.judge import Judge
from otel_stall.monitor import Monitor
from otel_stall.observations import Observation
from otel_stall.spans import SpanView
from otel_stall.steps import observation
from otel_stall.testing import tool_reading, tool_view

NOW = 1_700_000_000 * 10**9
SECOND = 10**9
DAY = 86_400 * SECOND


def call(number: int, end_ns: int, conversation: str = "c") -> Reading:
    reading = tool_reading("read", {"a": number}, f"line {number}", number=number)
    return replace(reading, start_ns=end_ns - SECOND, end_ns=end_ns, conversation=conversation)


def agent(number: int, start_ns: int, end_ns: int) -> Reading:
    reading = replace(call(number, end_ns), record=None, agent="coder", is_agent=True)
    return replace(reading, start_ns=start_ns, trace_id=f"{number:032x}")


class TestArrived:
    @pytest.mark.parametrize("ahead", [-DAY, 0, AHEAD_NS])
    def test_clocks_differ(self, ahead: int) -> None:
        """The past, now, and another time zone are believed."""
        reading = call(1, NOW + ahead)
        assert arrived(reading, NOW) is reading

    def test_a_far_future_is_now(self) -> None:
        """What cannot have ended yet ends now, and begins no later."""
        assert (arrived(call(1, NOW * 1_000), NOW).start_ns, arrived(call(1, NOW * 1_000), NOW).end_ns) == (NOW, NOW)
        long = replace(call(1, NOW * 1_000), start_ns=NOW - DAY)
        assert (arrived(long, NOW).start_ns, arrived(long, NOW).end_ns) == (NOW - DAY, NOW)


@pytest.mark.parametrize(
    ("ends", "found"),
    [([], []), ([7], [7]), ([1, 2], [1, 1]), ([1, 2, 90, 91], [1, 2, 90, 90]), ([1, 2, 2], [1, 2, 2])],
)
def test_a_time_counts_once_another_span_has_reached_it(ends: list[int], found: list[int]) -> None:
    """Only the last one has none behind it."""
    assert list(confirmed(ends)) == found


class TestLive:
    def test_steps_after_one_from_the_future_are_not_late(self) -> None:
        """One span of another clock changes nothing for those after it."""
        judge = Judge(Monitor(), clock=lambda: NOW)
        judge.ended([call(1, NOW * 1_000)])
        judge.ended([call(number, NOW + number) for number in range(2, 6)])
        ((_, lane),) = list(judge.monitor.lanes)
        assert (lane.counters.step, lane.late, judge.monitor.late_steps) == (5, 0, 0)

    def test_a_host_in_another_time_zone_has_no_late_steps_beside_one_that_is_not(self) -> None:
        """Hours ahead is believed, and is no time that others must reach."""
        clock = SetClock(NOW)
        judge = Judge(Monitor(), clock=clock)
        for number in range(1, 6):
            clock.now_ns = NOW + number * SECOND
            judge.ended([call(number, clock.now_ns + (number % 2) * 8 * 3_600 * SECOND)])
        assert judge.monitor.late_steps == 0

    def test_an_agent_from_the_future_is_over(self) -> None:
        """A later invocation does not overlap it: it goes on with its lane."""
        judge = Judge(Monitor(), clock=lambda: NOW)
        judge.ended([agent(1, NOW - 9 * SECOND, NOW * 1_000)])
        step = replace(call(3, NOW + 4 * SECOND), parent_id=f"{2:016x}", trace_id=f"{2:032x}")
        judgements = judge.ended([step, agent(2, NOW + SECOND, NOW + 5 * SECOND)])
        assert [judged.lane for judged in judgements[0].judged] == ["coder"]

    def test_a_monitor_that_was_restored_goes_by_arrival_too(self) -> None:
        """Its owner gives it the clock: what a snapshot held is not idle because of one span."""
        before = Monitor()
        before.observe(call(1, NOW), "c", "main", "")
        monitor = Monitor()
        monitor.restore(before.snapshot())
        judge = Judge(monitor, clock=lambda: NOW + SECOND)
        judge.ended([call(2, NOW + 900 * DAY, "other"), call(3, NOW + SECOND)])
        assert [(key[0], lane.counters.step) for key, lane in monitor.lanes] == [("other", 1), ("c", 2)]

    def test_what_is_idle_goes_at_once(self) -> None:
        """However few spans came since a start or a restore."""
        clock = SetClock(NOW)
        judge = Judge(Monitor(StallConfig.create({"bounds": {"idle_seconds": 60}})), clock=clock)
        judge.ended([call(1, NOW)])
        clock.now_ns += 90 * SECOND
        judge.ended([call(2, clock.now_ns, "other")])
        assert [key[0] for key, _ in judge.monitor.lanes] == ["other"]


class TestReplay:
    def test_a_lane_that_was_told_for_days_goes_on(self) -> None:
        """It was never idle for long, however long ago it was saved whole."""
        monitor = Monitor()
        entries = [Entry(call(number, NOW), None, "", NOW + number * DAY // 2) for number in range(1, 9)]
        told = [replace(entry, observed=_observed(entry.reading)) for entry in entries]
        monitor.replay(("c", "main"), Lane(used_ns=NOW), [Entry.load(entry.dump()) for entry in told])
        judge = Judge(monitor, clock=lambda: NOW + 4 * DAY + SECOND)
        judge.ended([call(9, NOW + 4 * DAY)])
        assert [(lane.counters.step, lane.used_ns) for _, lane in monitor.lanes] == [(9, NOW + 4 * DAY + SECOND)]

    def test_the_one_used_last_is_the_last_to_fall_out(self) -> None:
        """In whatever order lanes are in the file."""
        judge = Judge(Monitor(StallConfig.create({"bounds": {"conversations": 2}})), clock=lambda: NOW)
        judge.adopt({(name, "main"): (Lane(used_ns=NOW - at), []) for name, at in (("a", 1), ("b", 2))}, {})
        judge.ended([call(1, NOW, "c")])
        assert [key[0] for key, _ in judge.monitor.lanes] == ["a", "c"]


def _observed(reading: Reading) -> Observation | None:
    return observation(reading, Monitor().rulings)


class TestAnalysis:
    def found(self, *ends: int) -> Analysis:
        return analyze([self.view(number, end) for number, end in enumerate(ends, 1)])

    def view(self, number: int, end_ns: int) -> SpanView:
        view = tool_view("read", {"a": number}, f"line {number}", number=number)
        return replace(view, start_ns=end_ns - 1, end_ns=end_ns, trace_id="a" * 32)

    def steps(self, analysis: Analysis) -> list[int]:
        return [lane.counters.steps_since_milestone for lane in analysis.conversations]

    def test_one_span_from_the_future_goes_on(self) -> None:
        """It is judged with what was known before it, not as the first step of a new run."""
        assert self.steps(self.found(NOW, NOW + SECOND, NOW * 1_000)) == [3]

    def test_a_conversation_that_goes_on_days_later_starts_anew(self) -> None:
        """Two spans say that it did, as live."""
        assert self.steps(self.found(NOW, NOW + SECOND, NOW + 3 * DAY, NOW + 3 * DAY + SECOND)) == [2]
