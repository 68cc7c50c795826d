"""What the fold takes: steps, model turns and compactions as fingerprints, never as contents.

Everything here is frozen and comparable. Digests are 64-bit xxh3 integers of `fingerprints`; None
means the content is unknown (not captured, redacted, truncated), and unknown equals nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from otel_stall.calls import NO_HINTS, Capture, Hints

__all__ = [
    "CheckOutcome",
    "Compaction",
    "Effect",
    "HostMilestone",
    "ModelTurn",
    "Observation",
    "RunBoundary",
    "Step",
    "UserTurn",
]


class Effect(StrEnum):
    """What a step could do to the world, as far as its tool, arguments and hints tell."""

    READ = "read"
    SEARCH = "search"
    COMMAND = "command"
    CHECK = "check"
    WRITE = "write"
    IRREVERSIBLE = "irreversible"
    MESSAGE = "message"
    WAIT = "wait"
    NOTE = "note"
    THINK = "think"
    OTHER = "other"

    def mutates(self) -> bool:
        """Return whether a successful step of this effect changes state by its nature."""
        return self in (Effect.WRITE, Effect.IRREVERSIBLE, Effect.MESSAGE)

    def looks(self) -> bool:
        """Return whether such a step only looks: it changes nothing wherever it points."""
        return self in (Effect.READ, Effect.SEARCH, Effect.THINK)


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """What a recognised test, build, lint or type check reported.

    `identity` names the check (command and targets); `failing` is its count of failures where it says
    one; `message` the digest of what failed.
    """

    identity: int
    green: bool
    failing: int | None
    message: int


@dataclass(frozen=True, slots=True)
class Lines:
    """The distinct lines of a result as digests of their masked text, and how many lines there were."""

    digests: tuple[int, ...] = ()
    total: int = 0
    sampled: bool = False


NO_LINES = Lines()


@dataclass(frozen=True, slots=True)
class Writing:
    """What a mutation wrote: digest of the resulting content, and of the old and new text of an edit."""

    content: int | None = None
    old: int | None = None
    new: int | None = None
    lines: Lines = NO_LINES


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call as the fold sees it."""

    tool: str
    effect: Effect
    command: str = ""
    signature: int | None = None
    outcome: int | None = None
    arguments: Capture = Capture.ABSENT
    result: Capture = Capture.ABSENT
    failed: bool = False
    exit_code: int | None = None
    empty: bool = False
    zero_length: bool = False
    lines: Lines = NO_LINES
    error: int | None = None
    error_lines: tuple[int, ...] = ()
    check: CheckOutcome | None = None
    resource: int | None = None
    span_range: tuple[int, int] | None = None
    writing: Writing | None = None
    unchanged: bool = False
    refused: bool = False
    reverts: bool = False
    removes: bool = False
    noop: bool = False
    malformed: bool = False
    running: bool = False
    declares_done: bool = False
    todo_done: bool = False
    commits: bool = False
    retrieval: bool = False
    query: frozenset[int] = frozenset()
    words: frozenset[int] = frozenset()
    pending: bool = False
    call_id: str = ""
    hints: Hints = NO_HINTS


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One model inference; `text` is the digest of what the assistant said, None where it said nothing."""

    text: int | None = None
    calls_tools: bool = False
    user_messages: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    compacted: bool = False


@dataclass(frozen=True, slots=True)
class Compaction:
    """The context was compacted; `source` says which signal told."""

    source: str


@dataclass(frozen=True, slots=True)
class UserTurn:
    """A person spoke: streaks and levels start anew, what was seen stays seen."""


@dataclass(frozen=True, slots=True)
class RunBoundary:
    """A new run began (`stall.run.id` changed): everything starts anew."""

    run_id: str


@dataclass(frozen=True, slots=True)
class HostMilestone:
    """The host named a milestone outside any tool call."""

    name: str
    evidence: str


Observation = Step | ModelTurn | Compaction | UserTurn | RunBoundary | HostMilestone
