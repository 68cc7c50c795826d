"""Segment credit, by hand."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from otel_stall.calibration import calibrate
from otel_stall.credit import SegmentCredit, credit, mean_return
from otel_stall.runs import Run

REACHED = Run("a", "main", "coder", "r1", outcome="success", steps=3, distance=1, segments=(2,), tail=1)
STUCK = Run("b", "main", "coder", "r2", outcome="failure", steps=4, distance=4, tail=4)

RUNS = st.lists(
    st.builds(
        lambda segments, tail: Run("c", "main", "coder", steps=99, segments=tuple(segments), tail=tail),
        st.lists(st.integers(1, 30), max_size=4),
        st.integers(0, 30),
    ),
    min_size=1,
    max_size=6,
).map(
    lambda runs: [Run(f"c{i}", "main", "coder", steps=99, segments=r.segments, tail=r.tail) for i, r in enumerate(runs)]
)


def test_return_of_a_segment() -> None:
    """The step that reaches the milestone returns 1, the one before it .95, and so on: longer segments return less."""
    assert [round(mean_return(steps), 4) for steps in (1, 2, 5, 8)] == [1.0, 0.975, 0.9049, 0.8414]


def test_by_hand() -> None:
    """In segment 1 the six steps of both runs return 1 + .95 + 0 + 0 + 0 + 0, on average .325."""
    baseline = calibrate([REACHED, STUCK]).baseline

    listed = [*credit(REACHED, baseline), *credit(STUCK, baseline)]
    found = [replace(one, advantage=round(one.advantage or 0, 9)) for one in listed]

    assert found == [
        SegmentCredit("r1", 1, 2, True, 0.975, 0.65),
        SegmentCredit("r1", 2, 1, False, 0.0, 0.0),
        SegmentCredit("r2", 1, 4, False, 0.0, -0.325),
    ]


def test_without_a_baseline() -> None:
    """Returns need no baseline, advantages do; nor is there one for an agent or a segment it does not know."""
    other = Run("d", "main", "writer", steps=3, segments=(2,))
    further = Run("e", "main", "coder", steps=9, segments=(1, 1, 1))
    baseline = calibrate([REACHED, STUCK]).baseline

    found = [*credit(REACHED), *credit(other, baseline), *credit(further, baseline)[2:]]

    assert [one.mean_return for one in found] == [0.975, 0.0, 0.975, 1.0]
    assert {one.advantage for one in found} == {None}


@given(RUNS)
def test_advantages_of_the_baseline_itself_sum_to_nothing(runs: list[Run]) -> None:
    """Over the steps of the runs a baseline was made of, the advantages of each segment index cancel out."""
    baseline = calibrate(runs).baseline
    sums: dict[int, float] = {}
    for one in (one for run in runs for one in credit(run, baseline)):
        assert one.advantage is not None
        sums[one.segment] = sums.get(one.segment, 0.0) + one.steps * one.advantage

    assert all(abs(total) < 1e-9 for total in sums.values())
