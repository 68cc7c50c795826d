"""The analysis as one JSON object, schema 1; keys and their meaning are a contract."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from otel_stall.analysis import Analysis, ConversationAnalysis, StepDetail, Summary
from otel_stall.measurement import measure
from otel_stall.report import measurement
from otel_stall.report.parts import listed
from otel_stall.verdicts import Milestone, Stall

if TYPE_CHECKING:
    from otel_stall.readers import Problems
    from otel_stall.report.credit import Credits

__all__ = ["SCHEMA", "document", "render"]

SCHEMA = 1
"""Version of the document; a change that breaks readers raises it."""


def render(analysis: Analysis, problems: Problems, *, steps: bool = False, credit: Credits | None = None) -> str:
    """Return the document as text: ASCII, so that no control character of a trace reaches a terminal."""
    return json.dumps(document(analysis, problems, steps=steps, credit=credit), indent=2, allow_nan=False) + "\n"


def document(
    analysis: Analysis, problems: Problems, *, steps: bool = False, credit: Credits | None = None
) -> dict[str, object]:
    """Return the document as plain values; `steps` adds `steps_detail`, `credit` the `credit` of each lane.

    Shares that the traces cannot tell are null. `problems` holds the first ones; where there were more,
    `problems_dropped` counts them.
    """
    return {
        "schema": SCHEMA,
        "conversations": [_conversation(lane, steps, credit) for lane in analysis.conversations],
        "summary": {
            **_summary(analysis.summary),
            "measurement": measurement.document(measure(analysis.conversations)),
        },
        "problems": listed(problems),
        **({"problems_dropped": problems.dropped} if problems.dropped else {}),
    }


def _conversation(lane: ConversationAnalysis, steps: bool, credit: Credits | None) -> dict[str, object]:
    return {
        "id": lane.conversation,
        "lane": lane.lane,
        "agent": lane.agent,
        "service": lane.service,
        "steps": lane.steps,
        "compactions": lane.compactions,
        "partial": lane.partial,
        "milestones": [_milestone(milestone) for milestone in lane.milestones],
        "stalls": [_stall(stall) for stall in lane.stalls],
        "counters": {
            "steps_since_milestone": lane.counters.steps_since_milestone,
            "steps_since_gain": lane.counters.steps_since_gain,
            "state_changes": lane.counters.state_changes,
        },
        **({"credit": credit.document(lane)} if credit else {}),
        **({"steps_detail": [_step(detail) for detail in lane.details]} if steps else {}),
    }


def _milestone(milestone: Milestone) -> dict[str, object]:
    """Return a milestone; a declared one says as well at which step it was verified, null where it never was."""
    counts = milestone.evidence.verified
    return {
        "step": milestone.step,
        "name": milestone.name,
        "evidence": milestone.evidence.value,
        "verified": counts or milestone.confirmed_at is not None,
        **({} if counts else {"verified_step": milestone.confirmed_at}),
    }


def _stall(stall: Stall) -> dict[str, object]:
    levels: dict[str, int] = {}
    for level, step in stall.levels:
        levels.setdefault(level.value, step)
    return {
        "kind": stall.kind.value,
        "first_step": stall.first_step,
        "detected_step": stall.detected_step,
        "last_step": stall.last_step,
        "level": stall.level.value,
        "levels": levels,
        "ongoing": stall.ended is None,
        "evidence": list(stall.evidence),
        "tokens": stall.tokens,
        "input_tiers": {
            "repeat": stall.input_tiers.repeat,
            "cycle": stall.input_tiers.cycle,
            "composite": stall.input_tiers.composite,
        },
    }


def _step(detail: StepDetail) -> dict[str, object]:
    return {
        "step": detail.step,
        "tool": detail.tool,
        "effect": detail.effect.value,
        "arguments": detail.arguments.value,
        "result": detail.result.value,
        "failed": detail.failed,
        "exit_code": detail.exit_code,
        "gain": detail.gain.value,
        "reason": detail.reason,
        "waste": detail.waste,
    }


def _summary(summary: Summary) -> dict[str, object]:
    return {
        "conversations": summary.conversations,
        "stalled": summary.stalled,
        "by_kind": dict(summary.by_kind),
        "steps": summary.steps,
        "stalled_steps": summary.stalled_steps,
        "input_tiers_silent": summary.silent,
        "partial_progress": {"unfinished": summary.unfinished, "with_milestone": summary.advanced},
        "observable": {
            "arguments": summary.observable.arguments,
            "results": summary.observable.results,
            "exit_codes": summary.observable.exit_codes,
            "compaction": summary.observable.compaction,
        },
    }
