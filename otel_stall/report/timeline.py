"""The course of a lane drawn in letters: a mark per step, milestones, cuts at compactions, stalls, dry streaks.

step         1          11
gain         IIS.VM.... |..........
no_gradient        ====n|nnrrrrr...
dry               ------|--------18
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

from otel_stall.findings import Cut, StepDetail
from otel_stall.report.cells import Screen, wrapped
from otel_stall.report.table import LEVEL_STYLES
from otel_stall.timeline import Band, Timeline
from otel_stall.verdicts import Gain, Kind, Level

__all__ = ["drawn"]

_GUTTER: Final = max(len(kind.value) for kind in Kind) + 2
_TEN: Final = 10
_PIPE: Final = 120
"""Columns of a drawing that goes into a pipe."""

_GAINS: Final = {
    Gain.MILESTONE: ("M", "green"),
    Gain.VERIFICATION: ("V", "green"),
    Gain.STATE: ("S", "cyan"),
    Gain.INFORMATION: ("I", "cyan"),
    Gain.NONE: (".", ""),
    Gain.NEUTRAL: ("~", "dim"),
}
_LEVELS: Final = {None: "=", Level.NOTICE: "n", Level.REPLAN: "r", Level.ASK_USER: "u", Level.ABANDON: "x"}
_UNTOLD: Final = "before it was told"
_CUTS: Final = {False: ("|", "compaction"), True: (":", "compaction, inferred")}
_FLAGS: Final = {True: ("*", "milestone"), False: ("o", "declared only")}

_Cell = StepDetail | Cut | None
"""A step, a cut, or the gap after ten steps."""
_Ink = tuple[str, str]
"""A character and its style."""
_BLANK: Final = (" ", "")


@dataclass(frozen=True, slots=True)
class _Sheet:
    """What is looked up for every cell: flags by their step, the steps that are numbered, the dry streak that follows
    each step, and the bands of each row.
    """

    flags: Mapping[int, bool]
    numbered: frozenset[int]
    following: Mapping[int, int]
    rows: Sequence[tuple[Kind, Sequence[Band]]]

    @classmethod
    def of(cls, course: Timeline) -> _Sheet:
        marks = course.marks
        flags: dict[int, bool] = {}
        for flag in course.flags:
            step = max(flag.step, marks[0].step)
            flags[step] = flags.get(step, False) or flag.counts
        by_row = sorted(course.bands, key=lambda band: (band.row, band.kind))
        return cls(
            flags,
            frozenset(mark.step for mark in marks[::_TEN]),
            {one.step: other.dry for one, other in pairwise(marks)},
            [(kind, list(bands)) for (_, kind), bands in groupby(by_row, key=lambda band: (band.row, band.kind))],
        )


def drawn(course: Timeline, screen: Screen) -> Iterator[str]:
    """Yield the drawing for a screen: blocks of rows, as many steps in each as there is room for, then the legend."""
    if not course.marks:
        return
    width = _PIPE if screen.width is None else screen.width
    gutter = min(_GUTTER, max(width // 3, 1))
    sheet = _Sheet.of(course)
    for block in _blocks(course, max(width - gutter, 1)):
        for label, inks in _rows(sheet, block):
            yield _line(label, inks, gutter, screen)
        yield ""
    for line in _legend(course):
        yield from wrapped(line, screen.width, 2)


def _blocks(course: Timeline, room: int) -> Iterator[list[_Cell]]:
    """Yield the cells of one block of rows after the other; tens stay together where they have room."""
    block: list[_Cell] = []
    for group in _tens(course):
        if block and len(block) + 1 + len(group) > room:
            yield block
            block = []
        block = [*block, None, *group] if block else group
        while len(block) > room:
            yield block[:room]
            block = block[room:]
    if block:
        yield block


def _tens(course: Timeline) -> Iterator[list[_Cell]]:
    """Yield the steps by tens, each after the cuts before it; what is cut after the last one ends it."""
    cuts = [next(alike) for _, alike in groupby(course.cuts, key=lambda cut: cut.step)]
    group: list[_Cell] = []
    for index, mark in enumerate(course.marks):
        if index and index % _TEN == 0:
            yield group
            group = []
        while cuts and cuts[0].step < mark.step:
            group.append(cuts.pop(0))
        group.append(mark)
    yield [*group, *cuts[:1]]


def _rows(sheet: _Sheet, block: Sequence[_Cell]) -> Iterator[tuple[str, list[_Ink]]]:
    yield "step", _ruler(sheet, block)
    yield from _present("milestone", [_flag(sheet, cell) for cell in block], block)
    yield "gain", [_cut(cell) or _gain(cell) for cell in block]
    steps = [cell.step for cell in block if isinstance(cell, StepDetail)]
    for kind, lying in sheet.rows:
        bands = [band for band in lying if steps and band.first <= steps[-1] and band.last >= steps[0]]
        yield from _present(kind.value, [_level(bands, cell) for cell in block], block)
    yield from _present("dry", _dry(sheet, block), block)


def _present(label: str, inks: list[_Ink], block: Sequence[_Cell]) -> Iterator[tuple[str, list[_Ink]]]:
    """Yield a row with its cuts where there is something in it."""
    if any(character != " " for character, _ in inks):
        yield label, [_cut(cell) or ink for cell, ink in zip(block, inks, strict=True)]


def _ruler(sheet: _Sheet, block: Sequence[_Cell]) -> list[_Ink]:
    """Return the number of each tenth step, and of the first in the block, above it."""
    inks = [_cut(cell) or _BLANK for cell in block]
    steps = [(at, cell.step) for at, cell in enumerate(block) if isinstance(cell, StepDetail)]
    free = 0
    for at, step in steps:
        end = at + len(str(step))
        if (step in sheet.numbered or at == steps[0][0]) and free <= at and end <= len(block):
            inks[at:end] = [(digit, "dim") for digit in str(step)]
            free = end + 1
    return inks


def _cut(cell: _Cell) -> _Ink | None:
    return (_CUTS[cell.inferred][0], "yellow") if isinstance(cell, Cut) else None


def _gain(cell: _Cell) -> _Ink:
    return _GAINS[cell.gain] if isinstance(cell, StepDetail) else _BLANK


def _flag(sheet: _Sheet, cell: _Cell) -> _Ink:
    counts = sheet.flags.get(cell.step) if isinstance(cell, StepDetail) else None
    return _BLANK if counts is None else (_FLAGS[counts][0], "green")


def _level(bands: Sequence[Band], cell: _Cell) -> _Ink:
    if isinstance(cell, StepDetail):
        for band in bands:
            if phase := band.phase(cell.step):
                return _LEVELS[phase.level], LEVEL_STYLES[phase.level] if phase.level else "dim"
    return _BLANK


def _dry(sheet: _Sheet, block: Sequence[_Cell]) -> list[_Ink]:
    """Return the streaks of steps without gain, each with its length at its end, or at that of the block."""
    inks = [_BLANK] * len(block)
    last = max((at for at, cell in enumerate(block) if isinstance(cell, StepDetail)), default=0)
    for at, cell in enumerate(block):
        if not isinstance(cell, StepDetail) or not cell.dry:
            continue
        inks[at] = ("-", "")
        if at == last or sheet.following.get(cell.step, 0) < cell.dry:
            number = str(cell.dry) if len(str(cell.dry)) <= at + 1 else "+"
            inks[at + 1 - len(number) : at + 1] = [(digit, "") for digit in number]
    return inks


def _line(label: str, inks: Sequence[_Ink], gutter: int, screen: Screen) -> str:
    text = "".join(character for character, _ in inks).rstrip()
    runs = groupby(inks[: len(text)], key=lambda ink: ink[1])
    drawing = "".join(screen.styled("".join(character for character, _ in run), style) for style, run in runs)
    return f"{label[: gutter - 1]:{gutter}}{drawing}".rstrip()


def _legend(course: Timeline) -> Iterator[str]:
    """Yield what each sign in the drawing means; no more than are there."""
    gains = {mark.gain for mark in course.marks}
    yield "gain: " + ", ".join(f"{sign} {gain.value}" for gain, (sign, _) in _GAINS.items() if gain in gains)
    levels = {phase.level for band in course.bands for phase in band.phases}
    if levels:
        told = (f"{sign} {level.value if level else _UNTOLD}" for level, sign in _LEVELS.items() if level in levels)
        yield "stalls: " + ", ".join(told)
    counts, inferred = {flag.counts for flag in course.flags}, {cut.inferred for cut in course.cuts}
    others = [f"{sign} {meaning}" for key, (sign, meaning) in _FLAGS.items() if key in counts]
    others += [f"{sign} {meaning}" for key, (sign, meaning) in _CUTS.items() if key in inferred]
    others += ["dry: steps without gain"] if any(mark.dry for mark in course.marks) else []
    if others:
        yield ", ".join(others)
