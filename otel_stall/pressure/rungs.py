"""When a rung acts: pure functions over where a lane stands and what was done about its stall so far."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from otel_stall.status import Status
from otel_stall.verdicts import Evidence, Level

__all__ = ["Memory", "Move", "acted", "next_move"]

ACTING: Final = (Level.REPLAN, Level.ASK_USER, Level.ABANDON)
"""The rungs that act once each; a notice accompanies every turn."""


ROOM: Final = 12
"""Steps between asking a person and giving up, by the default thresholds of both."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What was done about a stall: rungs that acted, rungs put off for a re-check, and the last observed milestone.

    `acted` holds (level, step), `spared` (level, step of the write whose re-check the rung waited for).
    `answered` is the step at which a person said to go on, None where nobody did.
    """

    stall: int = 0
    acted: tuple[tuple[Level, int], ...] = ()
    spared: tuple[tuple[Level, int], ...] = ()
    milestone: tuple[int, str] | None = None
    answered: int | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """What is due now: whether the counter accompanies this turn, and the rung that acts, None where none does."""

    counter: bool = False
    level: Level | None = None


def next_move(memory: Memory, status: Status, acts: Collection[Level]) -> tuple[Memory, Move]:
    """Return what is due at this turn, and the memory with it; asked again at the same step it says the same. Pure.

    Rungs act in order, one at a turn, each once while its stall lasts, relapses included. They are armed
    again by an observed milestone, as by another stall. A rung that comes due right at a write, or
    at the step after it, waits for that step, once. After a person's answer giving up waits for `ROOM` steps.
    """
    stall, pressing = status.stall, status.pressing
    if stall is None or pressing is None:
        return memory, Move()
    reached = _observed(status)
    if memory.stall != stall.number or (reached is not None and reached != memory.milestone):
        memory = Memory(stall.number, milestone=reached)
    done = {level for level, _ in memory.acted}
    due = [level for level in ACTING if level in acts and level.rank <= pressing.rank and level not in done]
    level = due[0] if due else None
    if level is Level.ABANDON and memory.answered is not None and status.step - memory.answered < ROOM:
        level = None
    if level is not None and _rechecks(status):
        spared = dict(memory.spared)
        if spared.setdefault(level, status.changed_step) == status.changed_step:
            memory, level = replace(memory, spared=tuple(spared.items())), None
    return memory, Move(Level.NOTICE in acts, level)


def acted(memory: Memory, level: Level, step: int, *, answered: bool = False) -> Memory:
    """Return the memory after a rung acted; `answered`: a person was asked, and said to go on."""
    said = step if answered else memory.answered
    return replace(memory, acted=(*memory.acted, (level, step)), answered=said)


def _observed(status: Status) -> tuple[int, str] | None:
    """Return the last observed milestone; an irreversible one ends no stall and arms nothing."""
    observed = ((one.step, one.name) for one in reversed(status.milestones) if one.evidence is Evidence.OBSERVED)
    return next(observed, None)


def _rechecks(status: Status) -> bool:
    """Return whether the last step changed something new, or comes right after one that did."""
    return status.changed_step > 0 and status.step - status.changed_step <= 1
