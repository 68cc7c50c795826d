"""Milestones: which steps reach one, by what evidence, and the ones that are only declared.

Irreversibility decides, not importance: a check that turned green after a change, an effect that cannot
be undone, or what the host verified. "Done" is a statement of the model and never verified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from otel_stall.observations import Observation, Step
from otel_stall.reasons import Reason
from otel_stall.verdicts import Declaration, Evidence, Milestone, Verdict

__all__ = ["PENDING", "REACHED", "confirmed", "declared_milestone", "kept", "milestone_of"]

PENDING = 32
"""Declared milestones that wait in a lane; older ones are never verified."""

REACHED = 32
"""Milestones of the run that a lane can name; of the older ones only the number is kept."""

_MAX_NAME = 120


def milestone_of(step: Step, reason: Reason, number: int, segment: int) -> Milestone | None:
    """Return the verified milestone a step reaches, None where it reaches none.

    `segment` is the number of steps since the last one, this step included.
    """
    if reason is Reason.HOST_MILESTONE:
        return Milestone(number, step.hints.milestone[:_MAX_NAME], Evidence.told(step.hints.evidence), segment)
    if reason is Reason.CHECK_TURNED_GREEN:
        return Milestone(number, _named(step), Evidence.OBSERVED, segment)
    if reason is Reason.IRREVERSIBLE_EFFECT:
        return Milestone(number, _named(step), Evidence.IRREVERSIBLE, segment)
    return None


def declared_milestone(step: Step, number: int, segment: int) -> Milestone | None:
    """Return what the step declares to be reached without anything that verifies it."""
    if step.hints.milestone and not Evidence.told(step.hints.evidence).verified:
        return Milestone(number, step.hints.milestone[:_MAX_NAME], Evidence.DECLARED, segment)
    if step.signs.done and not step.failed:
        return Milestone(number, _named(step), Evidence.DECLARED, segment)
    return None


def confirmed(
    reached: Milestone, reason: Reason, waiting: Sequence[Declaration]
) -> tuple[Milestone, list[Declaration]]:
    """Return a verified milestone with the declared ones that it verifies, and those that go on waiting.

    A check that turned green after a change verifies all that was declared before; what the host says, the
    one of the same name. An irreversible effect verifies nothing.
    """
    if reason is Reason.CHECK_TURNED_GREEN:
        return replace(reached, confirms=tuple(waiting)), []
    if reason is not Reason.HOST_MILESTONE:
        return reached, list(waiting)
    same = tuple(one for one in waiting if one.name == reached.name)
    return replace(reached, confirms=same), [one for one in waiting if one not in same]


def kept(reached: Sequence[Milestone], observation: Observation, verdict: Verdict) -> list[Milestone]:
    """Return the milestones a lane keeps after an observation: the last 32, each with whether it still stands.

    One that a check reached is lost while that check is red.
    """
    check = observation.check if isinstance(observation, Step) else None
    listed = [
        replace(one, lost_at=None if check.green else one.lost_at or verdict.step)
        if check is not None and one.check == check.identity
        else one
        for one in reached
    ]
    for changed in verdict.changes:
        if (new := changed.milestone) is not None:
            by_check = check is not None and check.green and new.evidence is Evidence.OBSERVED
            identity = check.identity if check is not None and by_check else None
            listed.append(replace(new, fingerprint=verdict.outcome_fingerprint, check=identity))
    return listed[-REACHED:]


def _named(step: Step) -> str:
    """Return the command that reached the milestone, or the tool where it is no shell."""
    return step.command.rsplit(":", 1)[-1]
