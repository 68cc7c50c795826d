"""Alarms against marks: precision and recall of runs and intervals, and how late an alarm came."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from recorded import Alarm, Mark

__all__ = ["Score", "score", "step_limit"]

Key = tuple[str, str]


@dataclass(slots=True)
class Score:
    """Counts over runs: found, false and missed ones, and the same for intervals; delays in steps."""

    found: int = 0
    false: int = 0
    missed: int = 0
    healthy: int = 0
    alarms: int = 0
    right: int = 0
    marks: int = 0
    seen: int = 0
    delays: list[int] = field(default_factory=list)

    @property
    def delay(self) -> tuple[float, float] | None:
        """Median and 90th percentile of detected step less the step of the reader's notice."""
        if not self.delays:
            return None
        ordered = sorted(self.delays)
        return statistics.median(ordered), ordered[int(0.9 * (len(ordered) - 1))]


def score(marks: Mapping[Key, Sequence[Mark]], alarms: Mapping[Key, Sequence[Alarm]]) -> Score:
    """Return the score over the runs that have marks or were read and have none.

    A run is stalled where any reader is sure; runs with unsure marks alone are left out. An alarm is right when
    it overlaps a mark, and a sure mark is seen when an alarm overlaps it.
    """
    total = Score()
    for key, marked in marks.items():
        sure = [mark for mark in marked if mark.sure]
        if marked and not sure:
            continue
        raised = alarms.get(key, ())
        total.found += bool(sure) and bool(raised)
        total.missed += bool(sure) and not raised
        total.false += not sure and bool(raised)
        total.healthy += not sure and not raised
        total.alarms += len(raised)
        total.right += sum(any(_overlap(alarm, mark) for mark in marked) for alarm in raised)
        for mark in sure:
            hits = [alarm for alarm in raised if _overlap(alarm, mark)]
            total.marks += 1
            total.seen += bool(hits)
            total.delays += [min(alarm.detected for alarm in hits) - mark.notice] if hits else []
    return total


def _overlap(alarm: Alarm, mark: Mark) -> bool:
    return alarm.first <= mark.last and mark.first <= alarm.last


def step_limit(marks: Mapping[Key, Sequence[Mark]], steps: Mapping[Key, int], false: int) -> int:
    """Return the limit on steps that flags so many of the runs without any mark."""
    healthy = sorted((steps[key] for key, marked in marks.items() if not marked), reverse=True)
    return healthy[false] if false < len(healthy) else 0
