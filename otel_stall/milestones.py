"""Milestones: which steps reach one, by what evidence, and the ones that are only declared.

Irreversibility decides, not importance: a check that turned green after a change, an effect that cannot
be undone, or what the host verified. "Done" is a statement of the model and never verified.
"""

from __future__ import annotations

from otel_stall.observations import Step
from otel_stall.reasons import Reason
from otel_stall.verdicts import Evidence, Milestone

__all__ = ["declared_milestone", "milestone_of"]

_MAX_NAME = 120


def milestone_of(step: Step, reason: Reason, number: int, segment: int) -> Milestone | None:
    """Return the verified milestone a step reaches, None where it reaches none.

    `segment` is the number of steps since the last one, this step included.
    """
    if reason is Reason.HOST_MILESTONE:
        evidence = Evidence.IRREVERSIBLE if step.hints.evidence == "irreversible" else Evidence.OBSERVED
        return Milestone(number, step.hints.milestone[:_MAX_NAME], evidence, segment)
    if reason is Reason.CHECK_TURNED_GREEN:
        return Milestone(number, _named(step), Evidence.OBSERVED, segment)
    if reason is Reason.IRREVERSIBLE_EFFECT:
        return Milestone(number, _named(step), Evidence.IRREVERSIBLE, segment)
    return None


def declared_milestone(step: Step, number: int, segment: int) -> Milestone | None:
    """Return what the step declares to be reached without anything that verifies it."""
    if step.hints.milestone and step.hints.evidence == "declared":
        return Milestone(number, step.hints.milestone[:_MAX_NAME], Evidence.DECLARED, segment)
    if step.signs.done and not step.failed:
        return Milestone(number, _named(step), Evidence.DECLARED, segment)
    return None


def _named(step: Step) -> str:
    """Return the command that reached the milestone, or the tool where it is no shell."""
    return step.command.rsplit(":", 1)[-1]
