"""The values the fold hands out: gain of a step, stall, level, and the verdict that joins them.

Emission, reports and the pressure a host reads are made from these alone. All are frozen; two folds
over the same observations give equal verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from otel_stall.observations import Observation
from otel_stall.values import unguarded

__all__ = [
    "Change",
    "Changed",
    "Declaration",
    "EndReason",
    "Evidence",
    "Gain",
    "InputTiers",
    "Judged",
    "Kind",
    "Level",
    "Milestone",
    "Stall",
    "Verdict",
]


class Gain(StrEnum):
    """What a step brought; `neutral` where nothing can be said."""

    MILESTONE = "milestone"
    VERIFICATION = "verification"
    STATE = "state"
    INFORMATION = "information"
    NONE = "none"
    NEUTRAL = "neutral"


class Kind(StrEnum):
    """Kind of a stall."""

    LOOP = "loop"
    NO_GRADIENT = "no_gradient"
    AMNESIA = "amnesia"


class Level(StrEnum):
    """How hard to push back, from the counter shown to the model up to giving up with milestones kept."""

    NOTICE = "notice"
    REPLAN = "replan"
    ASK_USER = "ask_user"
    ABANDON = "abandon"

    @property
    def rank(self) -> int:
        """Position on the ladder, from 0."""
        return _LADDER.index(self)


_LADDER = (Level.NOTICE, Level.REPLAN, Level.ASK_USER, Level.ABANDON)


class EndReason(StrEnum):
    """Why a stall ended; `renamed`: another of this lane goes on, that began before the conversation was known."""

    GAIN = "gain"
    MILESTONE = "milestone"
    USER_TURN = "user_turn"
    RUN_BOUNDARY = "run_boundary"
    RENAMED = "renamed"


class Evidence(StrEnum):
    """How a milestone is known; only the first two are verified."""

    OBSERVED = "observed"
    IRREVERSIBLE = "irreversible"
    DECLARED = "declared"

    @classmethod
    def told(cls, text: str) -> Evidence:
        """Return what a host's word means: nothing is `observed`, a word that is none of these only `declared`."""
        return cls(text) if text in tuple(cls) else cls.DECLARED if text else cls.OBSERVED

    @property
    def verified(self) -> bool:
        """Whether the milestone counts: a declared one is recorded only."""
        return self is not Evidence.DECLARED


class Change(StrEnum):
    """What happened at an observation, beside the step itself; each becomes one event."""

    STARTED = "started"
    ESCALATED = "escalated"
    ENDED = "ended"
    MILESTONE_REACHED = "milestone_reached"
    CONTEXT_COMPACTED = "context_compacted"


@dataclass(frozen=True, slots=True)
class InputTiers:
    """Step at which each input-side rule would have fired in this run, None = it stayed silent."""

    repeat: int | None = None
    cycle: int | None = None
    composite: int | None = None

    @property
    def silent(self) -> bool:
        """Whether none of them fired."""
        return self.repeat is None and self.cycle is None and self.composite is None


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declared milestone that waits for what verifies it."""

    step: int
    name: str


@dataclass(frozen=True, slots=True)
class Milestone:
    """One milestone: its step, name and evidence, and the length of the segment it closes.

    `confirms` are the declared ones that this one verifies. `confirmed_at` is, of a declared one, the step at
    which that happened; only a report knows it, for it looks back. The rest is known of those that a lane keeps:
    `fingerprint` is that of the outcome that reached it, `check` the identity of the check, `lost_at` the step at
    which that check was red again.
    """

    step: int
    name: str
    evidence: Evidence
    segment: int
    confirms: tuple[Declaration, ...] = ()
    confirmed_at: int | None = None
    fingerprint: int | None = None
    trace_id: str = ""
    check: int | None = None
    lost_at: int | None = None

    @property
    def stands(self) -> bool:
        """Whether it is verified and its check has not failed since."""
        return self.evidence.verified and self.lost_at is None


@dataclass(frozen=True, slots=True)
class Stall:
    """One stall as known after an observation; `number` identifies it in its lane, from 1.

    `levels` holds (level, step) in the order reached; `last_step` is the last step inside it. `tokens`
    are those of the model turns inside it, None where the traces carry no token counts.
    """

    number: int
    kind: Kind
    first_step: int
    detected_step: int
    last_step: int
    levels: tuple[tuple[Level, int], ...]
    evidence: tuple[str, ...] = ()
    ended: EndReason | None = None
    tokens: int | None = None
    input_tiers: InputTiers = InputTiers()

    @property
    def level(self) -> Level:
        """Highest level reached."""
        return max((level for level, _ in self.levels), key=lambda level: level.rank, default=Level.NOTICE)


@dataclass(frozen=True, slots=True)
class Changed:
    """One change with what it is about: the stall or the milestone, and the step it happened at.

    `inferred`: no signal of the host tells of it, token counts do.
    """

    change: Change
    step: int
    stall: Stall | None = None
    milestone: Milestone | None = None
    inferred: bool = False


@unguarded
@dataclass(frozen=True, slots=True)
class Verdict:
    """What the fold says after one observation.

    `step` is the number of the step, or of the last one where the observation is none. `counted` tells
    the two apart: only counted verdicts are written on a span. Fingerprints are 64-bit integers, None
    where the content is unknown. `stall` is the stall this step lies in, None outside any; `stalled_tokens`
    are those that it was not known to have spent before.
    """

    step: int
    counted: bool
    gain: Gain
    reason: str
    waste: float
    steps_since_milestone: int
    steps_since_gain: int
    milestone_count: int
    state_changes: int
    epoch: int
    call_fingerprint: int | None = None
    outcome_fingerprint: int | None = None
    stall: Stall | None = None
    stalled_tokens: int = 0
    changes: tuple[Changed, ...] = ()


@unguarded
@dataclass(frozen=True, slots=True)
class Judged:
    """One observation with whose it is and what the fold says of it.

    A report needs nothing else: it follows the stalls by their number, the milestones by the changes.
    """

    conversation: str
    lane: str
    agent: str
    service: str
    trace_id: str
    span_id: str
    observation: Observation
    verdict: Verdict
    partial: bool = False
