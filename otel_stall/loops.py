"""The second-lap rule over call and outcome, and the three input-side tiers it is compared with.

The tiers are those of published loop detectors: they see tool names and arguments alone. They open no
stall; each stall says when they would have fired, or that they stayed silent.
"""

from __future__ import annotations

from dataclasses import dataclass

from otel_stall.config import DetectionConfig
from otel_stall.facts import Facts
from otel_stall.observations import Effect, Step
from otel_stall.reasons import TABLE, Reason
from otel_stall.values import replace, unguarded
from otel_stall.verdicts import Gain, InputTiers

__all__ = ["InputSide", "LoopRun", "extend_loop", "go_round", "observe_inputs"]

_MAX_PAIRS = 64
_PERIODS = range(2, 6)

_NEITHER = frozenset(
    {Reason.INFRASTRUCTURE, Reason.WAITING, Reason.OUTCOME_UNKNOWN, Reason.CONTENT_NOT_CAPTURED}
    | {Reason.NEW_THOUGHT, Reason.REPEATED_THOUGHT}
)
_HIDDEN_MUTATION = frozenset({Reason.ACKNOWLEDGEMENT, Reason.REMOVED, Reason.EMPTY_ANSWER})


@unguarded
@dataclass(frozen=True, slots=True)
class LoopRun:
    """Consecutive steps whose call and outcome were known: how many, over which pairs, since which step.

    `blind` counts the same call in a row where its outcome is not captured.
    """

    length: int = 0
    pairs: tuple[int, ...] = ()
    since: int = 0
    blind: int = 0
    blind_call: int | None = None
    blind_since: int = 0

    def complete(self, least: int, laps: int) -> bool:
        """Return whether the run reached max(least, laps x distinct pairs)."""
        return 0 < len(self.pairs) < _MAX_PAIRS and self.length >= max(least, laps * len(self.pairs))


def extend_loop(run: LoopRun, step: Step, facts: Facts, reason: Reason, number: int) -> LoopRun:
    """Return the run after a step: longer on a known pair, unchanged where nothing can be said, else ended.

    A neutral command ends it, since it may have changed something unseen; so does any gain.
    """
    run = _blind(run, step, number)
    if reason in _NEITHER or step.effect is Effect.WAIT:
        return run
    if reason in _HIDDEN_MUTATION or TABLE[reason].gain in (Gain.MILESTONE, Gain.STATE, Gain.VERIFICATION):
        return _ended(run)
    if step.effect in (Effect.COMMAND, Effect.CHECK) and facts.pair_epoch is not None and not facts.exact_repeat:
        return run
    pair = facts.pair
    return go_round(run, pair, number) if pair is not None and facts.pair_epoch is not None else _ended(run)


def go_round(run: LoopRun, pair: int, number: int) -> LoopRun:
    """Return the run one longer, over a pair that is known."""
    pairs = run.pairs if pair in run.pairs else (*run.pairs, pair)[:_MAX_PAIRS]
    return replace(run, length=run.length + 1, pairs=pairs, since=run.since if run.length else number)


def _ended(run: LoopRun) -> LoopRun:
    if not run.length:
        return run
    return replace(run, length=0, pairs=())


def _blind(run: LoopRun, step: Step, number: int) -> LoopRun:
    if step.outcome is not None or step.signature is None:
        return replace(run, blind=0, blind_call=None) if run.blind else run
    if step.signature == run.blind_call:
        return replace(run, blind=run.blind + 1)
    return replace(run, blind=1, blind_call=step.signature, blind_since=number)


@unguarded
@dataclass(frozen=True, slots=True)
class InputSide:
    """State of the input-side tiers: recent calls, and the step at which each tier last began to fire."""

    recent: tuple[int, ...] = ()
    repeated: int = 0
    compactions: int = 0
    calls: int = 0
    repeat_at: int | None = None
    cycle_at: int | None = None
    composite_at: int | None = None

    def since(self, first_step: int) -> InputTiers:
        """Return what the tiers said from a step on; one that began to fire before says nothing of it."""
        return InputTiers(
            repeat=_from(self.repeat_at, first_step),
            cycle=_from(self.cycle_at, first_step),
            composite=_from(self.composite_at, first_step),
        )


def _from(step: int | None, first_step: int) -> int | None:
    return step if step is not None and step >= first_step else None


def observe_inputs(side: InputSide, step: Step, number: int, config: DetectionConfig) -> InputSide:
    """Return the tiers' state after a step. A call with unknown arguments breaks every run."""
    calls = side.calls + 1
    if step.signature is None:
        return replace(side, recent=(), repeated=0, calls=calls)
    repeated = side.repeated + 1 if side.recent[-1:] == (step.signature,) else 1
    kept = max(_PERIODS) * config.cycle_laps
    recent = (*side.recent, step.signature)[-kept:]
    begins = _cycles(recent, config.cycle_laps) and not _cycles(side.recent, config.cycle_laps)
    over = 0 < 0.75 * config.tool_call_budget <= calls and side.compactions >= 2
    return replace(
        side,
        recent=recent,
        repeated=repeated,
        calls=calls,
        repeat_at=number if repeated == config.repeat_tier else side.repeat_at,
        cycle_at=number if begins else side.cycle_at,
        composite_at=number if over and side.composite_at is None else side.composite_at,
    )


def _cycles(recent: tuple[int, ...], laps: int) -> bool:
    """Return whether the last calls are so many laps of a period of two to five calls that are not all one."""
    for period in _PERIODS:
        if len(recent) >= period * laps and (laps < 2 or recent[-1] == recent[-1 - period]):
            tail = recent[-period * laps :]
            lap = tail[:period]
            if len(set(lap)) > 1 and tail == lap * laps:
                return True
    return False
