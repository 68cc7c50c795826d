"""The analysis for a person: a table of conversations; what stalled, where and why; what could not be seen.

The text is plain and the same for the same analysis and screen. In a pipe every line is whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from otel_stall.findings import Analysis, ConversationAnalysis, Summary
from otel_stall.measurement import measure
from otel_stall.otlp import Signal
from otel_stall.report import measurement
from otel_stall.report.cells import PLAIN, Screen
from otel_stall.report.credit import HEADING, Credits
from otel_stall.report.lanes import lane_title, stall_body, stall_title
from otel_stall.report.numbers import counted, percent
from otel_stall.report.parts import headed, laid_out, problem_lines
from otel_stall.report.table import table
from otel_stall.verdicts import Stall

if TYPE_CHECKING:
    from otel_stall.readers import Problems

__all__ = ["headline", "render", "unseen"]

TOLD: Final = 5
"""Stalled conversations that are told one by one, the worst first."""
_Row = tuple[ConversationAnalysis, Stall]


def render(
    analysis: Analysis,
    problems: Problems,
    screen: Screen = PLAIN,
    *,
    credit: Credits | None = None,
    whole: bool = False,
) -> str:
    """Return the report as text for a screen; `credit` adds the table of segment credit, `whole` lists every lane."""
    lanes = analysis.conversations
    rows = [(lane, stall) for lane in lanes for stall in lane.stalls]
    parts = [
        laid_out(headline(analysis), screen),
        table(lanes, screen, whole=whole) if lanes else [],
        *(laid_out(_told(lane, stall), screen) for lane, stall in sorted(rows, key=_worst_first)[:TOLD]),
        laid_out(_untold(len(rows) - TOLD), screen),
        laid_out(headed(measurement.HEADING, measurement.lines(measure(lanes))) if rows else [], screen),
        laid_out(headed(HEADING, iter(credit.lines(lanes))) if credit else [], screen),
        laid_out(headed("Not measured:", unseen(analysis, problems)), screen),
        laid_out(headed("Problems:", problem_lines(problems)), screen),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _worst_first(row: _Row) -> tuple[int, int]:
    return -row[1].level.rank, row[1].first_step - row[1].last_step


def headline(analysis: Analysis) -> Iterator[str]:
    """Yield what there is to say before anything else: how much stalled, and what other rules would have seen."""
    summary = analysis.summary
    if not summary.conversations:
        yield f"No tool call and no model turn was recognised in {counted(analysis.spans, 'span')}."
        return
    steps = counted(summary.steps, "step")
    if not summary.stalled:
        yield f"No stall in {counted(summary.conversations, 'conversation')} of {steps}."
        return
    kinds = ", ".join(f"{count} {kind}" for kind, count in summary.by_kind)
    yield f"{summary.stalled} of {counted(summary.conversations, 'conversation')} stalled: {kinds}."
    yield f"{summary.stalled_steps} of {steps} lie inside stalls."
    yield _silence(summary)


def _silence(summary: Summary) -> str:
    rules = "the input-side rules (repeat, cycle, composite)"
    if summary.silent == summary.stalled:
        return f"In {'it' if summary.stalled == 1 else 'all of them'}, {rules} would have stayed silent."
    if not summary.silent:
        return f"In {'it' if summary.stalled == 1 else 'each of them'}, one of {rules} would have fired too."
    return f"In {summary.silent} of them, {rules} would have stayed silent."


def _told(lane: ConversationAnalysis, stall: Stall) -> Iterator[str]:
    yield f"{lane_title(lane)}: {stall_title(lane, stall)}"
    yield from stall_body(lane, stall)


def _untold(more: int) -> Iterator[str]:
    if more > 0:
        yield f"{counted(more, 'more stall')} in the table; --conversation ID tells those of one conversation"


def unseen(analysis: Analysis, problems: Problems) -> Iterator[str]:
    """Yield what these traces cannot tell, and why."""
    observable = analysis.summary.observable
    # Where something stalled the section on kinds says it.
    if analysis.summary.conversations and not analysis.summary.stalled and observable.compaction is None:
        yield "amnesia: not measurable, no compaction signal in these traces"
    for what, share in (("arguments", observable.arguments), ("results", observable.results)):
        if share is not None and share < 1:
            yield (
                f"{what}: captured on {percent(share)} of the steps; on the others the instrumentation's "
                "content switch is off, or it cut or redacted them, and they cannot be compared"
            )
    if observable.exit_codes is None and any(lane.commands for lane in analysis.conversations):
        yield "exit codes: none on any command; a failure is known by status and text alone"
    if partial := sum(lane.partial for lane in analysis.conversations):
        yield f"{counted(partial, 'partial conversation')}: spans are missing, counts are lower bounds"
    if analysis.summary.steps and not analysis.tool_call_budget:
        yield "composite: without detection.tool_call_budget this input-side rule cannot fire"
    if count := problems.requests[Signal.METRICS]:
        yield f"metrics: {counted(count, 'request')} passed over, only traces and logs are read"
