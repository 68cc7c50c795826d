"""What `otel-stall calibrate` tells a person: the limits, and what they do not know."""

from __future__ import annotations

from collections.abc import Iterator

from otel_stall.baseline import Group
from otel_stall.calibration import Calibration, least_tasks
from otel_stall.report.numbers import counted
from otel_stall.report.printable import printable

__all__ = ["render"]

_COLUMNS = ("agent", "task class", "successful runs", "tasks", "limit")
_NAME = 40


def render(found: Calibration) -> str:
    """Return the report as text: a table of limits, then a list of what is not known."""
    groups = found.baseline.groups
    table = [_COLUMNS, *(_cells(group) for group in groups)]
    widths = [max(len(row[column]) for row in table) for column in range(len(_COLUMNS))]
    rows = [
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
    head = f"{found.successful:,} of {counted(found.runs, 'run')} are known to have succeeded."
    unknown = [f"  {line}" for line in _unknown(found)]
    return "\n".join([head, "", *rows, "", "Not known:", *unknown]) + "\n"


def _cells(group: Group) -> tuple[str, ...]:
    return (
        printable(group.agent, _NAME) or "(no name)",
        "(all)" if group.task_class is None else printable(group.task_class, _NAME),
        f"{group.runs:,}",
        f"{group.tasks:,}",
        f"{group.limit:,}{' provisional' if group.provisional else ''}",
    )


def _unknown(found: Calibration) -> Iterator[str]:
    provisional = sum(group.provisional for group in found.baseline.groups)
    if provisional:
        yield (
            f"{counted(provisional, 'provisional limit')}: below {least_tasks(found.baseline.alpha)} tasks nothing "
            "bounds the share of good runs beyond the limit; it is the largest distance seen, never below the default"
        )
    yield from _missing(found)
    for group in found.baseline.groups:
        bare = found.no_milestone.get((group.agent, group.task_class), 0)
        if 2 * bare > group.runs:
            yield (
                f"{_named(group)}: in {bare} of {counted(group.runs, 'successful run')} no milestone was verified; the "
                "distance is there the length of the run, and such a limit does not carry over to longer tasks"
            )
    yield "success is no proof of health: a run that stalled and succeeded all the same raises the limit"
    yield "a limit holds for runs like these; another model, host or kind of task needs traces of its own"


def _missing(found: Calibration) -> Iterator[str]:
    if found.no_outcome:
        yield (f"{counted(found.no_outcome, 'run')} without an outcome, left out (stall.run.outcome, or --outcomes)")
    if found.no_task:
        yield (
            f"{counted(found.no_task, 'successful run')} without a task: each counts as a task of its own, and where "
            "tasks repeat the limit claims more than it knows (stall.task.id)"
        )
    if found.no_agent:
        yield f"{counted(found.no_agent, 'successful run')} without an agent's name share one limit"
    if found.partial:
        yield f"{counted(found.partial, 'partial run')} left out: spans are missing, distances are lower bounds"
    if found.unmatched:
        yield f"{counted(found.unmatched, 'labelled conversation')} not found in these traces"


def _named(group: Group) -> str:
    agent = printable(group.agent, _NAME) or "(no name)"
    return agent if group.task_class is None else f"{agent} on {printable(group.task_class, _NAME)}"
