"""The counters of a lane as one frozen value, and how a step's reason moves them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from otel_stall.config import DetectionConfig
from otel_stall.observations import Effect, Step
from otel_stall.reasons import CLEAR, RELIEVE, TABLE, Reason
from otel_stall.verdicts import Gain

__all__ = ["Counters", "advance", "after_user_turn", "reacquire", "waste"]


@dataclass(frozen=True, slots=True)
class Counters:
    """Where a lane stands; all in steps but `waste`, the leaky score of work that brings little.

    `distance` counts steps since the last verified milestone, `dry` steps of gain `none` since the last
    gain, `flat` checks that neither improved nor moved, `thin` thin searches in a row, `reacquired`
    steps that brought what was known before a compaction, `after_done` steps since the work was done.
    `dry_since`, `flat_since`, … are the steps at which each count began.
    """

    step: int = 0
    distance: int = 0
    dry: int = 0
    flat: int = 0
    thin: int = 0
    reacquired: int = 0
    waste: float = 0.0
    after_done: int = 0
    done: bool = False
    dry_since: int = 0
    flat_since: int = 0
    thin_since: int = 0
    reacquired_since: int = 0
    waste_since: int = 0
    done_since: int = 0
    waits: int = 0
    empties: int = 0
    milestones: int = 0
    state_changes: int = 0
    idle_compactions: int = 0


_UNCOUNTED = frozenset({Reason.INFRASTRUCTURE, Reason.WAITING, Reason.CONTENT_NOT_CAPTURED, Reason.OUTCOME_UNKNOWN})
_FLAT = frozenset({Reason.STILL_FAILING, Reason.STILL_GREEN})


def advance(before: Counters, step: Step, reason: Reason, config: DetectionConfig) -> Counters:
    """Return the counters after a numbered step. Pure."""
    gain = TABLE[reason].gain
    number = before.step + 1
    verified = gain is Gain.MILESTONE
    strong = verified and reason is not Reason.IRREVERSIBLE_EFFECT
    counters = replace(
        before,
        step=number,
        distance=0 if verified else before.distance + (reason not in _UNCOUNTED),
        milestones=before.milestones + verified,
        state_changes=before.state_changes + (gain is Gain.STATE),
        waits=before.waits + 1 if step.waits else 0,
        empties=_empties(before, reason),
        idle_compactions=0,
    )
    counters = _dry(counters, gain, number, strong=strong)
    counters = _flat(counters, gain, reason, number, strong=strong)
    counters = _thin(counters, step, reason, number)
    counters = waste(counters, reason, number, config)
    return _after_done(counters, step, reason, number)


def _empties(before: Counters, reason: Reason) -> int:
    if reason in (Reason.EMPTY_ANSWER, Reason.SIMILAR_EMPTY_ANSWER, Reason.TOO_MANY_EMPTY_ANSWERS):
        return before.empties + 1
    return before.empties if reason in (Reason.WAITING, Reason.INFRASTRUCTURE, Reason.NEW_THOUGHT) else 0


def _dry(counters: Counters, gain: Gain, number: int, *, strong: bool) -> Counters:
    if gain is Gain.NONE:
        return replace(counters, dry=counters.dry + 1, dry_since=counters.dry_since if counters.dry else number)
    if strong or gain in (Gain.VERIFICATION, Gain.STATE, Gain.INFORMATION):
        return replace(counters, dry=0)
    return counters


def _flat(counters: Counters, gain: Gain, reason: Reason, number: int, *, strong: bool) -> Counters:
    if reason in _FLAT:
        return replace(counters, flat=counters.flat + 1, flat_since=counters.flat_since if counters.flat else number)
    return replace(counters, flat=0) if strong or gain is Gain.VERIFICATION else counters


def _thin(counters: Counters, step: Step, reason: Reason, number: int) -> Counters:
    if reason is Reason.THIN_SEARCH:
        return replace(counters, thin=counters.thin + 1, thin_since=counters.thin_since if counters.thin else number)
    return replace(counters, thin=0) if step.retrieval and step.words else counters


def waste(counters: Counters, reason: Reason, number: int, config: DetectionConfig) -> Counters:
    """Return the counters with the waste score moved by a reason."""
    move = TABLE[reason].waste
    if move == CLEAR:
        return replace(counters, waste=0.0)
    if move == RELIEVE:
        return replace(counters, waste=max(0.0, counters.waste - config.waste_relief))
    since = counters.waste_since if counters.waste else number
    return replace(counters, waste=counters.waste + move, waste_since=since)


def _after_done(counters: Counters, step: Step, reason: Reason, number: int) -> Counters:
    """A commit, a declared completion or a to-do list all ticked starts the count; going on with the work ends it."""
    declares = not step.failed and (step.signs.done or (step.signs.commits and reason is Reason.IRREVERSIBLE_EFFECT))
    if counters.done and _is_work(step, reason):
        return replace(counters, done=declares, after_done=0, done_since=number)
    if counters.done and reason is not Reason.WAITING:
        since = counters.done_since if counters.after_done else number
        return replace(counters, after_done=counters.after_done + 1, done_since=since)
    return replace(counters, done=counters.done or declares)


def _is_work(step: Step, reason: Reason) -> bool:
    """Return whether a step goes on with the work: changes something that is no report on it, or a check that moves."""
    if TABLE[reason].gain in (Gain.VERIFICATION, Gain.MILESTONE) and reason is not Reason.CHANGE_CONFIRMED:
        return True
    return TABLE[reason].gain is Gain.STATE and not step.writing.aside and step.effect is not Effect.MESSAGE


def reacquire(counters: Counters, *, again: bool, gain: Gain) -> Counters:
    """Return the counters after a step that brought, or did not bring, what was known before a compaction."""
    if gain in (Gain.MILESTONE, Gain.VERIFICATION, Gain.STATE):
        return replace(counters, reacquired=0)
    if not again:
        return counters
    since = counters.reacquired_since if counters.reacquired else counters.step
    return replace(counters, reacquired=counters.reacquired + 1, reacquired_since=since)


def after_user_turn(counters: Counters) -> Counters:
    """Return the counters after a person spoke: streaks start anew, distance and totals go on."""
    return Counters(
        step=counters.step,
        distance=counters.distance,
        milestones=counters.milestones,
        state_changes=counters.state_changes,
    )
