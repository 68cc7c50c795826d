"""One conversation for a person: its course, then each stall with what speaks for it, then its steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from otel_stall.findings import Analysis, ConversationAnalysis
from otel_stall.report.cells import PLAIN, Screen
from otel_stall.report.credit import HEADING, Credits
from otel_stall.report.lanes import lane_title, stall_body, stall_title
from otel_stall.report.numbers import counted
from otel_stall.report.parts import headed, laid_out, problem_lines
from otel_stall.report.printable import printable
from otel_stall.report.steps import step_lines
from otel_stall.report.text import unseen
from otel_stall.report.timeline import drawn
from otel_stall.timeline import Flag, Timeline, timeline

if TYPE_CHECKING:
    from otel_stall.readers import Problems

__all__ = ["render"]


def render(
    analysis: Analysis,
    problems: Problems,
    screen: Screen = PLAIN,
    *,
    steps: bool = False,
    key: str = "",
    credit: Credits | None = None,
) -> str:
    """Return the lanes of an analysis that kept its details, one after the other, for a screen.

    `steps` lists every step, with fingerprints keyed by `key`; `credit` adds the table of segment credit.
    """
    lanes = analysis.conversations
    parts = [
        *(part for lane in lanes for part in _lane(lane, screen, key if steps else None)),
        laid_out(headed(HEADING, iter(credit.lines(lanes))) if credit else [], screen),
        laid_out(headed("Not measured:", unseen(analysis, problems)), screen),
        laid_out(headed("Problems:", problem_lines(problems)), screen),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _lane(lane: ConversationAnalysis, screen: Screen, key: str | None) -> Iterator[list[str]]:
    course = timeline(lane)
    yield laid_out([lane_title(lane), _numbers(lane)], screen)
    yield list(drawn(course, screen))
    yield laid_out(headed("Milestones:", map(_flag, course.flags)), screen)
    yield laid_out(headed("Compactions:", _cuts(course)), screen)
    for stall in lane.stalls:
        yield laid_out([f"Stall: {stall_title(lane, stall)}", *_cost(stall.tokens), *stall_body(lane, stall)], screen)
    if key is not None and lane.details:
        yield list(step_lines(lane.details, screen, key))


def _numbers(lane: ConversationAnalysis) -> str:
    found = [
        counted(lane.steps, "step"),
        *([counted(lane.tokens, "token")] if lane.tokens is not None else []),
        counted(len(lane.verified), "verified milestone"),
        counted(lane.compactions, "compaction"),
        counted(len(lane.stalls), "stall"),
    ]
    since = "the last verified milestone" if lane.verified else "the start"
    return f"{', '.join(found)}; {counted(lane.counters.steps_since_milestone, 'step')} since {since}"


def _flag(flag: Flag) -> str:
    reached = flag.milestone
    known = reached.evidence.value
    if not reached.evidence.verified:
        known += f", verified at step {reached.confirmed_at}" if flag.counts else ", not verified"
    return (
        f"step {flag.step}: {printable(flag.name)} ({known}), {counted(reached.segment, 'step')} after the one before"
    )


def _cuts(course: Timeline) -> Iterator[str]:
    for cut in course.cuts:
        where = f"after step {cut.step}" if cut.step else "before the first step"
        yield where + (", inferred from token counts" if cut.inferred else "")


def _cost(tokens: int | None) -> Iterator[str]:
    if tokens is not None:
        yield f"  {counted(tokens, 'token')} spent inside"
