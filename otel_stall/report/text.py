"""The analysis for a person: what stalled, where and why; then a table; then what could not be seen.

The text is plain and the same for the same analysis. `width` None, for pipes, keeps every line whole.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from otel_stall.analysis import Analysis, ConversationAnalysis, Summary
from otel_stall.measurement import measure
from otel_stall.otlp import Signal
from otel_stall.report import measurement
from otel_stall.report.credit import HEADING, Credits
from otel_stall.report.numbers import counted, percent
from otel_stall.report.parts import headed, problem_lines
from otel_stall.report.printable import printable
from otel_stall.verdicts import InputTiers, Stall

if TYPE_CHECKING:
    from otel_stall.readers import Problems

__all__ = ["headline", "render", "unseen"]

TOLD: Final = 5
"""Stalled conversations that are told one by one, the worst first."""
LISTED: Final = 50
"""Rows of the table."""

_NATURAL: Final = 10_000
_COLUMNS: Final = ("conversation", "kind", "steps", "level", "told", "milestone", "rules")
_NUMBERS: Final = frozenset({"steps", "told", "milestone"})
_NARROW: Final = 70
_Row = tuple[ConversationAnalysis, Stall]


def render(
    analysis: Analysis,
    problems: Problems,
    *,
    width: int | None = None,
    colour: bool = False,
    credit: Credits | None = None,
) -> str:
    """Return the report as text for a terminal of `width` columns, or for a pipe (None).

    `credit` adds the table of segment credit.
    """
    rows = [(lane, stall) for lane in analysis.conversations for stall in lane.stalls]
    parts = [list(headline(analysis))]
    parts += [list(_told(lane, stall)) for lane, stall in sorted(rows, key=_worst_first)[:TOLD]]
    parts.append(_table(rows, width) if rows else [])
    parts.append(headed(measurement.HEADING, measurement.lines(measure(analysis.conversations))) if rows else [])
    parts.append(headed(HEADING, iter(credit.lines(analysis.conversations))) if credit else [])
    parts.append(headed("Not measured:", unseen(analysis, problems)))
    parts.append(headed("Problems:", problem_lines(problems)))
    texts = ["\n".join(_laid_out(part, width, colour)) for part in parts if part]
    return "\n\n".join(texts) + "\n"


def _laid_out(part: list[str], width: int | None, colour: bool) -> Iterator[str]:
    """Yield the lines of a part, its first in bold; without colour not an escape sequence is written."""
    for index, line in enumerate(part):
        blank = len(line) - len(line.lstrip(" -"))
        text = textwrap.fill(line, width, subsequent_indent=" " * blank) if width else line
        yield f"\x1b[1m{text}\x1b[0m" if colour and index == 0 else text


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
    levels = ", ".join(f"{level.value} at step {step}" for level, step in stall.levels)
    ended = f"ended by {stall.ended.value}" if stall.ended else "still open at the end"
    yield f"{_whose(lane)}: {stall.kind.value}, steps {stall.first_step} to {stall.last_step} of {lane.steps}"
    yield f"  {levels}; {ended}"
    yield from (f"  - {printable(entry)}" for entry in stall.evidence)
    yield f"  {_milestone(lane, stall)}"
    yield f"  input-side rules: {_tiers(stall.input_tiers)}"


def _whose(lane: ConversationAnalysis) -> str:
    about = [f"lane {printable(lane.lane)}"] if _is_apart(lane) else []
    if lane.agent:
        about.append(f"agent {printable(lane.agent)}")
    if lane.service:
        about.append(f"service {printable(lane.service)}")
    return printable(lane.conversation) + (f" ({', '.join(about)})" if about else "")


def _is_apart(lane: ConversationAnalysis) -> bool:
    """Return whether the lane has to be told beside the conversation and the agent."""
    return lane.lane not in ("main", lane.agent)


def _milestone(lane: ConversationAnalysis, stall: Stall) -> str:
    before = [milestone for milestone in lane.verified if milestone.step <= stall.last_step]
    if not before:
        return "no verified milestone before it"
    last = before[-1]
    ago = counted(stall.last_step - last.step, "step")
    return f"last verified milestone: {printable(last.name)} at step {last.step}, {ago} before the last one"


def _tiers(tiers: InputTiers) -> str:
    fired = (("repeat", tiers.repeat), ("cycle", tiers.cycle), ("composite", tiers.composite))
    return ", ".join(f"{name} at step {step}" for name, step in fired if step is not None) or "silent"


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


def _table(rows: Sequence[_Row], width: int | None) -> list[str]:
    """Return one line per stall under a line of names; terminals of `_NARROW` columns fold the first name.

    `told` and `milestone` are steps: where the stall was detected, and the last verified milestone before
    its end. `rules` is the first step at which an input-side rule would have fired.
    """
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in _COLUMNS:
        right = name in _NUMBERS
        table.add_column(name, justify="right" if right else "left", overflow="fold", no_wrap=name != "conversation")
    for lane, stall in rows[:LISTED]:
        table.add_row(*_cells(lane, stall))
    out = io.StringIO()
    console = Console(
        file=out,
        width=width if width and width >= _NARROW else _NATURAL,
        color_system=None,
        markup=False,
        emoji=False,
        highlight=False,
    )
    console.print(table)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    more = len(rows) - LISTED
    return [*lines, f"and {more} more stalls; --format json lists them all"] if more > 0 else lines


def _cells(lane: ConversationAnalysis, stall: Stall) -> tuple[str, ...]:
    fired = [step for step in (stall.input_tiers.repeat, stall.input_tiers.cycle, stall.input_tiers.composite) if step]
    before = [milestone.step for milestone in lane.verified if milestone.step <= stall.last_step]
    name = printable(lane.conversation, 60)
    return (
        f"{name} {printable(lane.lane, 60)}" if _is_apart(lane) else name,
        stall.kind.value,
        f"{stall.first_step}-{stall.last_step}/{lane.steps}",
        stall.level.value,
        str(stall.detected_step),
        str(before[-1]) if before else "none",
        str(min(fired)) if fired else "silent",
    )
