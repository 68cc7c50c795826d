"""Segment credit as a short table and as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from otel_stall.baseline import Baseline
from otel_stall.credit import SegmentCredit, credit
from otel_stall.findings import ConversationAnalysis
from otel_stall.report.printable import printable

__all__ = ["HEADING", "Credits"]

HEADING = "Credit of the segments between milestones:"
LISTED = 50
"""Rows of the table."""

_NAME = 40
_COLUMNS = ("conversation", "segment", "steps", "return", "advantage")


@dataclass(frozen=True, slots=True)
class Credits:
    """Shows the credit of lanes against a baseline; without one advantages are unknown."""

    baseline: Baseline | None = None

    def lines(self, lanes: Sequence[ConversationAnalysis]) -> list[str]:
        """Return one line per segment under a line of names; an advantage that is not known is a dash.

        The steps after the last milestone are a segment too, marked as open; they return 0.
        """
        rows = [_cells(lane, one) for lane in lanes for run in lane.runs for one in credit(run, self.baseline)]
        if not rows:
            return []
        text = _aligned([_COLUMNS, *rows[:LISTED]])
        if len(rows) > LISTED:
            text.append(f"and {len(rows) - LISTED} more segments; --format json lists them all")
        if self.baseline is None:
            text.append("advantages are told against a baseline: --baseline FILE")
        return text

    def document(self, lane: ConversationAnalysis) -> list[dict[str, object]]:
        """Return the credit of a lane as plain values, run by run; return and advantage are means per step."""
        return [_plain(one) for run in lane.runs for one in credit(run, self.baseline)]


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in table) for column in range(len(_COLUMNS))]
    return [
        "  ".join(cell.rjust(width) if column else cell.ljust(width) for column, (cell, width) in enumerate(pairs))
        for pairs in (zip(row, widths, strict=True) for row in table)
    ]


def _cells(lane: ConversationAnalysis, one: SegmentCredit) -> tuple[str, ...]:
    name = printable(lane.conversation, _NAME)
    return (
        name if lane.lane in ("main", lane.agent) else f"{name} {printable(lane.lane, _NAME)}",
        f"{one.segment}" if one.closed else f"{one.segment} open",
        f"{one.steps}",
        f"{one.mean_return:.3f}",
        "-" if one.advantage is None else f"{one.advantage:+.3f}",
    )


def _plain(one: SegmentCredit) -> dict[str, object]:
    return {
        "run": one.run_id,
        "segment": one.segment,
        "closed": one.closed,
        "steps": one.steps,
        "return": round(one.mean_return, 6),
        "advantage": None if one.advantage is None else round(one.advantage, 6),
    }
