"""Evidence of a stall: a few short sentences a person can check against the trace, never contents."""

from __future__ import annotations

from collections import Counter

from otel_stall.reasons import TABLE
from otel_stall.scenes import Entry, Scene, Trigger
from otel_stall.verdicts import Gain

__all__ = ["MAX_ENTRIES", "MAX_LENGTH", "evidence_of"]

MAX_ENTRIES = 8
MAX_LENGTH = 120


def evidence_of(scene: Scene, holding: tuple[Trigger, ...], entries: list[Entry]) -> tuple[str, ...]:
    """Return what speaks for a stall, the strongest first: at most 8 sentences of at most 120 characters."""
    sentences = [_of_trigger(scene, trigger) for trigger in holding]
    sentences.append(_of_distance(scene))
    if scene.host_sign:
        sentences.append(f"the host says so, too: {scene.host_sign}")
    barren = [entry for entry in entries if TABLE[entry.reason].gain is Gain.NONE]
    for reason, count in Counter(entry.reason for entry in barren).most_common(2):
        sentences.append(f"{_times(count)} {TABLE[reason].sentence}")
    for command, count in Counter(entry.command for entry in barren).most_common(1):
        sentences.append(f"most often: {command}, {_times(count)}")
    for call, count in Counter(entry.call for entry in barren if entry.call is not None).most_common(1):
        if count > 1:
            steps = ", ".join(str(entry.step) for entry in barren if entry.call == call)
            sentences.append(f"one call {_times(count)}: steps {steps}")
    return tuple(sentence[:MAX_LENGTH] for sentence in sentences[:MAX_ENTRIES])


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _calls(count: int) -> str:
    return "one call with its outcome goes" if count == 1 else f"{count} calls with their outcomes go"


def _of_trigger(scene: Scene, trigger: Trigger) -> str:
    c, loop = scene.counters, scene.loop
    return {
        "dry": f"{c.dry} steps without gain since step {c.dry_since}",
        "flat": f"{c.flat} checks neither improved nor failed in a new way since step {c.flat_since}",
        "thin": f"{c.thin} reworded searches in a row brought mostly known text",
        "loop": f"{_calls(len(loop.pairs))} round and round: {loop.length} known ones in a row",
        "blind": f"the same call {loop.blind} times in a row; outcomes are not captured",
        "amnesia": f"{c.reacquired} steps brought what was known before a compaction",
        "compactions": f"{c.idle_compactions} compactions with no call between them",
        "waste": f"work that brings little adds up to {c.waste:g} since step {c.waste_since}",
        "after_done": f"{c.after_done} steps after the work was done",
    }[trigger]


def _of_distance(scene: Scene) -> str:
    c = scene.counters
    if c.milestones:
        return f"last verified milestone {c.distance} steps ago"
    return f"no verified milestone in {c.distance} steps"
