"""The table of conversations: those that cost most first, in the columns there is room for.

A lane is a row; `stalled` are its steps inside stalls out of all, `tokens` those spent inside, `milestones` the
verified ones and the steps since the last. On a terminal ids are shortened, and columns left out, where there
is no room for them; in a pipe every row is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich.cells import cell_len

from otel_stall.findings import ConversationAnalysis
from otel_stall.report.cells import Screen, left, right, wrapped
from otel_stall.report.lanes import lane_name
from otel_stall.report.numbers import brief
from otel_stall.report.printable import printable
from otel_stall.report.selection import shortened
from otel_stall.verdicts import Level, Stall

__all__ = ["LEVEL_STYLES", "LISTED", "dearest", "table", "worst"]

LISTED: Final = 20
"""Rows that are shown where not all are asked for."""

LEVEL_STYLES: Final = {Level.NOTICE: "yellow", Level.REPLAN: "yellow", Level.ASK_USER: "red", Level.ABANDON: "bold red"}
"""Colours of the levels; the word is always beside them."""

_NOTHING: Final = "-"
_UNKNOWN: Final = "?"
_AGENT: Final = 24
_NAME: Final = 60
_NARROW_ID: Final = 20
_NARROW_AGENT: Final = 6


@dataclass(frozen=True, slots=True)
class _Column:
    """One column; `least` is the width it can be shrunk to, `rank` says how soon it goes where room is short."""

    name: str
    cell: Callable[[ConversationAnalysis], str]
    align: Callable[[str, int], str] = left
    rank: int = 0
    width: int = 0
    least: int = 0

    def measured(self, lanes: Sequence[ConversationAnalysis]) -> _Column:
        width = max(cell_len(text) for text in (self.name, *map(self.cell, lanes)))
        return replace(self, width=width, least=width)


def table(lanes: Sequence[ConversationAnalysis], screen: Screen, *, whole: bool = False) -> list[str]:
    """Return the lines of the table, for the screen; `whole` shows every row, not `LISTED` of them."""
    rows = dearest(lanes)
    shown = rows if whole else rows[:LISTED]
    columns = _columns(shown, lanes, screen.width)
    gap = _gap(columns, screen.width)
    lines = [screen.styled(gap.join(column.align(column.name, column.width) for column in columns).rstrip(), "bold")]
    lines += [_row(lane, columns, gap, screen) for lane in shown]
    notes = list(_notes(columns, shown, len(rows) - len(shown)))
    return [*lines, *(line for note in notes for line in wrapped(note, screen.width))]


def dearest(lanes: Sequence[ConversationAnalysis]) -> list[ConversationAnalysis]:
    """Return the lanes, those first whose stalls cost most tokens, or steps where not all have token counts."""
    counted = all(lane.stalled_tokens is not None for lane in lanes if lane.stalls)

    def cost(lane: ConversationAnalysis) -> tuple[int, int, int, int]:
        spent = (lane.stalled_tokens or 0) if counted else 0
        found = worst(lane)
        return spent, lane.stalled_steps, found.level.rank if found else -1, lane.steps

    return sorted(lanes, key=cost, reverse=True)


def worst(lane: ConversationAnalysis) -> Stall | None:
    """Return the stall of the highest level, of several the longest."""
    return max(lane.stalls, key=lambda stall: (stall.level.rank, stall.last_step - stall.first_step), default=None)


def _columns(
    shown: Sequence[ConversationAnalysis], lanes: Sequence[ConversationAnalysis], width: int | None
) -> list[_Column]:
    """Return the columns there is room for, each as wide as it will be."""
    columns = [column.measured(shown) for column in _COLUMNS]
    if all(lane_name(lane) == "" for lane in shown):
        columns.remove(next(column for column in columns if column.name == "agent"))
    if width is None:
        return columns
    ids = {lane.conversation for lane in lanes}
    short = shortened(ids, _NARROW_ID)
    columns = [_shrinkable(column, [short[lane.conversation] for lane in shown]) for column in columns]
    while len(columns) > 1 and _least(columns) > width:
        columns.remove(max(columns, key=lambda column: column.rank))
    columns = _spread(columns, width)
    names = shortened(ids, columns[0].width)
    return [replace(columns[0], cell=lambda lane: names[lane.conversation]), *columns[1:]]


def _shrinkable(column: _Column, ids: Sequence[str]) -> _Column:
    if column.name == "conversation":
        return replace(column, least=min(column.width, max(cell_len(text) for text in (column.name, *ids))))
    return replace(column, least=min(column.width, _NARROW_AGENT)) if column.name == "agent" else column


def _least(columns: Sequence[_Column]) -> int:
    return sum(column.least for column in columns) + len(columns) - 1


def _spread(columns: Sequence[_Column], width: int) -> list[_Column]:
    """Return the columns with the room that is left over: to the ids where it makes them whole, then to the names."""
    spare = max(width - _least(columns), 0)
    spread: list[_Column] = []
    for column in columns:
        wanted = column.width - column.least
        more = min(wanted, spare) if spread or wanted <= spare else 0
        spare -= more
        spread.append(replace(column, width=min(column.least + more, width)))
    return spread


def _gap(columns: Sequence[_Column], width: int | None) -> str:
    natural = sum(column.width for column in columns) + 2 * (len(columns) - 1)
    return "  " if width is None or natural <= width else " "


def _row(lane: ConversationAnalysis, columns: Sequence[_Column], gap: str, screen: Screen) -> str:
    cells = [(column, column.align(column.cell(lane), column.width)) for column in columns]
    last = len(cells) - 1
    found = worst(lane)
    style = LEVEL_STYLES[found.level] if found else ""
    return gap.join(
        screen.styled(text.rstrip() if index == last else text, style if column.name == "level" else "")
        for index, (column, text) in enumerate(cells)
    ).rstrip()


def _notes(columns: Sequence[_Column], shown: Sequence[ConversationAnalysis], more: int) -> Iterator[str]:
    if more > 0:
        yield f"and {more:,} more, which cost less; --all lists them too"
    if any(lane.stalls and lane.tokens is None for lane in shown) and any(one.name == "tokens" for one in columns):
        yield f"{_UNKNOWN}: the traces carry no token counts"


def _id(lane: ConversationAnalysis) -> str:
    return printable(lane.conversation)


def _agent(lane: ConversationAnalysis) -> str:
    return printable(lane_name(lane), _AGENT) or _NOTHING


def _milestones(lane: ConversationAnalysis) -> str:
    """Return how many are verified and how long ago the last was, in steps."""
    ago = lane.counters.steps_since_milestone
    return f"{brief(len(lane.verified))}, {brief(ago)} ago" if lane.verified else f"none in {brief(ago)}"


def _kind(lane: ConversationAnalysis) -> str:
    found = worst(lane)
    if found is None:
        return _NOTHING
    others = len(lane.stalls) - 1
    return f"{found.kind.value} +{min(others, 99)}" if others else found.kind.value


def _level(lane: ConversationAnalysis) -> str:
    found = worst(lane)
    return found.level.value if found else _NOTHING


def _tokens(lane: ConversationAnalysis) -> str:
    spent = lane.stalled_tokens
    return _NOTHING if not lane.stalls else _UNKNOWN if spent is None else brief(spent)


def _open(lane: ConversationAnalysis) -> str:
    return _NOTHING if not lane.stalls else "yes" if any(stall.ended is None for stall in lane.stalls) else "no"


_COLUMNS: Final = (
    _Column("conversation", _id),
    _Column("agent", _agent, rank=6),
    _Column("milestones", _milestones, rank=4),
    _Column("stall", _kind, rank=1),
    _Column("level", _level, rank=2),
    _Column("stalled", lambda lane: f"{brief(lane.stalled_steps)}/{brief(lane.steps)}", right, rank=3),
    _Column("tokens", _tokens, right, rank=5),
    _Column("open", _open, rank=3),
)
