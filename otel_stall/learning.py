"""Taking a step into the ledger, whatever gain it was given: the one place where a lane's memory changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from otel_stall.config import BoundsConfig
from otel_stall.facts import CheckFacts, Facts
from otel_stall.fingerprints import combine, digest
from otel_stall.ledger import (
    CallRecord,
    CheckRecord,
    Ledger,
    ResourceRecord,
    content_digest_of,
    failing_work,
    green_work,
    mended,
)
from otel_stall.observations import CheckOutcome, Effect, Step

__all__ = ["learn"]

V = TypeVar("V")

_SEARCHES = 20
_EMPTIES = 12
_WINDOWS = 64
_REBUILD = 1_024
_TIDY = 512


def learn(step: Step, facts: Facts, ledger: Ledger, bounds: BoundsConfig) -> None:
    """Take a step into the ledger, whatever gain it was given."""
    epoch, calls = ledger.epoch, bounds.calls
    changed = _changed(step, facts)
    if step.signature is not None:
        record = ledger.calls.pop(step.signature, None) or CallRecord(0, epoch, -1)
        record.count += 1
        record.failed_at = ledger.mutations if step.failed else -1
        _put(ledger, ledger.calls, step.signature, record, calls)
        if step.exact is not None:
            _put(ledger, ledger.exact, step.signature, step.exact, calls)
    for mapping, key in (
        (ledger.pairs, facts.pair),
        (ledger.outcomes, facts.named),
        (ledger.states, failing_work(step, ledger)),
        (ledger.milestones, _named_milestone(step)),
    ):
        if key is not None:
            _first_seen(ledger, mapping, key, calls)
    if step.error is not None:
        kind = combine(step.act, step.error)
        _put(ledger, ledger.errors, kind, ledger.errors.pop(kind, 0) + 1, calls)
    _all_seen(ledger, step.lines.digests, bounds.lines)
    _learn_state(step, facts, ledger, bounds, changed=changed)
    if step.check is not None and facts.check is not None:
        _learn_check(step.check, facts.check, ledger, bounds)
    _learn_searches(step, ledger)
    if step.outcome is not None:
        tool = digest(step.tool)
        total, silent = ledger.lengths.get(tool, (0, 0))
        _put(ledger, ledger.lengths, tool, (total + 1, silent + step.zero_length), calls)
    ledger.missing = 0 if changed else ledger.missing + step.signs.missing
    ledger.due = changed or (ledger.due and step.effect not in (Effect.CHECK, Effect.COMMAND))
    if ledger.step % _TIDY == 0:
        ledger.tidy(calls)


def _named_milestone(step: Step) -> int | None:
    """Return the digest of the milestone that the host verified, None where it names none or only passes on a claim."""
    hints = step.hints
    return combine("milestone", hints.milestone) if hints.milestone and hints.evidence != "declared" else None


def _changed(step: Step, facts: Facts) -> bool:
    """Return whether a step changed, or may have changed, something."""
    if step.failed:
        return False
    if facts.host_state_known is False:
        return True
    return (step.mutates and not step.signs.unchanged) or (step.may_mutate and facts.pair_epoch is None)


def _learn_state(step: Step, facts: Facts, ledger: Ledger, bounds: BoundsConfig, *, changed: bool) -> None:
    if step.hints.state_after:
        ledger.last_host_state = combine("host", step.hints.state_after)
        _first_seen(ledger, ledger.states, ledger.last_host_state, bounds.calls)
    if changed:
        ledger.mutations += 1
        ledger.empties.clear()
        if facts.state is not None:
            ledger.last_state = facts.state
            _first_seen(ledger, ledger.states, facts.state, bounds.calls)
        else:
            ledger.unknown_states += 1
    if step.resource is None:
        return
    record = ledger.resources.pop(step.resource, None) or ResourceRecord(0, [], 0)
    if changed or (step.hints.content_digest and content_digest_of(step) != record.digest):
        record = ResourceRecord(content_digest_of(step), [], 0)
    if step.effect is Effect.READ and step.outcome is not None and not step.failed:
        record.ranges += bool(record.windows)
        record.windows = [*record.windows, step.window or (1, max(step.lines.total, 1))][-_WINDOWS:]
    _put(ledger, ledger.resources, step.resource, record, bounds.calls)


def _learn_check(check: CheckOutcome, found: CheckFacts, ledger: Ledger, bounds: BoundsConfig) -> None:
    old = ledger.checks.pop(check.identity, None)
    fresh = check.green or found.moved or found.improved
    counts = [count for count in (old.best if old else None, check.failing) if count is not None]
    record = CheckRecord(
        green=check.green,
        best=min(counts, default=None),
        red_at=(old.red_at if old else -1) if check.green else ledger.mutations,
        message=old.message if old and check.green else check.message,
        stale=0 if fresh else found.stale + 1,
        stale_since=found.stale_since if found.stale and not fresh else ledger.step,
    )
    if not check.green:
        _first_seen(ledger, ledger.states, combine("failing", check.message), bounds.calls)
    else:
        _first_seen(ledger, ledger.states, green_work(check, ledger), bounds.calls)
        if old is not None and found.turned_green:
            _first_seen(ledger, ledger.states, mended(check, old), bounds.calls)
    _put(ledger, ledger.checks, check.identity, record, bounds.calls)


def _learn_searches(step: Step, ledger: Ledger) -> None:
    if step.retrieval and step.words:
        ledger.searches = [*ledger.searches, (step.words, step.asked)][-_SEARCHES:]
    if step.empty and step.query:
        ledger.empties = [*ledger.empties, step.query][-_EMPTIES:]


def _first_seen(ledger: Ledger, mapping: dict[int, int], key: int, bound: int) -> None:
    if key not in mapping:
        _put(ledger, mapping, key, ledger.epoch, bound)


def _all_seen(ledger: Ledger, digests: Iterable[int], bound: int) -> None:
    lines, epoch, before = ledger.lines, ledger.epoch, ledger.evicted
    for one in digests:
        if one not in lines:
            lines[one] = epoch
            if len(lines) > bound:
                del lines[next(iter(lines))]
                ledger.evicted += 1
    if ledger.evicted // _REBUILD != before // _REBUILD:
        # The first entry of a mapping is found by going past all that were deleted before it.
        ledger.lines = dict(lines.items())


def _put(ledger: Ledger, mapping: dict[int, V], key: int, value: V, bound: int) -> None:
    mapping[key] = value
    if len(mapping) > bound:
        del mapping[next(iter(mapping))]
        ledger.evicted += 1
