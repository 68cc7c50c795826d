"""What the fold takes: steps, model turns and compactions as fingerprints, never as contents.

Everything here is frozen and comparable. Digests are 64-bit xxh3 integers of `fingerprints`; None
means the content is unknown (not captured, redacted, truncated), and unknown equals nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from otel_stall.calls import NO_HINTS, Capture, Hints
from otel_stall.values import unguarded

__all__ = [
    "CheckOutcome",
    "Compaction",
    "Effect",
    "GhostCall",
    "HostMilestone",
    "HostSign",
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


@unguarded
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


@unguarded
@dataclass(frozen=True, slots=True)
class Lines:
    """The distinct lines of a result as digests of their masked text, and how many lines there were."""

    digests: tuple[int, ...] = ()
    total: int = 0
    sampled: bool = False


NO_LINES = Lines()


@unguarded
@dataclass(frozen=True, slots=True)
class Writing:
    """What a mutation wrote, as digests: the whole new content, or the old and new text of an edit.

    `edit` tells an edit (its old text known) from a file written whole; `removes` marks a mutation that
    leaves no content which could be new (rm, mkdir, chmod); `reverts` one that takes changes back (git
    checkout, restore, stash); `aside` a file made beside the work: a summary, a demo, a report,
    or what a looking command shows (`git diff > a.patch`).
    """

    content: int | None = None
    old: int | None = None
    new: int | None = None
    edit: bool = False
    removes: bool = False
    reverts: bool = False
    aside: bool = False


NO_WRITING = Writing()


@unguarded
@dataclass(frozen=True, slots=True)
class Signs:
    """What else the call and its result say, each read once from their text.

    `noop`: a shell line that does nothing. `malformed`: the host or the shell refused it as broken.
    `unchanged`: the answer says that nothing was changed. `running`: a polled job goes on. `done`: the
    model declares that the work is done, by a tool or a to-do list all ticked. `commits`: a commit, push
    or pull request. `acknowledged`: the answer is a bare receipt. `missing`: a command, module or file
    that the call needs is not there.
    """

    noop: bool = False
    malformed: bool = False
    unchanged: bool = False
    running: bool = False
    done: bool = False
    commits: bool = False
    acknowledged: bool = False
    missing: bool = False


NO_SIGNS = Signs()


@unguarded
@dataclass(frozen=True, slots=True)
class Step:
    """One tool call as the fold sees it.

    `command` is the tool with the known words of its shell command ("bash:git status"), fit for export;
    `act` the digest of the tool and the first word, whatever it is. `signature` is
    the digest of tool and canonical arguments, `outcome` that of the masked result, `exact` of the
    result as it was. `failed` and `empty` are read from telemetry and text. `mutates` says that the
    call changes state by its nature. `query` holds the words of the question; `asked` and `words` the word
    trigrams of question and result, for retrieval tools only. `window` is the range of lines a read asks for, from 1.
    `denied`: a person or a policy refused the call.
    """

    tool: str
    effect: Effect
    command: str = ""
    act: int = 0
    signature: int | None = None
    outcome: int | None = None
    exact: int | None = None
    arguments: Capture = Capture.ABSENT
    result: Capture = Capture.ABSENT
    failed: bool = False
    exit_code: int | None = None
    empty: bool = False
    zero_length: bool = False
    error: int | None = None
    lines: Lines = NO_LINES
    check: CheckOutcome | None = None
    resource: int | None = None
    window: tuple[int, int] | None = None
    mutates: bool = False
    writing: Writing = NO_WRITING
    signs: Signs = NO_SIGNS
    retrieval: bool = False
    query: frozenset[int] = frozenset()
    asked: frozenset[int] = frozenset()
    words: frozenset[int] = frozenset()
    pending: bool = False
    call_id: str = ""
    hints: Hints = NO_HINTS
    denied: bool = False

    @property
    def may_mutate(self) -> bool:
        """Whether the step, not known to mutate, may have: a command or unknown tool with nothing to show for it."""
        silent = self.zero_length or self.signs.acknowledged or (self.effect is Effect.COMMAND and self.empty)
        return silent and not self.failed and self.effect in (Effect.COMMAND, Effect.OTHER, Effect.CHECK)

    @property
    def waits(self) -> bool:
        """Whether the agent waits: the host says so, or a polled job answers that it goes on."""
        return bool(self.hints.wait_on) or (self.signs.running and not self.failed)


@unguarded
@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One model inference; `text` is the digest of what the assistant said, None where it said nothing.

    `expects_call`: it asked for a tool, and its host lets every call it runs be seen.
    """

    text: int | None = None
    calls_tools: bool = False
    user_messages: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    compacted: bool = False
    expects_call: bool = False


@dataclass(frozen=True, slots=True)
class Compaction:
    """The context was compacted; `source` says which signal told, `futile` that hardly anything was freed."""

    source: str
    futile: bool = False


@dataclass(frozen=True, slots=True)
class GhostCall:
    """The model asked for a tool and the host ran none: it refused the call without a trace."""


@dataclass(frozen=True, slots=True)
class HostSign:
    """A host's own sign of a stall by its name, or the digest of the whole work: never a verdict by itself."""

    sign: str = ""
    work: int | None = None


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


Observation = Step | ModelTurn | Compaction | GhostCall | HostSign | UserTurn | RunBoundary | HostMilestone
