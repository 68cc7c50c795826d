"""What an analysis finds: lanes with their stalls, milestones and steps, and the totals over them.

All values are frozen and hold nothing of the contents of a call. Reports, the measurement and the timeline are made
of them alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from otel_stall.calls import Capture
from otel_stall.observations import Effect
from otel_stall.runs import Run
from otel_stall.verdicts import Gain, Milestone, Stall

__all__ = [
    "Analysis",
    "ConversationAnalysis",
    "Counters",
    "Cut",
    "Observable",
    "StepDetail",
    "Summary",
    "summarize",
]


@dataclass(frozen=True, slots=True)
class StepDetail:
    """One counted step as the report shows it; nothing of its contents but the names of tool and known command.

    `dry` are the steps without gain up to this one, `since_milestone` those since a verified milestone.
    Fingerprints are the digests of a verdict, None where the content is unknown. `span_id` is the step's span, or
    the one that its log record was written in, "" for none.
    """

    step: int
    tool: str
    effect: Effect
    arguments: Capture
    result: Capture
    failed: bool
    exit_code: int | None
    gain: Gain
    reason: str
    waste: float
    dry: int = 0
    since_milestone: int = 0
    call_fingerprint: int | None = None
    outcome_fingerprint: int | None = None
    command: str = ""
    trace_id: str = ""
    span_id: str = ""
    end_ns: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """A compaction of the context after a step, 0 before the first; `inferred` from token counts alone."""

    step: int
    inferred: bool = False


@dataclass(frozen=True, slots=True)
class Counters:
    """Where a lane stood after its last observation, in steps."""

    steps_since_milestone: int = 0
    steps_since_gain: int = 0
    state_changes: int = 0


@dataclass(frozen=True, slots=True)
class ConversationAnalysis:
    """One lane of one conversation.

    `captured` counts the steps whose arguments and results were recorded; `exit_codes` the commands and
    checks with an exit code, of `commands`. `outcome` is what the host says of the last run, "" where nothing.
    `tokens` are those of all model turns, None where the traces carry no token counts. `start_ns` and `end_ns` are
    the first start and the last end, 0 where no span tells.
    """

    conversation: str
    lane: str
    agent: str
    service: str
    steps: int
    compactions: int
    partial: bool
    outcome: str
    milestones: tuple[Milestone, ...]
    stalls: tuple[Stall, ...]
    counters: Counters
    arguments: int
    results: int
    commands: int
    exit_codes: int
    details: tuple[StepDetail, ...] = ()
    tokens: int | None = None
    runs: tuple[Run, ...] = ()
    cuts: tuple[Cut, ...] = ()
    start_ns: int = 0
    end_ns: int = 0

    @property
    def stalled_steps(self) -> int:
        """Steps that lie inside a stall; one inside two counts once."""
        inside = {step for stall in self.stalls for step in range(stall.first_step, stall.last_step + 1)}
        return len(inside)

    @property
    def stalled_tokens(self) -> int | None:
        """Tokens spent inside stalls, never more than in all; None where the traces carry no counts."""
        if self.tokens is None:
            return None
        return min(sum(stall.tokens or 0 for stall in self.stalls), self.tokens)

    @property
    def verified(self) -> tuple[Milestone, ...]:
        """The milestones that count."""
        return tuple(milestone for milestone in self.milestones if milestone.evidence.verified)

    @property
    def unfinished(self) -> bool:
        """Whether the run failed, or where nothing is said of that, whether it ended inside a stall."""
        if self.outcome in ("success", "failure"):
            return self.outcome == "failure"
        return any(stall.ended is None for stall in self.stalls)


@dataclass(frozen=True, slots=True)
class Observable:
    """Shares of steps whose arguments and results were recorded, of commands with an exit code, and of
    lanes with a compaction signal; None where the traces cannot tell.
    """

    arguments: float | None
    results: float | None
    exit_codes: float | None
    compaction: float | None


@dataclass(frozen=True, slots=True)
class Summary:
    """Totals; conversations are counted once, whatever number of lanes they have.

    `by_kind` counts conversations by each kind of stall they have; `silent` the stalled ones in which no
    input-side rule would have fired; `unfinished` runs failed or ended inside a stall, and `advanced` are
    those of them that reached a verified milestone.
    """

    conversations: int
    stalled: int
    by_kind: tuple[tuple[str, int], ...]
    steps: int
    stalled_steps: int
    silent: int
    unfinished: int
    advanced: int
    observable: Observable


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was found, in the order in which the lanes began.

    `spans` counts those read, of whatever kind; `tool_call_budget` is the setting, 0 where there is none.
    """

    conversations: tuple[ConversationAnalysis, ...]
    summary: Summary
    spans: int
    tool_call_budget: int = 0


def summarize(lanes: Sequence[ConversationAnalysis]) -> Summary:
    """Return the totals over all lanes."""
    by_conversation: dict[str, list[ConversationAnalysis]] = {}
    for lane in lanes:
        by_conversation.setdefault(lane.conversation, []).append(lane)
    stalls = [[stall for lane in group for stall in lane.stalls] for group in by_conversation.values()]
    kinds = [kind.value for group in stalls for kind in {stall.kind for stall in group}]
    unfinished = [group for group in by_conversation.values() if any(lane.unfinished for lane in group)]
    return Summary(
        conversations=len(by_conversation),
        stalled=sum(bool(group) for group in stalls),
        by_kind=tuple((kind, kinds.count(kind)) for kind in sorted(set(kinds))),
        steps=sum(lane.steps for lane in lanes),
        stalled_steps=sum(lane.stalled_steps for lane in lanes),
        silent=sum(bool(group) and all(stall.input_tiers.silent for stall in group) for group in stalls),
        unfinished=len(unfinished),
        advanced=sum(any(lane.verified for lane in group) for group in unfinished),
        observable=_observable(lanes),
    )


def _observable(lanes: Sequence[ConversationAnalysis]) -> Observable:
    steps = sum(lane.steps for lane in lanes)
    commands = sum(lane.commands for lane in lanes)
    return Observable(
        arguments=_share(sum(lane.arguments for lane in lanes), steps),
        results=_share(sum(lane.results for lane in lanes), steps),
        exit_codes=_share(sum(lane.exit_codes for lane in lanes), commands) or None,
        compaction=_share(sum(lane.compactions > 0 for lane in lanes), len(lanes)) or None,
    )


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
