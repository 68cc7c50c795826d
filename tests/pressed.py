"""Where a lane stands, in one line; built by tests of the pressure."""

from __future__ import annotations

from otel_stall.status import Status
from otel_stall.verdicts import Kind, Level, Milestone, Stall

__all__ = ["status"]


def status(
    step: int,
    pressing: Level | None = None,
    *,
    number: int = 1,
    changed: int = 0,
    milestones: tuple[Milestone, ...] = (),
) -> Status:
    """Return a lane at a step: inside stall `number` where the counters press for a level, outside where for none."""
    reached = tuple((level, step) for level in Level if pressing is not None and level.rank <= pressing.rank)
    stall = Stall(number, Kind.NO_GRADIENT, 1, 1, step, reached) if pressing is not None else None
    return Status(
        conversation="c",
        lane="main",
        agent="",
        service="",
        task_class="",
        run_id="",
        step=step,
        epoch=0,
        steps_since_milestone=step,
        steps_since_gain=step,
        state_changes=0,
        milestone_count=len(milestones),
        waste=0.0,
        milestones=milestones,
        stall=stall,
        partial=False,
        last_end_ns=0,
        pressing=pressing,
        changed_step=changed,
    )
