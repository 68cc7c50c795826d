"""What a step gained: a list of small rules, the first that answers gives the reason.

The order is the meaning: what the host says comes before what the text says, a check before a write,
an error before an empty answer, and novelty last.
"""

from __future__ import annotations

from collections.abc import Callable

from otel_stall.calls import Capture
from otel_stall.config import DetectionConfig
from otel_stall.counters import Counters
from otel_stall.facts import Facts
from otel_stall.observations import Effect, Step
from otel_stall.reasons import Reason
from otel_stall.verdicts import Evidence

__all__ = ["RULES", "reason_of"]

Rule = Callable[[Step, Facts, Counters, DetectionConfig], Reason | None]

_LONG = 20
_FEW = 8
_MISSING = 2
_SMALL_SHARE = 0.25


def reason_of(step: Step, facts: Facts, counters: Counters, config: DetectionConfig) -> Reason:
    """Return why a step gained what it gained. Pure; total: the last rule always answers."""
    for rule in RULES:
        found = rule(step, facts, counters, config)
        if found is not None:
            return found
    raise AssertionError("the last rule answers every step")


def _host_milestone(step: Step, facts: Facts, _c: Counters, _g: DetectionConfig) -> Reason | None:
    named = step.hints.milestone and Evidence.told(step.hints.evidence).verified
    return Reason.HOST_MILESTONE if named and not facts.milestone_known else None


def _host_state(step: Step, facts: Facts, _c: Counters, _g: DetectionConfig) -> Reason | None:
    if facts.host_state_known is None or step.effect in (Effect.CHECK, Effect.NOTE):
        return None
    if not facts.host_state_known:
        return Reason.NEW_STATE
    if step.effect.looks() or step.failed:
        return None
    before = step.hints.state_before
    return Reason.WRITE_CHANGED_NOTHING if before == step.hints.state_after else Reason.STATE_SEEN_BEFORE


def _infrastructure(step: Step, _f: Facts, _c: Counters, _g: DetectionConfig) -> Reason | None:
    return Reason.INFRASTRUCTURE if step.hints.infra else None


def _waiting(step: Step, _f: Facts, counters: Counters, config: DetectionConfig) -> Reason | None:
    return Reason.WAITING if step.waits and counters.waits < config.waits else None


def _denied(step: Step, facts: Facts, _c: Counters, _g: DetectionConfig) -> Reason | None:
    if not step.denied:
        return None
    return Reason.DENIED_AGAIN if facts.error_count else Reason.DENIED_CALL


def _unknown(step: Step, facts: Facts, _c: Counters, _g: DetectionConfig) -> Reason | None:
    if step.outcome is not None:
        return None
    if step.failed:
        return Reason.SAME_CALL_FAILING if facts.failed_before else Reason.OUTCOME_UNKNOWN
    written = step.arguments is Capture.CAPTURED and step.effect in (Effect.WRITE, Effect.IRREVERSIBLE)
    return None if written else Reason.CONTENT_NOT_CAPTURED


def _thought(step: Step, facts: Facts, _c: Counters, _g: DetectionConfig) -> Reason | None:
    if step.effect is not Effect.THINK:
        return None
    return Reason.NEW_THOUGHT if facts.call_epoch is None else Reason.REPEATED_THOUGHT


def _note(step: Step, _f: Facts, _c: Counters, _g: DetectionConfig) -> Reason | None:
    return Reason.NOTE if step.effect is Effect.NOTE else None


def _nothing(step: Step, _f: Facts, _c: Counters, _g: DetectionConfig) -> Reason | None:
    if step.signs.noop:
        return Reason.NO_OPERATION
    return Reason.MALFORMED_CALL if step.signs.malformed else None


def _check(step: Step, facts: Facts, _c: Counters, _g: DetectionConfig) -> Reason | None:
    check, found = step.check, facts.check
    if check is None or found is None:
        return None
    if found.turned_green:
        if found.mended_before:
            return Reason.GREEN_AGAIN
        return Reason.CHECK_TURNED_GREEN if found.changed_since_red else Reason.CHECK_PASSED
    if check.green:
        return Reason.CHANGE_CONFIRMED if facts.due and not found.work_known else Reason.STILL_GREEN
    if found.improved:
        return Reason.CHECK_IMPROVED
    return Reason.FAILURE_MOVED if found.moved else Reason.STILL_FAILING


