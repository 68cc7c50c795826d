"""What the ledger makes of a new step: known or unseen, since when, and how a check or a failure moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from otel_stall.config import DetectionConfig
from otel_stall.fingerprints import combine, digest
from otel_stall.ledger import (
    Ledger,
    ResourceRecord,
    content_digest_of,
    failing_work,
    green_work,
    mended,
    named_outcome,
    pair_of,
    state_of,
)
from otel_stall.observations import CheckOutcome, Step
from otel_stall.values import unguarded

__all__ = ["NEVER", "CheckFacts", "Facts", "Recurrence", "facts_of"]


@unguarded
@dataclass(frozen=True, slots=True)
class CheckFacts:
    """How a check's outcome compares with its earlier ones."""

    turned_green: bool
    changed_since_red: bool
    improved: bool
    moved: bool
    mended_before: bool
    stale: int
    stale_since: int
    work_known: bool


class Recurrence(NamedTuple):
    """How often a failure was seen before from the same command or check, and since which step (0: not known)."""

    times: int = 0
    since: int = 0


NEVER = Recurrence()


@unguarded
@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a step from what the lane saw before; epochs are None where nothing was known.

    `pair` is the digest of call and outcome, `named` that of the outcome with its tool and command.
    """

    pair: int | None = None
    named: int | None = None
    call_epoch: int | None = None
    pair_epoch: int | None = None
    outcome_epoch: int | None = None
    exact_repeat: bool = False
    failed_before: bool = False
    unseen_lines: int = 0
    lines_epoch: int | None = None
    state: int | None = None
    state_epoch: int | None = None
    host_state_known: bool | None = None
    milestone_known: bool = False
    error_count: int = 0
    missing: int = 0
    check: CheckFacts | None = None
    resource_read: bool = False
    window_shown: bool = False
    ranges: int = 0
    thin: bool = False
    similar_empty: bool = False
    mostly_silent: bool = False
    due: bool = False

    def recurrence(self) -> Recurrence:
        """Return how often the failure that this step shows came before it."""
        if self.check is not None:
            return Recurrence(self.check.stale, self.check.stale_since)
        return Recurrence(self.error_count)

    def known_since(self) -> int | None:
        """Return the earliest epoch from which this step's content was known, None where it is new."""
        known = (self.pair_epoch, self.outcome_epoch, self.state_epoch, self.lines_epoch)
        return min((epoch for epoch in known if epoch is not None), default=None)


def facts_of(step: Step, ledger: Ledger, config: DetectionConfig) -> Facts:
    """Return what the ledger makes of a step. Pure: neither is changed."""
    call = ledger.calls.get(step.signature) if step.signature is not None else None
    pair, named = pair_of(step), named_outcome(step)
    unseen, lines_epoch = _novelty(step, ledger)
    state = state_of(step)
    resource = ledger.resources.get(step.resource) if step.resource is not None else None
    return Facts(
        pair=pair,
        named=named,
        call_epoch=call.epoch if call else None,
        pair_epoch=ledger.pairs.get(pair) if pair is not None else None,
        outcome_epoch=ledger.outcomes.get(named) if named is not None else None,
        exact_repeat=step.signature is not None and ledger.exact.get(step.signature) == step.exact,
        failed_before=(call is not None and call.failed_at == ledger.mutations)
        or failing_work(step, ledger) in ledger.states,
        unseen_lines=unseen,
        lines_epoch=lines_epoch,
        state=state,
        state_epoch=_state_epoch(step, state, ledger),
        host_state_known=_host_state_known(step, ledger),
        milestone_known=bool(ledger.milestones) and combine("milestone", step.hints.milestone) in ledger.milestones,
        error_count=ledger.errors.get(combine(step.act, step.error), 0) if step.error is not None else 0,
        missing=ledger.missing,
        check=_check_facts(step.check, ledger) if step.check else None,
        resource_read=_resource_read(step, resource),
        window_shown=_window_shown(step, resource),
        ranges=resource.ranges if resource else 0,
        thin=_is_thin(step, ledger, config),
        similar_empty=_similar_empty(step, ledger),
        mostly_silent=_mostly_silent(step, ledger),
        due=ledger.due,
    )


def _novelty(step: Step, ledger: Ledger) -> tuple[int, int | None]:
    """Return how many lines are unseen, and where none is, since when the newest of them was known."""
    unseen, newest = 0, -1
    for line in step.lines.digests:
        epoch = ledger.lines.get(line)
        if epoch is None:
            unseen += 1
        else:
            newest = max(newest, epoch)
    return unseen, newest if not unseen and newest >= 0 else None


def _state_epoch(step: Step, state: int | None, ledger: Ledger) -> int | None:
    if state is None:
        return None
    known = ledger.states.get(state)
    if known is None and step.writing.edit:
        known = ledger.states.get(combine("edit", step.resource, step.writing.new, step.writing.old))
    return known


def _host_state_known(step: Step, ledger: Ledger) -> bool | None:
    after = step.hints.state_after
    if not after:
        return None
    return after == step.hints.state_before or combine("host", after) in ledger.states


def _check_facts(check: CheckOutcome, ledger: Ledger) -> CheckFacts:
    record = ledger.checks.get(check.identity)
    turned = check.green and record is not None and not record.green
    work_known = green_work(check, ledger) in ledger.states
    best = record.best if record else None
    before = turned and record is not None and mended(check, record) in ledger.states
    return CheckFacts(
        turned_green=turned,
        changed_since_red=turned and not work_known and record is not None and ledger.mutations > record.red_at,
        improved=not check.green and check.failing is not None and best is not None and check.failing < best,
        moved=not check.green and combine("failing", check.message) not in ledger.states,
        mended_before=before,
        stale=record.stale if record else 0,
        stale_since=record.stale_since if record else 0,
        work_known=work_known,
    )


def _resource_read(step: Step, record: ResourceRecord | None) -> bool:
    if record is None or not record.windows:
        return False
    return not step.hints.content_digest or content_digest_of(step) == record.digest


def _window_shown(step: Step, record: ResourceRecord | None) -> bool:
    """Return whether earlier reads of the unchanged resource covered the range this one asks for."""
    if record is None or step.window is None or not _resource_read(step, record):
        return False
    first, last = step.window
    for start, end in sorted(record.windows):
        if start > first:
            break
        first = max(first, end + 1)
    return first > last


def _is_thin(step: Step, ledger: Ledger, config: DetectionConfig) -> bool:
    if not step.retrieval or len(step.words) < 8 or not ledger.searches:
        return False
    words = frozenset[int]().union(*(found for found, _ in ledger.searches))
    asked = frozenset[int]().union(*(question for _, question in ledger.searches))
    unseen = len(step.words - words) / len(step.words)
    reworded = len(step.asked - asked) / len(step.asked) if step.asked else 0.0
    return unseen < config.thin_unseen and reworded < config.thin_reworded


def _similar_empty(step: Step, ledger: Ledger) -> bool:
    if not step.empty or not step.query:
        return False
    return any(len(step.query & other) >= 0.5 * len(step.query | other) for other in ledger.empties)


def _mostly_silent(step: Step, ledger: Ledger) -> bool:
    """Return whether this tool's results are mostly of zero length: then they are not captured, not empty."""
    if not step.zero_length or step.exit_code is not None:
        return False
    total, silent = ledger.lengths.get(digest(step.tool), (0, 0))
    return total >= 4 and silent * 2 > total
