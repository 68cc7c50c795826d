"""The analysis as one JSON object, schema 1; keys and their meaning are a contract."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from otel_stall.emission import fingerprint
from otel_stall.findings import Analysis, ConversationAnalysis, StepDetail, Summary
from otel_stall.measurement import Measurement, measure
from otel_stall.report import measurement
from otel_stall.report.parts import listed
from otel_stall.report.times import moment
from otel_stall.verdicts import Milestone, Stall

if TYPE_CHECKING:
    from otel_stall.readers import Problems
    from otel_stall.report.credit import Credits

__all__ = ["SCHEMA", "conversation", "document", "render", "summary", "token"]

SCHEMA = 1
"""Version of the document; a change that breaks readers raises it."""


def render(
    analysis: Analysis, problems: Problems, *, steps: bool = False, credit: Credits | None = None, key: str = ""
) -> str:
    """Return the document as text: ASCII, so that no control character of a trace reaches a terminal."""
    found = document(analysis, problems, steps=steps, credit=credit, key=key)
    return json.dumps(found, indent=2, allow_nan=False) + "\n"


def document(
    analysis: Analysis, problems: Problems, *, steps: bool = False, credit: Credits | None = None, key: str = ""
) -> dict[str, object]:
    """Return the document as plain values; `steps` adds `steps_detail`, `credit` the `credit` of each lane.

    Shares that the traces cannot tell are null. `problems` holds the first ones; where there were more,
    `problems_dropped` counts them. `key` is that of the fingerprints, "" = none.
    """
    return {
        "schema": SCHEMA,
        "conversations": [
            {
                **conversation(lane),
                **({"credit": credit.document(lane)} if credit else {}),
                **({"steps_detail": [_step(detail, key) for detail in lane.details]} if steps else {}),
            }
            for lane in analysis.conversations
        ],
        "summary": summary(analysis, measure(analysis.conversations)),
        "problems": listed(problems),
        **({"problems_dropped": problems.dropped} if problems.dropped else {}),
    }


def conversation(lane: ConversationAnalysis) -> dict[str, object]:
    """Return what is known of one lane but its steps and its credit; times are UTC, null where unknown."""
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
        "stalled_steps": lane.stalled_steps,
        "tokens": lane.tokens,
        "outcome": lane.outcome or None,
        "compacted_at": [cut.step for cut in lane.cuts],
        "started": moment(lane.start_ns),
        "ended": moment(lane.end_ns),
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
        "end_reason": stall.ended.value if stall.ended else None,
        "evidence": list(stall.evidence),
        "tokens": stall.tokens,
        "input_tiers": {
            "repeat": stall.input_tiers.repeat,
            "cycle": stall.input_tiers.cycle,
            "composite": stall.input_tiers.composite,
        },
    }


def _step(detail: StepDetail, key: str) -> dict[str, object]:
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
        "command": detail.command,
        "steps_since_gain": detail.dry,
        "steps_since_milestone": detail.since_milestone,
        "call_fingerprint": token(detail.call_fingerprint, key),
        "outcome_fingerprint": token(detail.outcome_fingerprint, key),
        "trace_id": detail.trace_id,
        "span_id": detail.span_id,
        "ended": moment(detail.end_ns),
    }


def token(digest: int | None, key: str) -> str | None:
    """Return a fingerprint as it is exported, None for that of unknown content."""
    return None if digest is None else fingerprint(digest, key)


def summary(analysis: Analysis, measured: Measurement) -> dict[str, object]:
    """Return the totals, and the measurement of which kind dominates."""
    return {**_summary(analysis.summary), "measurement": measurement.document(measured)}


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