def _write(step: Step, facts: Facts, _c: Counters, _g: DetectionConfig) -> Reason | None:
    if not step.mutates or step.failed:
        return None
    if step.signs.unchanged:
        return Reason.WRITE_CHANGED_NOTHING
    if step.writing.reverts:
        return Reason.TAKEN_BACK
    if facts.state is None:
        return Reason.CONTENT_NOT_CAPTURED
    if facts.state_epoch is not None:
        return Reason.STATE_SEEN_BEFORE
    if step.writing.removes:
        return Reason.REMOVED
    return Reason.IRREVERSIBLE_EFFECT if step.effect is Effect.IRREVERSIBLE else Reason.NEW_STATE


def _error(step: Step, facts: Facts, _c: Counters, _g: DetectionConfig) -> Reason | None:
    if not step.failed:
        return None
    if facts.failed_before:
        return Reason.SAME_CALL_FAILING
    if step.signs.missing and facts.missing >= _MISSING:
        return Reason.MISSING_AGAIN
    informs = facts.unseen_lines >= 3 and 2 * facts.unseen_lines > len(step.lines.digests)
    return Reason.NEW_ERROR if not facts.error_count or informs else Reason.KNOWN_ERROR


def _empty(step: Step, facts: Facts, counters: Counters, config: DetectionConfig) -> Reason | None:
    if not step.empty and not step.signs.acknowledged:
        return None
    if facts.mostly_silent:
        return Reason.CONTENT_NOT_CAPTURED
    if facts.pair_epoch is not None:
        return Reason.KNOWN_EMPTY_ANSWER
    if step.may_mutate:
        return Reason.ACKNOWLEDGEMENT
    if counters.empties >= config.empty_answers:
        return Reason.TOO_MANY_EMPTY_ANSWERS
    return Reason.SIMILAR_EMPTY_ANSWER if facts.similar_empty else Reason.EMPTY_ANSWER


def _thin(_s: Step, facts: Facts, _c: Counters, _g: DetectionConfig) -> Reason | None:
    return Reason.THIN_SEARCH if facts.thin else None


def _known_outcome(step: Step, facts: Facts, _c: Counters, _g: DetectionConfig) -> Reason | None:
    if facts.outcome_epoch is None:
        return None
    if facts.due and step.effect is Effect.COMMAND:
        return Reason.CHECK_DUE
    if facts.pair_epoch is None:
        return Reason.SAME_OUTCOME_NEW_CALL
    if step.effect in (Effect.READ, Effect.SEARCH):
        return (
            Reason.LONG_REREAD_UNCHANGED
            if step.lines.total >= _LONG and facts.resource_read
            else Reason.REREAD_UNCHANGED
        )
    return Reason.SAME_OUTCOME


def _range(step: Step, facts: Facts, _c: Counters, config: DetectionConfig) -> Reason | None:
    if step.effect is not Effect.READ or not facts.resource_read or step.window is None:
        return None
    if facts.window_shown:
        return Reason.RANGE_SHOWN_BEFORE
    if not facts.unseen_lines:
        return None
    return Reason.NEW_RANGE if facts.ranges < config.new_ranges else Reason.TOO_MANY_RANGES


def _novelty(step: Step, facts: Facts, _c: Counters, _g: DetectionConfig) -> Reason | None:
    seen = len(step.lines.digests)
    if facts.unseen_lines and (facts.unseen_lines > _FEW or facts.unseen_lines >= _SMALL_SHARE * seen):
        return Reason.UNSEEN_CONTENT
    if facts.unseen_lines or step.lines.sampled:
        return Reason.LITTLE_UNSEEN
    return Reason.CHECK_DUE if facts.due and step.effect is Effect.COMMAND else Reason.NOTHING_UNSEEN


RULES: tuple[Rule, ...] = (
    _host_milestone,
    _host_state,
    _infrastructure,
    _waiting,
    _denied,
    _unknown,
    _thought,
    _note,
    _nothing,
    _check,
    _write,
    _error,
    _empty,
    _thin,
    _known_outcome,
    _range,
    _novelty,
)
