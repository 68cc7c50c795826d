"""The counters of a lane as one frozen value, and how a step's reason moves them."""

from __future__ import annotations

from dataclasses import dataclass

from otel_stall.config import DetectionConfig
from otel_stall.facts import NEVER, Recurrence
from otel_stall.observations import Effect, Step
from otel_stall.reasons import CLEAR, RELIEVE, TABLE, Reason
from otel_stall.values import replace, unguarded
from otel_stall.verdicts import Gain

__all__ = ["Counters", "advance", "after_user_turn", "idle_turn", "reacquire"]


@unguarded
@dataclass(frozen=True, slots=True)
class Counters:
    """Where a lane stands; all in steps but `waste`, the leaky score of work that brings little.

    `distance` counts steps since the last verified milestone, `dry` steps of gain `none` since the last
    gain, `flat` checks that neither improved nor moved, `thin` thin searches in a row, `reacquired`
    steps that brought what was known before a compaction, `after_done` steps since the work was done.
    `dry_since`, `flat_since`, … are the steps at which each count began. `credit` is the waste score that a
    change has cleared on trust; it comes back when the failure that the change was to mend comes back.
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
    declared: bool = False
    credit: float = 0.0
    dry_since: int = 0
    flat_since: int = 0
    thin_since: int = 0
    reacquired_since: int = 0
    waste_since: int = 0
    credit_since: int = 0
    done_since: int = 0
    waits: int = 0
    empties: int = 0
    milestones: int = 0
    state_changes: int = 0
    idle_compactions: int = 0


_UNCOUNTED = frozenset({Reason.INFRASTRUCTURE, Reason.WAITING, Reason.CONTENT_NOT_CAPTURED, Reason.OUTCOME_UNKNOWN})
_FLAT = frozenset({Reason.STILL_FAILING, Reason.STILL_GREEN})


def advance(
    before: Counters, step: Step, reason: Reason, config: DetectionConfig, *, known: Recurrence = NEVER
) -> Counters:
    """Return the counters after a numbered step. Pure.

    `known` is how often the failure this step shows came before it: what other checks do makes one check
    no less flat.
    """
    gain = TABLE[reason].gain
    number = before.step + 1
    verified = gain is Gain.MILESTONE
    strong = verified and reason is not Reason.IRREVERSIBLE_EFFECT
    dry, dry_since = _moved(before.dry, before.dry_since, _dry(gain, strong=strong), number)
    flat, flat_since = _moved(before.flat, before.flat_since, _flat(gain, reason, strong=strong), number)
    if reason is Reason.STILL_FAILING and known.times >= flat:
        flat, flat_since = known.times + 1, known.since or number
    thin, thin_since = _moved(before.thin, before.thin_since, _thin(step, reason), number)
    score, waste_since = _score(before, reason, number, config, known.times)
    credit, credit_since = _credit(before, reason, number, config)
    done, declared, after_done, done_since = _after_done(before, step, reason, number)
    return Counters(
        step=number,
        distance=0 if verified else before.distance + (reason not in _UNCOUNTED),
        dry=dry,
        flat=flat,
        thin=thin,
        reacquired=before.reacquired,
        waste=score,
        after_done=after_done,
        done=done,
        declared=declared,
        credit=credit,
        dry_since=dry_since,
        flat_since=flat_since,
        thin_since=thin_since,
        reacquired_since=before.reacquired_since,
        waste_since=waste_since,
        credit_since=credit_since,
        done_since=done_since,
        waits=before.waits + 1 if step.waits else 0,
        empties=_empties(before, reason),
        milestones=before.milestones + verified,
        state_changes=before.state_changes + (gain is Gain.STATE),
    )


def _moved(count: int, since: int, up: bool | None, number: int) -> tuple[int, int]:
    """Return a count and the step it began at: one more, back at zero, or as it was (None)."""
    if up is None:
        return count, since
    if not up:
        return 0, since
    return count + 1, since if count else number


def _empties(before: Counters, reason: Reason) -> int:
    if reason in (Reason.EMPTY_ANSWER, Reason.SIMILAR_EMPTY_ANSWER, Reason.TOO_MANY_EMPTY_ANSWERS):
        return before.empties + 1
    return before.empties if reason in (Reason.WAITING, Reason.INFRASTRUCTURE, Reason.NEW_THOUGHT) else 0


def _dry(gain: Gain, *, strong: bool) -> bool | None:
    if gain is Gain.NONE:
        return True
    return False if strong or gain in (Gain.VERIFICATION, Gain.STATE, Gain.INFORMATION) else None


def _flat(gain: Gain, reason: Reason, *, strong: bool) -> bool | None:
    if reason in _FLAT:
        return True
    regained = reason in (Reason.CHANGE_CONFIRMED, Reason.GREEN_AGAIN)
    return False if strong or (gain is Gain.VERIFICATION and not regained) else None


def _thin(step: Step, reason: Reason) -> bool | None:
    if reason is Reason.THIN_SEARCH:
        return True
    return False if step.retrieval and step.words else None


_COMES_BACK = frozenset({Reason.STILL_FAILING, Reason.KNOWN_ERROR, Reason.SAME_CALL_FAILING})
_OFTEN = 2


def _score(before: Counters, reason: Reason, number: int, config: DetectionConfig, known: int = 0) -> tuple[float, int]:
    move = TABLE[reason].waste
    if move == CLEAR:
        return 0.0, before.waste_since
    if move == RELIEVE:
        return max(0.0, before.waste - config.waste_relief), before.waste_since
    if reason in _COMES_BACK and known >= _OFTEN and before.credit > before.waste:
        return before.credit + move, before.credit_since
    return before.waste + move, before.waste_since if before.waste else number


def _credit(before: Counters, reason: Reason, number: int, config: DetectionConfig) -> tuple[float, int]:
    """Return the score that changes have cleared since something was last verified, and where it began."""
    move = TABLE[reason].waste
    if reason is Reason.NEW_STATE and before.waste >= before.credit:
        return before.waste, before.waste_since
    if move == CLEAR and reason is not Reason.NEW_STATE:
        return 0.0, number
    if move == RELIEVE:
        return max(0.0, before.credit - config.waste_relief), before.credit_since
    return before.credit, before.credit_since


def _after_done(before: Counters, step: Step, reason: Reason, number: int) -> tuple[bool, bool, int, int]:
    """Return whether the work is done, whether the model has said so, the steps since, and where they began.

    A commit, a declared completion or a to-do list all ticked starts the count; going on with the work ends
    it. The first word that all is done counts for nothing, the second is one more idle step.
    """
    says = step.signs.done and not step.failed
    done = says or (not step.failed and step.signs.commits and reason is Reason.IRREVERSIBLE_EFFECT)
    if not before.done:
        return done, says, before.after_done, before.done_since
    if _is_work(step, reason):
        return done, says, 0, number
    if says and not before.declared:
        return True, True, before.after_done, before.done_since
    after, since = _moved(before.after_done, before.done_since, None if reason is Reason.WAITING else True, number)
    return True, before.declared, after, since


def _is_work(step: Step, reason: Reason) -> bool:
    """Return whether a step goes on with the work: changes something that is no report on it, or a check that moves.

    A commit is no work: it keeps what was done before it.
    """
    gain = TABLE[reason].gain
    if gain in (Gain.VERIFICATION, Gain.MILESTONE):
        return reason not in (Reason.CHANGE_CONFIRMED, Reason.GREEN_AGAIN) and not step.signs.commits
    return gain is Gain.STATE and not step.writing.aside and step.effect is not Effect.MESSAGE


def idle_turn(before: Counters, reason: Reason, config: DetectionConfig) -> Counters:
    """Return the counters after a model turn that came to nothing: a step without gain and without number."""
    number = max(before.step, 1)
    dry, dry_since = _moved(before.dry, before.dry_since, True, number)
    score, waste_since = _score(before, reason, number, config)
    return replace(before, dry=dry, dry_since=dry_since, waste=score, waste_since=waste_since)


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
