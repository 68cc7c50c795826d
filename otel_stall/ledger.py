"""What a lane has seen, as bounded maps of digests, and what that makes of a new step.

`facts_of` reads, `learn` writes; between them the gain of the step is decided. Every map drops its
oldest entry when full and counts it. A compaction clears nothing here: it only starts a new epoch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from otel_stall.config import BoundsConfig, DetectionConfig
from otel_stall.fingerprints import combine, digest
from otel_stall.observations import CheckOutcome, Effect, Step

__all__ = [
    "NEVER",
    "CallRecord",
    "CheckFacts",
    "CheckRecord",
    "Facts",
    "Ledger",
    "Recurrence",
    "ResourceRecord",
    "facts_of",
    "learn",
]

V = TypeVar("V")

_SEARCHES = 20
_EMPTIES = 12
_WINDOWS = 64


@dataclass(slots=True)
class CallRecord:
    """How often one call was made, in which epoch first, and after which mutation it last failed (-1: it did not)."""

    count: int
    epoch: int
    failed_at: int


@dataclass(slots=True)
class CheckRecord:
    """How one check stood when it last ran: its state, its best count, when and how it was last red,
    and for how many runs in a row it has failed without moving."""

    green: bool
    best: int | None
    red_at: int
    message: int
    stale: int
    stale_since: int


@dataclass(slots=True)
class ResourceRecord:
    """What was read of one resource: the host's digest, windows shown, further ranges since a change."""

    digest: int
    windows: list[tuple[int, int]]
    ranges: int


@dataclass(slots=True)
class Ledger:
    """All that a lane has seen, in digests; the plain maps hold the epoch of first sight, `errors` counts."""

    epoch: int = 0
    step: int = 0
    mutations: int = 0
    last_state: int = 0
    last_host_state: int = 0
    due: bool = True
    missing: int = 0
    calls: dict[int, CallRecord] = field(default_factory=dict)
    pairs: dict[int, int] = field(default_factory=dict)
    outcomes: dict[int, int] = field(default_factory=dict)
    exact: dict[int, int] = field(default_factory=dict)
    lines: dict[int, int] = field(default_factory=dict)
    states: dict[int, int] = field(default_factory=dict)
    errors: dict[int, int] = field(default_factory=dict)
    milestones: dict[int, int] = field(default_factory=dict)
    checks: dict[int, CheckRecord] = field(default_factory=dict)
    resources: dict[int, ResourceRecord] = field(default_factory=dict)
    lengths: dict[int, tuple[int, int]] = field(default_factory=dict)
    searches: list[tuple[frozenset[int], frozenset[int]]] = field(default_factory=list)
    empties: list[frozenset[int]] = field(default_factory=list)
    evicted: int = 0

    def recall(self, earlier: Ledger, bounds: BoundsConfig) -> None:
        """Take in what an earlier ledger of the same lane had seen, without forgetting anything of its own."""
        for name in _MAPS:
            own, known = getattr(self, name), getattr(earlier, name)
            merged = known | own
            limit = bounds.lines if name == "lines" else bounds.calls
            for key in list(merged)[: max(0, len(merged) - limit)]:
                del merged[key]
                self.evicted += 1
            setattr(self, name, merged)


