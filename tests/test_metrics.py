"""Rules of `metrics`: what is recorded of verdicts and of the processor, and what never is."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from threading import Thread

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader, NumberDataPoint

from otel_stall import attributes as names
from otel_stall.bounded import MEMORIES
from otel_stall.judge import Census
from otel_stall.metrics import OTHER, NoOpStallMetrics, StallMetrics, create_stall_metrics
from otel_stall.observations import Compaction
from otel_stall.verdicts import (
    Change,
    Changed,
    EndReason,
    Evidence,
    Gain,
    Judged,
    Kind,
    Level,
    Milestone,
    Stall,
    Verdict,
)

Point = tuple[str, dict[str, object], float]

STALL = Stall(1, Kind.LOOP, 3, 5, 5, ((Level.NOTICE, 5),), tokens=100)
OUTSIDE = Verdict(1, True, Gain.INFORMATION, "unseen_content", 0, 1, 0, 0, 0, 0)
INSIDE = replace(OUTSIDE, step=5, gain=Gain.NONE, stall=STALL)


def judged(verdict: Verdict, agent: str = "coder", conversation: str = "secret-conversation") -> Judged:
    return Judged(conversation, "main", agent, "shop", "", "", Compaction(""), verdict)


class Meters:
    """A meter provider, and what it collected."""

    def __init__(self) -> None:
        self.reader = InMemoryMetricReader()
        self.provider = MeterProvider([self.reader], shutdown_on_exit=False)

    def points(self) -> list[Point]:
        """Return name, attributes and value of each point, a histogram's being its sum."""
        data = self.reader.get_metrics_data()
        found: list[Point] = []
        for resource in data.resource_metrics if data else ():
            for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
                for point in metric.data.data_points:
                    value = point.value if isinstance(point, NumberDataPoint) else point.sum
                    found.append((metric.name, dict(point.attributes or {}), value))
        return found

    def of(self, name: str) -> list[Point]:
        return [point for point in self.points() if point[0] == name]


@pytest.fixture
def meters() -> Iterator[Meters]:
    made = Meters()
    yield made
    made.provider.shutdown()


def metrics(meters: Meters, census: Census = Census(), values: int = 100) -> StallMetrics:  # noqa: B008 # frozen
    return create_stall_metrics(meters.provider, lambda: census, values=values)


def test_a_run_that_stalls(meters: Meters) -> None:
    """Steps, the stall's start, its steps, tokens and length, and the segment: each is counted where it happens."""
    recorded = metrics(
        meters, Census(conversations=3, active=1, evictions=2, late_steps=4, skipped=5, forgotten={"open_spans": 6})
    )
    more = replace(STALL, last_step=6, tokens=150, levels=((Level.NOTICE, 5), (Level.REPLAN, 6)))
    over = replace(more, ended=EndReason.MILESTONE)
    reached = Milestone(7, "tests", Evidence.OBSERVED, 7)
    for verdict in (
        OUTSIDE,
        replace(INSIDE, stalled_tokens=100, changes=(Changed(Change.STARTED, 5, STALL),)),
        replace(INSIDE, step=6, stall=more, stalled_tokens=50, changes=(Changed(Change.ESCALATED, 6, more),)),
        replace(
            OUTSIDE,
            step=7,
            gain=Gain.MILESTONE,
            changes=(Changed(Change.MILESTONE_REACHED, 7, milestone=reached), Changed(Change.ENDED, 7, over)),
        ),
    ):
        recorded.judged(judged(verdict), "repair")
    recorded.ran(0.25)
    recorded.failed()

    whose = {"gen_ai.agent.name": "coder", "stall.task.class": "repair"}
    notice, replan = ({**whose, "stall.kind": "loop", "stall.level": level} for level in ("notice", "replan"))
    assert sorted(meters.points(), key=repr) == sorted(
        [
            ("stall.steps", {**whose, "stall.gain.type": "information"}, 1),
            ("stall.steps", {**whose, "stall.gain.type": "none"}, 2),
            ("stall.steps", {**whose, "stall.gain.type": "milestone"}, 1),
            ("stall.starts", {**whose, "stall.kind": "loop"}, 1),
            ("stall.stalled_steps", notice, 1),
            ("stall.stalled_steps", replan, 1),
            ("stall.stalled_tokens", notice, 100),
            ("stall.stalled_tokens", replan, 50),
            ("stall.segment.length", whose, 7),
            ("stall.duration", replan, 4),
            ("stall.active", {}, 1),
            ("stall.conversations", {}, 3),
            ("stall.evictions", {}, 2),
            ("stall.late_steps", {}, 4),
            ("stall.processor.duration", {}, 0.25),
            ("stall.processor.errors", {}, 1),
            ("stall.processor.skipped", {}, 5),
            *(
                ("stall.processor.forgotten", {"memory": memory}, 6 if memory == "open_spans" else 0)
                for memory in MEMORIES
            ),
        ],
        key=repr,
    )
    written = {name.key for name in names.names("metric") if not name.key.startswith("stall.gateway.")}
    assert {name for name, _, _ in meters.points()} == written


