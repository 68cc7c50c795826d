"""Opening, sharpening, raising and closing of stalls: triggers over the counters, edge by edge.

A trigger opens when its count reaches the threshold and closes when the count is back at zero; the
stall lasts as long as any trigger is open. Raising a threshold can therefore only shorten stalls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from otel_stall.config import DetectionConfig
from otel_stall.evidence import evidence_of
from otel_stall.reasons import TABLE
from otel_stall.scenes import RECENT, Entry, Scene, Trigger
from otel_stall.values import replace, unguarded
from otel_stall.verdicts import Change, Changed, EndReason, Gain, Kind, Level, Stall

__all__ = ["ClosedStall", "OpenStall", "close_stall", "decide"]

_MILD = frozenset({Trigger.AFTER_DONE, Trigger.BLIND})
"""Triggers that alone never go beyond a notice."""


@unguarded
@dataclass(frozen=True, slots=True)
class OpenStall:
    """A stall that lasts, with the triggers that hold it open.

    `pressing` is the level that the counters speak for now; the stall's own level never falls.
    """

    stall: Stall
    triggers: tuple[Trigger, ...]
    calls: frozenset[int] = frozenset()
    tokens_before: int | None = None
    pressing: Level = Level.NOTICE


@dataclass(frozen=True, slots=True)
class ClosedStall:
    """The last stall that ended, kept to recognise its relapse."""

    stall: Stall
    calls: frozenset[int]
    tokens_before: int | None


def decide(
    scene: Scene, open_stall: OpenStall | None, closed: ClosedStall | None, config: DetectionConfig
) -> tuple[OpenStall | None, ClosedStall | None, tuple[Changed, ...]]:
    """Return the stall that is open after an observation, the last closed one, and what changed. Pure."""
    if open_stall is None and not _counting(scene):
        return None, closed, ()
    counts = _triggers(scene, config)
    reached = {trigger: since for trigger, (value, since, least) in counts.items() if value >= least}
    held = open_stall.triggers if open_stall is not None else ()
    holding = tuple(one for one, (value, _, _) in counts.items() if one in reached or (one in held and value > 0))
    if not holding:
        if open_stall is None:
            return None, closed, ()
        reason = EndReason.MILESTONE if scene.milestone else EndReason.GAIN
        return None, *close_stall(open_stall, reason, scene.counters.step)
    before = open_stall or _opened(scene, min(reached.values()), closed, config)
    after = _updated(scene, before, holding, config)
    changed = _changes(before if open_stall else None, after, scene.counters.step)
    return after, closed, changed


def close_stall(open_stall: OpenStall, reason: EndReason, step: int) -> tuple[ClosedStall, tuple[Changed, ...]]:
    """Return a stall as ended, kept for a relapse, and the change that says so."""
    ended = replace(open_stall.stall, ended=reason)
    closed = ClosedStall(ended, open_stall.calls, open_stall.tokens_before)
    return closed, (Changed(Change.ENDED, step, stall=ended),)


def _counting(scene: Scene) -> bool:
    """Return whether any trigger counts anything: without that none is reached, as every threshold is above 0."""
    c, loop = scene.counters, scene.loop
    streaks = c.dry or c.flat or c.thin or c.reacquired or c.idle_compactions or c.after_done
    return bool(streaks or c.waste or loop.length or loop.blind)


def _triggers(scene: Scene, config: DetectionConfig) -> dict[Trigger, tuple[float, int, float]]:
    """Return of each trigger its count, the step the count began at, and the threshold."""
    c, loop = scene.counters, scene.loop
    lap = loop.length if loop.complete(1, 1) else 0
    needed = max(config.loop_notice, 2 * len(loop.pairs))
    amnesia = c.reacquired if scene.epoch else 0
    return {
        Trigger.DRY: (c.dry, c.dry_since, config.dry_notice),
        Trigger.FLAT: (c.flat, c.flat_since, config.flat_notice),
        Trigger.THIN: (c.thin, c.thin_since, config.thin_notice),
        Trigger.LOOP: (lap, loop.since, needed),
        Trigger.BLIND: (loop.blind, loop.blind_since, config.repeat_tier),
        Trigger.AMNESIA: (amnesia, c.reacquired_since, config.amnesia_steps),
        Trigger.COMPACTIONS: (c.idle_compactions, c.step, 3),
        Trigger.WASTE: (c.waste, c.waste_since, config.waste_notice),
        Trigger.AFTER_DONE: (c.after_done, c.done_since, config.after_done_notice),
    }


def _opened(scene: Scene, first_step: int, closed: ClosedStall | None, config: DetectionConfig) -> OpenStall:
    """Return a new stall, or the last one again where this is its relapse: its levels stay reached."""
    step = scene.counters.step
    entries = _within(scene.recent, first_step)
    calls = frozenset(entry.call for entry in entries if entry.call is not None)
    if closed is not None and step - closed.stall.last_step <= config.resume_within and _common(calls, closed.calls):
        both = closed.calls | calls
        return OpenStall(
            replace(closed.stall, ended=None), (), both if len(both) <= RECENT else calls, closed.tokens_before
        )
    earlier = [entry.tokens for entry in scene.recent if entry.step < first_step and entry.tokens is not None]
    stall = Stall(
        number=scene.stall_count + 1,
        kind=Kind.NO_GRADIENT,
        first_step=max(first_step, 1),
        detected_step=max(step, 1),
        last_step=step,
        levels=((Level.NOTICE, max(step, 1)),),
    )
    return OpenStall(stall, (), calls, earlier[-1] if earlier else 0)


def _common(calls: frozenset[int], others: frozenset[int]) -> bool:
    least = min(len(calls), len(others))
    return least > 0 and 2 * len(calls & others) >= least


def _updated(scene: Scene, before: OpenStall, holding: tuple[Trigger, ...], config: DetectionConfig) -> OpenStall:
    stall, step = before.stall, scene.counters.step
    entries = _within(scene.recent, stall.first_step)
    kind = _sharper(stall.kind, _kind(scene, entries, holding))
    levels, pressing = list(stall.levels), _level(scene, holding, config)
    reached = {level for level, _ in levels}
    for level in Level:
        if level.rank <= pressing.rank and level not in reached:
            levels.append((level, step))
    tokens = None if scene.tokens is None else scene.tokens - (before.tokens_before or 0)
    calls = before.calls | {entry.call for entry in entries[-1:] if entry.call is not None}
    updated = replace(
        stall,
        kind=kind,
        last_step=max(step, stall.first_step),
        levels=tuple(levels),
        evidence=evidence_of(scene, holding, entries),
        tokens=tokens,
        input_tiers=scene.inputs.since(stall.first_step),
    )
    calls = calls if len(calls) <= RECENT else before.calls
    return replace(before, stall=updated, triggers=holding, calls=calls, pressing=pressing)


def _within(recent: Sequence[Entry], first_step: int) -> list[Entry]:
    return [entry for entry in recent if entry.step >= first_step]


_SHARPNESS = (Kind.NO_GRADIENT, Kind.LOOP, Kind.AMNESIA)
_LAP = 5
"""Different calls at most that people call a loop, as in published cycle detectors (periods up to 5)."""


def _sharper(old: Kind, new: Kind) -> Kind:
    return max(old, new, key=_SHARPNESS.index)


def _kind(scene: Scene, entries: list[Entry], holding: tuple[Trigger, ...]) -> Kind:
    """Return the kind that triggers and recent steps speak for.

    Amnesia where half of the steps without gain bring what an earlier epoch knew. Loop where the second
    lap of at most five calls is complete, or 35 % of the steps repeat calls, each of them twice on
    average; never where two different mutations are among them, or 30 % of the steps wait.
    """
    barren = [entry for entry in entries if TABLE[entry.reason].gain is Gain.NONE]
    again = sum(entry.reacquired for entry in barren)
    if Trigger.AMNESIA in holding or Trigger.COMPACTIONS in holding or (again and 2 * again >= len(barren)):
        return Kind.AMNESIA
    waits = sum(entry.waits for entry in entries)
    mutating = {entry.call for entry in entries if entry.mutates}
    if (entries and waits >= 0.3 * len(entries)) or len(mutating) > 1:
        return Kind.NO_GRADIENT
    if Trigger.BLIND in holding or (Trigger.LOOP in holding and len(scene.loop.pairs) <= _LAP):
        return Kind.LOOP
    repeats = [entry.call for entry in entries if entry.repeated]
    often = len(repeats) >= max(0.35 * len(entries), 2 * len(set(repeats)), 1) and len(set(repeats)) <= _LAP
    return Kind.LOOP if often and (Trigger.DRY in holding or Trigger.WASTE in holding) else Kind.NO_GRADIENT


def _level(scene: Scene, holding: tuple[Trigger, ...], config: DetectionConfig) -> Level:
    """Return how hard to push after this observation.

    The upper two levels need a milestone distance beyond the limit; the distance alone is never a reason.
    """
    c = scene.counters
    if scene.partial or _MILD.issuperset(holding):
        return Level.NOTICE
    far = c.distance > scene.distance_limit
    if far and (c.dry >= config.dry_abandon or c.waste >= config.waste_abandon):
        return Level.ABANDON
    if far and (c.dry >= config.dry_ask_user or c.waste >= config.waste_ask_user):
        return Level.ASK_USER
    looping = Trigger.LOOP in holding and scene.loop.complete(config.loop_replan, 3)
    if c.dry >= config.dry_replan or c.flat >= config.flat_replan or c.waste >= config.waste_replan or looping:
        return Level.REPLAN
    return Level.NOTICE


def _changes(before: OpenStall | None, after: OpenStall, step: int) -> tuple[Changed, ...]:
    if before is None:
        return (Changed(Change.STARTED, step, stall=after.stall),)
    if after.stall.level.rank > before.stall.level.rank:
        return (Changed(Change.ESCALATED, step, stall=after.stall),)
    return ()
