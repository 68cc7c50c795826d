"""Rules of `monitor`: readings in, verdicts out, lane by lane."""

from __future__ import annotations

from dataclasses import replace

from acts import SECOND, Named, NewRun, bash, feed, readings, said

from otel_stall.calls import ModelCall
from otel_stall.config import BoundsConfig, StallConfig
from otel_stall.monitor import Monitor
from otel_stall.steps import observation
from otel_stall.verdicts import Judged

LIST = bash("ls", "a")


class TestObserve:
    def test_says_whose_step_it_was(self) -> None:
        """A judgement carries conversation, lane, agent, service and span beside the verdict."""
        reading = replace(readings([LIST])[0], service="shop")
        monitor = Monitor()
        (judged,) = monitor.observe(reading, "c-1", "main/helper", "helper")

        assert judged == Judged(
            conversation="c-1",
            lane="main/helper",
            agent="helper",
            service="shop",
            trace_id=f"{1:032x}",
            span_id=f"{1:016x}",
            observation=judged.observation,
            verdict=judged.verdict,
        )
        assert judged.observation == observation(reading)

    def test_an_empty_reading_makes_no_lane(self) -> None:
        """A span that holds nothing for the fold leaves no trace."""
        monitor = Monitor()

        assert monitor.observe(replace(readings([LIST])[0], record=None), "c", "main", "") == ()
        assert len(monitor.lanes) == 0

    def test_what_changes_nothing_is_not_said(self) -> None:
        """A model turn has a verdict only where it changes a stall, a milestone or the epoch."""
        assert feed(Monitor(), readings([said("a"), ModelCall()])) == []

    def test_marks_come_before_the_call(self) -> None:
        """A milestone named in an event of the span is reached before the span's own step."""
        (reading,) = readings([LIST])
        (marked,) = readings([Named("paid")])
        found = feed(Monitor(), [replace(reading, marks=marked.marks)])

        assert [(judged.verdict.counted, judged.verdict.milestone_count) for judged in found] == [(False, 1), (True, 1)]
        assert found[1].verdict.steps_since_milestone == 1

    def test_lanes_count_apart(self) -> None:
        """Two agents of one conversation have steps of their own."""
        monitor = Monitor()
        first, second, third = readings([LIST] * 3)
        found = [feed(monitor, [first], lane="a"), feed(monitor, [second], lane="b"), feed(monitor, [third], lane="a")]

        assert [judged.verdict.step for (judged,) in found] == [1, 1, 2]

    def test_an_unsampled_span_makes_its_lane_partial(self) -> None:
        """Once a part is missing, counts stay lower bounds."""
        first, second = readings([LIST] * 2)
        found = feed(Monitor(), [replace(first, sampled=False), second])

        assert [judged.partial for judged in found] == [True, True]


class TestRuns:
    def test_a_new_run_id_is_a_boundary(self) -> None:
        """The first run id begins nothing; another one begins a run before its own step."""
        found = feed(Monitor(), readings([LIST, LIST, NewRun(), LIST]))

        assert [judged.verdict.reason for judged in found] == ["unseen_content", "reread_unchanged", "unseen_content"]

    def test_an_agent_s_own_span_begins_none(self) -> None:
        """Roots end last: a root of the last run says nothing of the run that goes on."""
        first, second, third = readings([LIST] * 3, runs=False)
        root = replace(second, is_agent=True, run_id="old")
        found = feed(Monitor(), [replace(first, run_id="new"), root, replace(third, run_id="new")])

        assert [judged.verdict.reason for judged in found] == ["unseen_content", "reread_unchanged", "reread_unchanged"]

    def test_spans_without_run_id_go_on(self) -> None:
        """A missing run id is no other run."""
        first, second = readings([LIST] * 2, runs=False)
        found = feed(Monitor(), [replace(first, run_id="1"), second])

        assert found[1].verdict.reason == "reread_unchanged"


class TestRename:
    def test_steps_go_on_under_the_new_name(self) -> None:
        """A provisional conversation that gets its name is one conversation."""
        monitor = Monitor()
        first, second = readings([LIST] * 2)
        feed(monitor, [first], "trace")
        monitor.rename("trace", "c")

        assert [judged.verdict.step for judged in feed(monitor, [second], "c")] == [2]


class TestTime:
    def test_late_steps_are_counted(self) -> None:
        """A step that ends before one already folded; a late model turn is no step."""
        first, second, third = readings([LIST, said("a"), LIST])
        monitor = Monitor()
        feed(monitor, [third, second, first])

        assert monitor.late_steps == 1

    def test_idle_lanes_are_dropped(self) -> None:
        """In the time of the traces, whatever the clock says, and never the lane that is being used."""
        monitor = Monitor(StallConfig(bounds=BoundsConfig(idle_seconds=60)))
        (first,) = readings([LIST])
        feed(monitor, [first], "old")
        for number in range(1_100):
            later = replace(first, span_id=f"{number:016x}", end_ns=first.end_ns + (100 + number) * SECOND)
            assert feed(monitor, [later], f"new-{number // 500}")

        assert monitor.lanes.get(("old", "main")) is None
        assert monitor.lanes.get(("new-2", "main")) is not None
        assert monitor.lanes.evicted >= 2
