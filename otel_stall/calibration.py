"""Calibration: from runs whose outcome is known to the baseline, and what the runs could not tell.

The limit of a group is the split-conformal quantile of the largest milestone distance of its successful
runs, one run per task: the next run of the same kind that goes well reaches beyond it with probability
`alpha` at most (Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2005: the k-th smallest
of n exchangeable values, k = ceil((n+1)(1-alpha))). With fewer tasks no such line exists, and the limit is
provisional.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Final

from otel_stall.baseline import Baseline, Group, SegmentMean
from otel_stall.credit import GAMMA, mean_return
from otel_stall.fingerprints import combine
from otel_stall.runs import Run

__all__ = ["ALPHA", "FLOOR", "Calibration", "Label", "calibrate", "conformal", "least_tasks"]

ALPHA: Final = 0.05
"""Share of healthy runs that may go beyond the limit."""
FLOOR: Final = 30
"""A provisional limit is never below this many steps, the default of `detection.distance_limit`."""

_SEGMENTS: Final = 100


@dataclass(frozen=True, slots=True)
class Label:
    """What a user knows of a conversation beside its traces; "" leaves what the traces say."""

    outcome: str
    task_id: str = ""
    task_class: str = ""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The baseline, and counts of what it does not know.

    `runs` counts runs of one agent, `successful` those of them it rests on. `no_milestone` holds the group's
    share of successful runs in which nothing was verified, by agent and class of task.
    """

    baseline: Baseline
    runs: int
    successful: int
    no_outcome: int
    no_task: int
    no_agent: int
    partial: int
    unmatched: int
    no_milestone: Mapping[tuple[str, str | None], int]


def calibrate(
    runs: Iterable[Run], labels: Mapping[str, Label] | None = None, *, alpha: float = ALPHA, floor: int = FLOOR
) -> Calibration:
    """Return the baseline of these runs and what they could not tell. Pure: the order of runs makes no difference.

    `labels` are what a user knows, by conversation; they win over the traces.
    """
    labels = labels or {}
    known = _by_agent(_labelled(run, labels.get(run.conversation)) for run in runs if run.steps)
    whole = [run for run in known if not run.partial]
    groups = _grouped(whole)
    successful = [run for run in whole if run.succeeded]
    return Calibration(
        baseline=Baseline(
            alpha=alpha,
            gamma=GAMMA,
            groups=tuple(_group(*key, groups[key], alpha, floor) for key in sorted(groups, key=_group_order)),
        ),
        runs=len(known),
        successful=len(successful),
        no_outcome=sum(run.outcome not in ("success", "failure") for run in whole),
        no_task=sum(not run.task_id for run in successful),
        no_agent=sum(not run.agent for run in successful),
        partial=len(known) - len(whole),
        unmatched=len(labels.keys() - {run.conversation for run in known}),
        no_milestone={key: sum(run.succeeded and not run.segments for run in group) for key, group in groups.items()},
    )


def conformal(values: Sequence[int], alpha: float = ALPHA) -> int | None:
    """Return the smallest of the values that the next one exceeds with probability at most alpha, None where
    there are too few.
    """
    rank = ceil((len(values) + 1) * (1 - _exact(alpha)))
    return sorted(values)[rank - 1] if 0 < rank <= len(values) else None


def least_tasks(alpha: float = ALPHA) -> int:
    """Return the number of tasks from which on `conformal` has an answer: 19 for .05."""
    return ceil(1 / _exact(alpha)) - 1


def _exact(alpha: float) -> Fraction:
    """Return the number that was written: 20 * (1 - .05) is 19 and not a hair more."""
    return Fraction(repr(alpha))


def _labelled(run: Run, label: Label | None) -> Run:
    if label is None:
        return run
    told = {"outcome": label.outcome, "task_id": label.task_id, "task_class": label.task_class}
    return replace(run, **{name: text for name, text in told.items() if text})  # type: ignore[arg-type]  # all strings


def _by_agent(runs: Iterable[Run]) -> list[Run]:
    """Return one run where one agent had several lanes in it: the one that went farthest without a milestone."""
    farthest: dict[tuple[str, str, str], Run] = {}
    for run in runs:
        key = (run.conversation, run.run_id, run.agent)
        other = farthest.get(key)
        if other is None or (run.distance, run.lane) > (other.distance, other.lane):
            farthest[key] = run
    return [farthest[key] for key in sorted(farthest)]


def _grouped(runs: Iterable[Run]) -> dict[tuple[str, str | None], list[Run]]:
    """Return the runs by agent and class of task; an agent on every class together is a group of its own."""
    groups: dict[tuple[str, str | None], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.agent, None), []).append(run)
        if run.task_class:
            groups.setdefault((run.agent, run.task_class), []).append(run)
    return groups


def _group_order(key: tuple[str, str | None]) -> tuple[str, bool, str]:
    agent, task_class = key
    return agent, task_class is not None, task_class or ""


def _group(agent: str, task_class: str | None, runs: Sequence[Run], alpha: float, floor: int) -> Group:
    successful = [run for run in runs if run.succeeded]
    tasks = _one_per_task(successful)
    line = conformal([run.distance for run in tasks], alpha)
    largest = max((run.distance for run in successful), default=0)
    return Group(
        agent=agent,
        task_class=task_class,
        runs=len(successful),
        tasks=len(tasks),
        limit=max(floor, largest) if line is None else max(line, 1),
        provisional=line is None,
        segments=_means(runs),
    )


def _one_per_task(runs: Iterable[Run]) -> list[Run]:
    """Return one run of each task, chosen blindly: runs of one task resemble each other and count once.

    A run without a task is a task of its own.
    """
    chosen: dict[str, Run] = {}
    for run in runs:
        task = f"task {run.task_id}" if run.task_id else f"run {run.conversation} {run.run_id}"
        other = chosen.get(task)
        if other is None or _lot(run) < _lot(other):
            chosen[task] = run
    return list(chosen.values())


def _lot(run: Run) -> int:
    return combine(run.conversation, run.run_id)


def _means(runs: Iterable[Run]) -> tuple[SegmentMean, ...]:
    """Return the mean return of a step by segment index, over all runs, the failed ones too."""
    sums: dict[int, tuple[float, int]] = {}
    for run in runs:
        lengths = [(steps, mean_return(steps)) for steps in run.segments] + [(run.tail, 0.0)] * (run.tail > 0)
        for segment, (steps, value) in enumerate(lengths[:_SEGMENTS], 1):
            total, count = sums.get(segment, (0.0, 0))
            sums[segment] = (total + steps * value, count + steps)
    return tuple(
        SegmentMean(segment=segment, steps=count, mean=min(total / count, 1.0))
        for segment, (total, count) in sorted(sums.items())
    )
