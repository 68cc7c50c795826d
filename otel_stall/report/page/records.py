"""What the page's scripts read: one row per lane for the table, one record per lane for its timeline.

Both are plain values. A record holds the conversation as the JSON document has it, and its steps as columns of
equal length, in which what repeats is a place in a list of names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final

from otel_stall.findings import ConversationAnalysis, StepDetail
from otel_stall.report.json import conversation, token
from otel_stall.timeline import Band, timeline

__all__ = ["COLUMNS", "record", "row"]

COLUMNS: Final = (
    "id",
    "lane",
    "agent",
    "service",
    "started",
    "steps",
    "milestones",
    "kinds",
    "level",
    "stalls",
    "stalled_steps",
    "stalled_tokens",
    "detected_step",
    "input_step",
    "ongoing",
    "steps_since_milestone",
    "compactions",
    "partial",
)
"""Names of the cells of a row. `level` is the rank of the highest level reached, -1 where nothing stalled;
`input_step` the first step at which an input-side rule would have fired inside a stall's run, null = silent."""


def row(lane: ConversationAnalysis) -> list[object]:
    """Return what the table shows of a lane, in the order of `COLUMNS`."""
    stalls = lane.stalls
    tiers = [(stall.input_tiers.repeat, stall.input_tiers.cycle, stall.input_tiers.composite) for stall in stalls]
    return [
        lane.conversation,
        lane.lane,
        lane.agent,
        lane.service,
        lane.start_ns // 1_000_000 or None,
        lane.steps,
        len(lane.verified),
        sorted({stall.kind.value for stall in stalls}),
        max((stall.level.rank for stall in stalls), default=-1),
        len(stalls),
        lane.stalled_steps,
        lane.stalled_tokens if stalls else None,
        min((stall.detected_step for stall in stalls), default=None),
        min((step for tier in tiers for step in tier if step is not None), default=None),
        any(stall.ended is None for stall in stalls),
        lane.counters.steps_since_milestone,
        lane.compactions,
        lane.partial,
    ]


def record(lane: ConversationAnalysis, key: str) -> dict[str, object]:
    """Return all that is shown of a lane once it is chosen; `key` is that of the fingerprints, "" = none.

    `bands` are the stalls as they are drawn: each part of one is (level, first step, last step), level null before
    it was told; stalls that overlap have different rows.
    """
    return {
        **conversation(lane),
        "bands": [_band(band) for band in timeline(lane).bands],
        "times": [lane.start_ns // 1_000_000, lane.end_ns // 1_000_000],
        "columns": _columns(lane.details, key),
    }


def _band(band: Band) -> dict[str, object]:
    return {
        "kind": band.kind.value,
        "row": band.row,
        "parts": [[phase.level.value if phase.level else None, phase.first, phase.last] for phase in band.phases],
    }


def _columns(steps: Sequence[StepDetail], key: str) -> dict[str, object]:
    coded: dict[str, Sequence[Hashable]] = {
        "tool": [step.tool for step in steps],
        "command": [step.command for step in steps],
        "effect": [step.effect.value for step in steps],
        "gain": [step.gain.value for step in steps],
        "reason": [step.reason for step in steps],
        "arguments": [step.arguments.value for step in steps],
        "result": [step.result.value for step in steps],
        "call": [token(step.call_fingerprint, key) for step in steps],
        "outcome": [token(step.outcome_fingerprint, key) for step in steps],
        "trace": [step.trace_id for step in steps],
        "failed": [step.failed for step in steps],
        "exit_code": [step.exit_code for step in steps],
        "waste": [step.waste for step in steps],
    }
    return {
        "step": [step.step for step in steps],
        "dry": [step.dry for step in steps],
        "distance": [step.since_milestone for step in steps],
        "span": [step.span_id for step in steps],
        "ended": [step.end_ns // 1_000_000 for step in steps],
        **{name: _coded(values) for name, values in coded.items()},
    }


def _coded(values: Iterable[Hashable]) -> dict[str, object]:
    """Return the distinct values in order of appearance, and for each value its place among them."""
    places: dict[Hashable, int] = {}
    at = [places.setdefault(value, len(places)) for value in values]
    return {"names": list(places), "at": at}