def test_no_conversation_is_named(meters: Meters) -> None:
    """Whatever happens, no attribute holds the conversation's id."""
    recorded = metrics(meters)
    recorded.judged(judged(replace(INSIDE, changes=(Changed(Change.STARTED, 5, STALL),))))
    assert "secret" not in repr(meters.points())


def test_agents_are_capped(meters: Meters) -> None:
    """So many agents are told apart; all further ones are `_other`, and the known ones go on as they were."""
    recorded = metrics(meters, values=2)
    for agent in ("a", "b", "c", "d", "a"):
        recorded.judged(judged(OUTSIDE, agent))
    found = {attributes["gen_ai.agent.name"]: value for _, attributes, value in meters.of("stall.steps")}
    assert found == {"a": 2, "b": 1, "_other": 2}


def test_hostile_names(meters: Meters) -> None:
    """A name is cut and made fit for export; a step without an agent has no such attribute."""
    recorded = metrics(meters)
    recorded.judged(judged(OUTSIDE, "x" * 1_000))
    recorded.judged(judged(OUTSIDE, "\ud800"))
    recorded.judged(judged(OUTSIDE, ""))
    agents = sorted(str(attributes.get("gen_ai.agent.name")) for _, attributes, _ in meters.of("stall.steps"))
    assert agents == ["?", "None", "x" * 119 + "…"]


def test_what_is_no_step(meters: Meters) -> None:
    """A stall that a compaction opens starts, and is no step; a declared milestone closes no segment."""
    recorded = metrics(meters)
    declared = Changed(Change.MILESTONE_REACHED, 5, milestone=Milestone(5, "done", Evidence.DECLARED, 5))
    changes = (Changed(Change.STARTED, 5, replace(STALL, tokens=None)), declared)
    recorded.judged(judged(replace(INSIDE, counted=False, stall=replace(STALL, tokens=None), changes=changes)))
    told = {name for name, _, value in meters.points() if value}
    assert told == {"stall.starts"}


def test_buckets_are_steps(meters: Meters) -> None:
    """Lengths fall into buckets of steps, not the defaults that are made for milliseconds."""
    reached = Changed(Change.MILESTONE_REACHED, 7, milestone=Milestone(7, "t", Evidence.OBSERVED, 7))
    metrics(meters).judged(judged(replace(OUTSIDE, changes=(reached,))))
    data = meters.reader.get_metrics_data()
    assert data is not None
    scopes = data.resource_metrics[0].scope_metrics
    (found,) = [m for scope in scopes for m in scope.metrics if m.name == "stall.segment.length"]
    (point,) = found.data.data_points
    assert isinstance(point, HistogramDataPoint)
    assert point.explicit_bounds == (1, 2, 5, 10, 20, 50, 100, 200, 500)


def test_a_processor_that_is_gone(meters: Meters) -> None:
    """The meter keeps no processor alive: when it is gone, its gauges report nothing."""

    class Owner:
        def census(self) -> Census:
            return Census(1, 1, 1, 1)

    owner = Owner()
    recorded = create_stall_metrics(meters.provider, owner.census)
    assert len(meters.of("stall.active")) == 1
    del owner
    gc.collect()
    assert meters.of("stall.active") == []
    recorded.failed()


def test_switched_off(meters: Meters) -> None:
    """Switched off nothing is recorded, and no instrument is made."""
    off = create_stall_metrics(meters.provider, Census, enabled=False)
    assert isinstance(off, NoOpStallMetrics)
    off.judged(judged(INSIDE))
    off.ran(1)
    off.failed()
    assert meters.points() == []


class TestSeries:
    def test_of_names_at_random(self) -> None:
        """However many agents and task classes a host names, on however many threads, the series are few."""
        meters, values = Meters(), 5
        metrics = create_stall_metrics(meters.provider, lambda: None, values=values)

        def name_many(seed: int) -> None:
            source = Random(seed)
            for _ in range(400):
                agent, task_class = (f"{source.randrange(300)}" for _ in range(2))
                metrics.judged(judged(source.choice((OUTSIDE, INSIDE)), agent), task_class)

        threads = [Thread(target=name_many, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        points = [attributes for name, attributes, _ in meters.points() if name == "stall.stalled_steps"]
        pairs = {(each["gen_ai.agent.name"], each["stall.task.class"]) for each in points}
        known = {pair for pair in pairs if OTHER not in pair}

        assert len({agent for agent, _ in pairs}) <= values + 1
        assert len({task_class for _, task_class in pairs}) <= values + 1
        assert len(known) <= 4 * values
        assert len(pairs) <= 4 * values + 2 * (values + 1)

    def test_pairs_are_capped_where_names_are_few(self) -> None:
        """Ten agents with ten classes each make no hundred pairs where forty are told apart."""
        meters = Meters()
        metrics = create_stall_metrics(meters.provider, lambda: None, values=10)
        for agent in range(10):
            for task_class in range(10):
                metrics.judged(judged(OUTSIDE, f"agent {agent}"), f"class {task_class}")
        found = [attributes["stall.task.class"] for _, attributes, _ in meters.points()]

        assert len([one for one in found if one != OTHER]) == 40
        assert found.count(OTHER) == 6
