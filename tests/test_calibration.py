"""From runs that went well to the limit that the next one keeps."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_stall.baseline import Group, SegmentMean
from otel_stall.calibration import FLOOR, Calibration, Label, calibrate, conformal, least_tasks
from otel_stall.runs import Run


def run(number: int, distance: int = 10, **fields: object) -> Run:
    plain = Run(f"c{number}", "main", "coder", outcome="success", task_id=f"t{number}", steps=distance)
    return replace(plain, distance=distance, tail=distance, **fields)  # type: ignore[arg-type]  # fields of mixed types


def only(found: Calibration) -> Group:
    (group,) = found.baseline.groups
    return group


class TestConformal:
    @pytest.mark.parametrize(("alpha", "least"), [(0.1, 9), (0.05, 19), (0.01, 99)])
    def test_too_few_have_no_line(self, alpha: float, least: int) -> None:
        """Below 1/alpha - 1 values no line holds; from there on the largest, and later a smaller one, does."""
        assert least_tasks(alpha) == least
        assert conformal(range(least - 1), alpha) is None
        assert conformal(range(least), alpha) == least - 1
        assert conformal(range(2 * least + 1), alpha) == 2 * least - 1

    @given(st.lists(st.integers(0, 60), min_size=2, max_size=90), st.sampled_from([0.05, 0.1, 0.2]))
    def test_covers_in_every_sample(self, values: list[int], alpha: float) -> None:
        """Of any values, at most the share alpha lies beyond the line that the others draw."""
        beyond = 0
        for index, value in enumerate(values):
            line = conformal(values[:index] + values[index + 1 :], alpha)
            beyond += line is not None and value > line

        assert beyond <= alpha * len(values)

    def test_covers_new_runs(self) -> None:
        """Simulated: over many baselines of 25 tasks, about one good run in 26 lies beyond, and never above 5 %."""
        chance = random.Random(7)
        draws = [[round(chance.lognormvariate(3, 0.8), 6) for _ in range(26)] for _ in range(4_000)]

        beyond = sum(new > (conformal(known) or 0) for *known, new in draws) / len(draws)  # type: ignore[arg-type]  # any ordered values do

        assert beyond == pytest.approx(1 / 26, abs=0.01)


class TestLimit:
    def test_is_provisional_below_19(self) -> None:
        """With 18 tasks the limit is the largest distance, never below the default."""
        small, large = ([run(n, n + add) for n in range(1, 19)] for add in (0, 40))

        assert [only(calibrate(runs)) for runs in (small, large)] == [
            replace(only(calibrate(small)), runs=18, tasks=18, limit=FLOOR, provisional=True),
            replace(only(calibrate(large)), runs=18, tasks=18, limit=58, provisional=True),
        ]

    def test_is_the_quantile_from_19_on(self) -> None:
        """With 19 tasks it is the largest of them, with 39 the second largest, however small."""
        found = [only(calibrate([run(n, n + 1) for n in range(count)])) for count in (19, 39)]

        assert [(one.limit, one.provisional) for one in found] == [(19, False), (38, False)]

    def test_one_run_per_task(self) -> None:
        """Thirty runs of one task are one task, and the limit provisional: the largest of all thirty."""
        found = only(calibrate([run(n, 2 * n, task_id="same") for n in range(1, 31)]))

        assert (found.runs, found.tasks, found.limit, found.provisional) == (30, 1, 60, True)

    def test_the_run_of_a_task_is_chosen_blindly(self) -> None:
        """Which run stands for its task does not depend on how it went."""
        good = [run(n, 100 + n) for n in range(18)]
        first, second = [run(18, 1, task_id="same"), run(19, 1, task_id="same")]

        limits = {
            only(calibrate([*good, replace(first, distance=one), replace(second, distance=two)])).limit
            for one, two in ((500, 900), (900, 500))
        }

        assert limits == {500, 900}

    def test_only_successes_count(self) -> None:
        """What failed, is not known or is missing spans says nothing about what is normal."""
        others = [run(50, 900, outcome="failure"), run(51, 900, outcome=""), run(52, 900, partial=True)]

        found = calibrate([*(run(n, 20) for n in range(19)), *others])

        assert (only(found).limit, found.runs, found.successful) == (20, 22, 19)
        assert (found.no_outcome, found.partial) == (1, 1)

    def test_by_class_of_task_and_over_all(self) -> None:
        """A class has its own limit, and the agent one over all its runs for classes nobody saw."""
        runs = [run(n, 10, task_class="repair") for n in range(19)] + [run(n, 50) for n in range(19, 38)]

        found = calibrate(runs).baseline

        assert [(one.task_class, one.tasks, one.limit) for one in found.groups] == [(None, 38, 50), ("repair", 19, 10)]

    def test_lanes_of_one_agent_are_one_run(self) -> None:
        """Where an agent ran twice side by side, the lane that went farthest stands for the run."""
        lanes = [run(1, 10), replace(run(1, 90), lane="main#2"), replace(run(1, 70), lane="sub", agent="helper")]

        found = calibrate(lanes).baseline

        assert [(one.agent, one.runs, one.limit) for one in found.groups] == [("coder", 1, 90), ("helper", 1, 70)]

    @given(st.randoms(use_true_random=False))
    def test_order_makes_no_difference(self, chance: random.Random) -> None:
        """The same runs in another order give the same baseline and the same report."""
        runs = [run(n, n, task_id=f"t{n % 23}", task_class="ab"[n % 2], segments=(1, n)) for n in range(1, 40)]
        shuffled = list(runs)
        chance.shuffle(shuffled)

        assert calibrate(shuffled) == calibrate(runs)

    @given(st.lists(st.integers(1, 80), min_size=1, max_size=45), st.integers(0, 44), st.integers(1, 50))
    def test_a_longer_run_never_lowers_the_limit(self, distances: list[int], at: int, more: int) -> None:
        """A good run that went farther makes more normal, not less."""
        runs = [run(n, distance) for n, distance in enumerate(distances)]
        longer = [replace(one, distance=one.distance + more) if n == at else one for n, one in enumerate(runs)]

        assert only(calibrate(longer)).limit >= only(calibrate(runs)).limit


class TestLabels:
    def test_win_over_the_traces(self) -> None:
        """What a user knows replaces what spans say, and leaves what it does not name."""
        labels = {"c1": Label("failure"), "c2": Label("success", "task", "class"), "gone": Label("success")}

        found = calibrate([run(1, 90), run(2, 40, outcome="failure"), run(3, 35)], labels)

        assert [(one.task_class, one.runs, one.limit) for one in found.baseline.groups] == [
            (None, 2, 40),
            ("class", 1, 40),
        ]
        assert found.unmatched == 1


class TestUnknown:
    def test_is_counted(self) -> None:
        """Runs without task or agent, and groups whose good runs verified nothing, are told."""
        runs = [run(1, task_id=""), run(2, agent=""), run(3, segments=(4,))]

        found = calibrate(runs)

        assert (found.no_task, found.no_agent) == (1, 1)
        assert found.no_milestone == {("coder", None): 1, ("", None): 1}

    def test_runs_without_steps_are_none(self) -> None:
        """An agent that called nothing says nothing about distances."""
        assert calibrate([run(1, 0)]).baseline.groups == ()


def test_means_by_hand() -> None:
    """Means are over all steps of that index, of failed runs and of tails, which return nothing, too."""
    runs = [run(1, 1, segments=(2, 1)), run(2, 4, outcome="failure")]

    assert only(calibrate(runs)).segments == (
        SegmentMean(1, 6, 1.95 / 6),
        SegmentMean(2, 1, 1.0),
        SegmentMean(3, 1, 0.0),
    )