_MAPS = (
    "calls",
    "pairs",
    "outcomes",
    "exact",
    "lines",
    "states",
    "errors",
    "milestones",
    "checks",
    "resources",
    "lengths",
)


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


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a step from what the lane saw before; epochs are None where nothing was known."""

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


def pair_of(step: Step) -> int | None:
    """Return the digest of call and outcome, None where either is unknown."""
    if step.signature is None or step.outcome is None:
        return None
    return combine(step.signature, step.outcome, step.exit_code)


def _outcome_of(step: Step) -> int | None:
    return None if step.outcome is None else combine(step.act, step.exit_code, step.outcome)


def facts_of(step: Step, ledger: Ledger, config: DetectionConfig) -> Facts:
    """Return what the ledger makes of a step. Pure: neither is changed."""
    call = ledger.calls.get(step.signature) if step.signature is not None else None
    pair, named = pair_of(step), _outcome_of(step)
    unseen, lines_epoch = _novelty(step, ledger)
    state = state_of(step)
    resource = ledger.resources.get(step.resource) if step.resource is not None else None
    return Facts(
        call_epoch=call.epoch if call else None,
        pair_epoch=ledger.pairs.get(pair) if pair is not None else None,
        outcome_epoch=ledger.outcomes.get(named) if named is not None else None,
        exact_repeat=step.signature is not None and ledger.exact.get(step.signature) == step.exact,
        failed_before=call is not None and call.failed_at == ledger.mutations,
        unseen_lines=unseen,
        lines_epoch=lines_epoch,
        state=state,
        state_epoch=_state_epoch(step, state, ledger),
        host_state_known=_host_state_known(step, ledger),
        milestone_known=combine("milestone", step.hints.milestone) in ledger.milestones,
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


def state_of(step: Step) -> int | None:
    """Return the digest of the state a mutation leaves behind, None for a step that is no mutation.

    The written content at its place where it is known, else the old and new text of an edit, else the
    call itself.
    """
    if not step.mutates:
        return None
    writing = step.writing
    if writing.edit:
        return combine("edit", step.resource, writing.old, writing.new)
    if writing.content is not None and step.effect is Effect.WRITE:
        return combine("content", step.resource, writing.content)
    return None if step.signature is None else combine("call", step.signature)


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
    work_known = _green_work(check, ledger) in ledger.states
    best = record.best if record else None
    mended = turned and record is not None and _mended(check, record) in ledger.states
    return CheckFacts(
        turned_green=turned,
        changed_since_red=turned and not work_known and record is not None and ledger.mutations > record.red_at,
        improved=not check.green and check.failing is not None and best is not None and check.failing < best,
        moved=not check.green and combine("failing", check.message) not in ledger.states,
        mended_before=mended,
        stale=record.stale if record else 0,
        stale_since=record.stale_since if record else 0,
        work_known=work_known,
    )


def _mended(check: CheckOutcome, record: CheckRecord) -> int:
    """Return the digest of one failure of a check being mended: progress once, however often it comes back."""
    return combine("mended", check.identity, record.message)


def _green_work(check: CheckOutcome, ledger: Ledger) -> int:
    """Return the digest of a check being green on the present state of the work: a milestone once."""
    return combine("green", check.identity, ledger.last_host_state or ledger.last_state)


def _resource_read(step: Step, record: ResourceRecord | None) -> bool:
    if record is None or not record.windows:
        return False
    return not step.hints.content_digest or _digest_of(step) == record.digest


def _digest_of(step: Step) -> int:
    """Return what is kept of the digest a host gives for a resource, 0 where it gives none."""
    return combine(step.hints.content_digest) if step.hints.content_digest else 0


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
    total, silent = ledger.lengths.get(digest(step.tool), (0, 0))
    return step.zero_length and step.exit_code is None and total >= 4 and silent * 2 > total


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
        (ledger.pairs, pair_of(step)),
        (ledger.outcomes, _outcome_of(step)),
        (ledger.milestones, combine("milestone", step.hints.milestone) if step.hints.milestone else None),
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
    total, silent = ledger.lengths.get(digest(step.tool), (0, 0))
    if step.outcome is not None:
        _put(ledger, ledger.lengths, digest(step.tool), (total + 1, silent + step.zero_length), calls)
    ledger.missing = 0 if changed else ledger.missing + step.signs.missing
    ledger.due = changed or (ledger.due and step.effect not in (Effect.CHECK, Effect.COMMAND))


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
    if step.resource is None:
        return
    record = ledger.resources.pop(step.resource, None) or ResourceRecord(0, [], 0)
    if changed or (step.hints.content_digest and _digest_of(step) != record.digest):
        record = ResourceRecord(_digest_of(step), [], 0)
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
        _first_seen(ledger, ledger.states, _green_work(check, ledger), bounds.calls)
        if old is not None and found.turned_green:
            _first_seen(ledger, ledger.states, _mended(check, old), bounds.calls)
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
    for one in digests:
        if one not in ledger.lines:
            _put(ledger, ledger.lines, one, ledger.epoch, bound)


def _put(ledger: Ledger, mapping: dict[int, V], key: int, value: V, bound: int) -> None:
    mapping[key] = value
    if len(mapping) > bound:
        del mapping[next(iter(mapping))]
        ledger.evicted += 1
