"""The course of one lane, to be drawn: a mark per step, flags of milestones, cuts of compactions, bands of stalls.

Text and other forms of a report are drawn from these values alone. All are frozen, and nothing of the
contents of a call is among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from otel_stall.findings import ConversationAnalysis, Cut, StepDetail
from otel_stall.verdicts import EndReason, Kind, Level, Milestone, Stall

__all__ = ["Band", "Flag", "Phase", "Timeline", "timeline"]


@dataclass(frozen=True, slots=True)
class Flag:
    """A milestone at its step, 0 before the first; `counts` where it is verified, or was later."""

    step: int
    name: str
    counts: bool
    milestone: Milestone


@dataclass(frozen=True, slots=True)
class Phase:
    """The steps of a stall, both ends included, at one level; None before it was told."""

    level: Level | None
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Band:
    """The steps of a stall, both ends included, cut into phases; `row` is the first with room, from 0.

    Bands of one row have no step in common.
    """

    number: int
    kind: Kind
    first: int
    last: int
    row: int
    phases: tuple[Phase, ...]
    ended: EndReason | None
    stall: Stall

    def phase(self, step: int) -> Phase | None:
        """Return the phase that a step lies in, None outside of the band."""
        return next((phase for phase in self.phases if phase.first <= step <= phase.last), None)


@dataclass(frozen=True, slots=True)
class Timeline:
    """One lane in the order of its steps.

    `marks` are empty where the analysis kept no `details`. A cut lies between its step and the next one.
    """

    conversation: str
    lane: str
    marks: tuple[StepDetail, ...]
    flags: tuple[Flag, ...]
    cuts: tuple[Cut, ...]
    bands: tuple[Band, ...]

    @property
    def rows(self) -> int:
        """Rows that the bands take."""
        return max((band.row + 1 for band in self.bands), default=0)


def timeline(lane: ConversationAnalysis) -> Timeline:
    """Return the course of an analysed lane. Pure; total."""
    return Timeline(
        lane.conversation,
        lane.lane,
        marks=lane.details,
        flags=tuple(_flag(milestone) for milestone in sorted(lane.milestones, key=lambda one: one.step)),
        cuts=lane.cuts,
        bands=tuple(_bands(lane.stalls)),
    )


def _flag(milestone: Milestone) -> Flag:
    counts = milestone.evidence.verified or milestone.confirmed_at is not None
    return Flag(milestone.step, milestone.name, counts, milestone)


def _bands(stalls: Sequence[Stall]) -> Iterator[Band]:
    """Yield the bands by their first step, each in the first row that is free there."""
    free: list[int] = []
    for stall in sorted(stalls, key=lambda one: (one.first_step, one.number)):
        last = max(stall.first_step, stall.last_step)
        row = next((index for index, taken in enumerate(free) if taken < stall.first_step), len(free))
        free[row : row + 1] = [last]
        phases = tuple(_phases(stall, last))
        yield Band(stall.number, stall.kind, stall.first_step, last, row, phases, stall.ended, stall)


def _phases(stall: Stall, last: int) -> Iterator[Phase]:
    """Yield the steps before the stall was told, then those at each level; a level is never taken back."""
    level: Level | None = None
    first = stall.first_step
    for reached, step in sorted(stall.levels, key=lambda one: one[1]):
        if level is not None and reached.rank <= level.rank:
            continue
        if first < step <= last:
            yield Phase(level, first, step - 1)
            first = step
        if step <= last:
            level = reached
    yield Phase(level, first, last)
