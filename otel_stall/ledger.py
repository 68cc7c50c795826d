"""What a lane has seen, as bounded maps of digests, and the keys under which it is remembered.

Every map drops its oldest entry when full and counts it. A compaction clears nothing here: it only
starts a new epoch.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from otel_stall.config import BoundsConfig
from otel_stall.fingerprints import combine
from otel_stall.observations import CheckOutcome, Effect, Step

__all__ = [
    "CallRecord",
    "CheckRecord",
    "Ledger",
    "ResourceRecord",
    "content_digest_of",
    "green_work",
    "mended",
    "named_outcome",
    "pair_of",
    "state_of",
]


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
    unknown_states: int = 0
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

    def tidy(self, bound: int) -> None:
        """Make the full maps anew, as they are: the oldest entry is found by going past all deleted before it."""
        for name in _MAPS:
            known = getattr(self, name)
            if len(known) >= bound:
                setattr(self, name, dict(known.items()))


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


def pair_of(step: Step) -> int | None:
    """Return the digest of call and outcome, None where either is unknown."""
    if step.signature is None or step.outcome is None:
        return None
    return combine(step.signature, step.outcome, step.exit_code)


def named_outcome(step: Step) -> int | None:
    """Return the digest of an outcome together with the tool and command it came from, None where unknown."""
    return None if step.outcome is None else combine(step.act, step.exit_code, step.outcome)


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


def mended(check: CheckOutcome, record: CheckRecord) -> int:
    """Return the digest of one failure of a check being mended: progress once, however often it comes back."""
    return combine("mended", check.identity, record.message)


def green_work(check: CheckOutcome, ledger: Ledger) -> int:
    """Return the digest of a check being green on the present state of the work: a milestone once."""
    return combine("green", check.identity, ledger.last_host_state or ledger.last_state)


def failing_work(step: Step, ledger: Ledger) -> int | None:
    """Return the digest of a call failing without a word on the present state of the work, None where unknown.

    Where a host records no output of failures, the same call failing on the same state tells as much.
    """
    if step.outcome is not None or step.signature is None or not step.failed or not ledger.last_state:
        return None
    return combine("failing", step.signature, ledger.last_state, ledger.unknown_states)


def content_digest_of(step: Step) -> int:
    """Return what is kept of the digest a host gives for a resource, 0 where it gives none."""
    return combine(step.hints.content_digest) if step.hints.content_digest else 0
