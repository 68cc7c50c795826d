"""The course of a lane: what is drawn where."""

from __future__ import annotations

from dataclasses import replace

from analysed import PLAIN
from hypothesis import given
from hypothesis import strategies as st

from otel_stall.findings import Cut
from otel_stall.timeline import Band, Phase, timeline
from otel_stall.verdicts import EndReason, Evidence, Kind, Level, Milestone, Stall

STALL = Stall(
    number=1,
    kind=Kind.NO_GRADIENT,
    first_step=3,
    detected_step=8,
    last_step=18,
    levels=((Level.NOTICE, 8), (Level.REPLAN, 14)),
)

stalls = st.builds(
    Stall,
    number=st.integers(1, 9),
    kind=st.sampled_from(Kind),
    first_step=st.integers(1, 30),
    detected_step=st.integers(1, 40),
    last_step=st.integers(0, 40),
    levels=st.lists(st.tuples(st.sampled_from(Level), st.integers(0, 45)), min_size=1, max_size=5).map(tuple),
    ended=st.none() | st.sampled_from(EndReason),
)


def bands(*found: Stall) -> tuple[Band, ...]:
    return timeline(replace(PLAIN, stalls=found)).bands


def test_a_band_has_a_phase_for_each_level() -> None:
    """Before it was told a stall has no level, then each from its step on."""
    (band,) = bands(STALL)
    assert (band.kind, band.first, band.last, band.row, band.ended) == (Kind.NO_GRADIENT, 3, 18, 0, None)
    assert band.phases == (Phase(None, 3, 7), Phase(Level.NOTICE, 8, 13), Phase(Level.REPLAN, 14, 18))
    assert band.phase(13) == Phase(Level.NOTICE, 8, 13)
    assert band.phase(19) is None


def test_a_stall_that_came_back_has_its_level_at_once() -> None:
    """A level that was reached before the first step holds from there."""
    (band,) = bands(replace(STALL, levels=((Level.REPLAN, 3), (Level.NOTICE, 8), (Level.ASK_USER, 18))))
    assert band.phases == (Phase(Level.REPLAN, 3, 17), Phase(Level.ASK_USER, 18, 18))


def test_bands_that_meet_are_in_rows_of_their_own() -> None:
    """Of two stalls over the same steps the later goes below; the next one has room above again."""
    later = replace(STALL, number=2, first_step=10, last_step=20)
    last = replace(STALL, number=3, first_step=19, last_step=24)
    assert [(band.number, band.row) for band in bands(last, STALL, later)] == [(1, 0), (2, 1), (3, 0)]
    assert timeline(replace(PLAIN, stalls=(STALL, later))).rows == 2
    assert timeline(PLAIN).rows == 0


@given(st.lists(stalls, max_size=6))
def test_phases_fill_their_band(found: list[Stall]) -> None:
    """Whatever the stalls, phases follow each other without a gap, levels rise, and no row has two bands in a step."""
    drawn = bands(*found)
    taken: set[tuple[int, int]] = set()
    for band in drawn:
        steps = [step for phase in band.phases for step in range(phase.first, phase.last + 1)]
        assert steps == list(range(band.first, band.last + 1))
        ranks = [phase.level.rank if phase.level else -1 for phase in band.phases]
        assert ranks == sorted(set(ranks))
        assert not taken & {(band.row, step) for step in steps}
        taken |= {(band.row, step) for step in steps}
    assert len(drawn) == len(found)


def test_flags_say_what_counts() -> None:
    """A declared milestone counts from when it was verified; flags stand in the order of their steps."""
    declared = Milestone(4, "said", Evidence.DECLARED, 2)
    reached = (
        Milestone(9, "tests", Evidence.OBSERVED, 5),
        declared,
        replace(declared, step=2, confirmed_at=9),
    )
    flags = timeline(replace(PLAIN, milestones=reached)).flags
    assert [(flag.step, flag.counts) for flag in flags] == [(2, True), (4, False), (9, True)]


def test_cuts_and_marks_are_those_of_the_lane() -> None:
    """Compactions stand after their step; without details there are no marks."""
    found = timeline(replace(PLAIN, cuts=(Cut(2), Cut(7, inferred=True))))
    assert (found.cuts, found.marks) == ((Cut(2), Cut(7, inferred=True)), ())
