"""Segment credit: which of a run's steps led to a verified milestone, and how directly.

Offline only, after BEACON (arXiv:2605.06078) as its published code has it: inside a segment that a
milestone closed a step returns gamma to the power of the steps that were still to go, and every step
after the last milestone returns 0; the advantage of a segment is its mean return less the mean over
all steps of the baseline's runs in the segment of the same index. Here the milestones are verified
ones and the reward of one is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from otel_stall.baseline import Baseline
from otel_stall.runs import Run

__all__ = ["GAMMA", "SegmentCredit", "credit", "mean_return"]

GAMMA: Final = 0.95
"""Discount per step; the value of the BEACON paper for all its environments."""


@dataclass(frozen=True, slots=True)
class SegmentCredit:
    """Credit of one segment of a run, `segment` from 1; per step, so that long and short ones compare.

    `closed` is False for the steps after the last milestone. `advantage` is None where the baseline has
    no run that got so far, or there is no baseline.
    """

    run_id: str
    segment: int
    steps: int
    closed: bool
    mean_return: float
    advantage: float | None


def mean_return(steps: int, gamma: float = GAMMA) -> float:
    """Return the mean return of a step in a closed segment of so many steps: 1 for one, less for longer ones."""
    return sum(gamma**to_go for to_go in range(steps)) / steps


def credit(run: Run, baseline: Baseline | None = None) -> tuple[SegmentCredit, ...]:
    """Return the credit of a run's segments in their order, the steps after the last milestone last."""
    gamma = baseline.gamma if baseline is not None else GAMMA
    group = baseline.group(run.agent, run.task_class) if baseline is not None else None
    lengths = [(steps, True) for steps in run.segments] + [(run.tail, False)] * (run.tail > 0)
    found = []
    for segment, (steps, closed) in enumerate(lengths, 1):
        value = mean_return(steps, gamma) if closed else 0.0
        mean = group.mean(segment) if group is not None else None
        advantage = None if mean is None else value - mean
        found.append(SegmentCredit(run.run_id, segment, steps, closed, value, advantage))
    return tuple(found)
