"""What reached milestones in exported traces, by which rule, and which acts look irreversible or like checks.

For a person who adjusts the settings: every act is told with the effect that the built-in rules give it and
the one under these settings. Contents are dropped as each span is read.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from otel_stall import analysis, dialects
from otel_stall.calls import Reading, ToolCall
from otel_stall.config import StallConfig
from otel_stall.findings import Analysis
from otel_stall.observations import Effect, Step
from otel_stall.reasons import Reason
from otel_stall.rulings import NO_RULINGS, Rulings
from otel_stall.spans import SpanView
from otel_stall.steps import observation
from otel_stall.verdicts import Change, Judged, Milestone

__all__ = ["Act", "Reached", "Rule", "Survey", "survey"]


class Rule(StrEnum):
    """By what a milestone is known."""

    CHECK = "check turned green"
    COMMAND = "irreversible command"
    TOOL = "irreversible tool"
    HOST = "host"
    DECLARED = "declared"


@dataclass(frozen=True, slots=True)
class Reached:
    """Milestones of one name by one rule; `confirmed` are the declared ones that something verified later."""

    rule: Rule
    name: str
    count: int
    confirmed: int = 0


@dataclass(frozen=True, slots=True)
class Act:
    """A tool, or a shell command by the words that may be shown, with its effects and what it reached.

    `built_in` is its effect without any settings, `configured` the one with them; `failed` of the `steps` failed.
    """

    name: str
    built_in: Effect
    configured: Effect
    steps: int
    failed: int
    milestones: int


@dataclass(frozen=True, slots=True)
class Survey:
    """All that was found; a run with no verified milestone is among `without`. `acts` come most frequent first."""

    conversations: int
    steps: int
    runs: int
    without: int
    reached: tuple[Reached, ...]
    acts: tuple[Act, ...]

    @property
    def verified(self) -> int:
        """Milestones that count."""
        return sum(one.count for one in self.reached if one.rule is not Rule.DECLARED)


def survey(views: Iterable[SpanView], config: StallConfig | None = None) -> Survey:
    """Return what reached milestones in these spans under these settings. Never raises on content."""
    config = config or StallConfig()
    counting = _Counting(Rulings.of(config.milestones))
    found = analysis.analyze(counting.watch(views), config, each=counting.take)
    runs, without = _runs(found)
    return Survey(
        conversations=found.summary.conversations,
        steps=found.summary.steps,
        runs=runs,
        without=without,
        reached=tuple(counting.reached(found)),
        acts=tuple(counting.acts()),
    )


def _runs(found: Analysis) -> tuple[int, int]:
    """Return how many runs there are, and how many of them reached no verified milestone."""
    runs = [(run, lane) for lane in found.conversations for run in lane.runs]
    without = [run for run, lane in runs if not run.segments and (len(lane.runs) > 1 or not lane.verified)]
    return len(runs), len(without)


_Kind = tuple[str, Effect, Effect]
_Span = tuple[str, str]


@dataclass(slots=True)
class _Counting:
    rulings: Rulings
    named: dict[_Span, tuple[str, Effect]] = field(default_factory=dict)
    steps: Counter[_Kind] = field(default_factory=Counter)
    failed: Counter[_Kind] = field(default_factory=Counter)
    milestones: Counter[_Kind] = field(default_factory=Counter)
    by_rule: dict[Rule, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def watch(self, views: Iterable[SpanView]) -> Iterator[SpanView]:
        """Yield the spans as they come, with a note of what the built-in rules make of each call."""
        for view in views:
            reading = dialects.read(view)
            if isinstance(reading.record, ToolCall):
                self._note(reading)
            yield view

    def _note(self, reading: Reading) -> None:
        step = observation(reading, NO_RULINGS)
        if isinstance(step, Step):
            self.named[reading.trace_id, reading.span_id] = step.command, step.effect

    def take(self, judged: Judged, _: int) -> None:
        verdict, step = judged.verdict, judged.observation
        reached = [one.milestone for one in verdict.changes if one.change is Change.MILESTONE_REACHED and one.milestone]
        for milestone in reached:
            self.by_rule[_rule(milestone, verdict.reason, step)][_shown(milestone, step)] += 1
        if not verdict.counted or not isinstance(step, Step):
            return
        name, effect = self.named.get((judged.trace_id, judged.span_id), (step.command, step.effect))
        kind = (step.command if step.effect is not effect else name, effect, step.effect)
        self.steps[kind] += 1
        self.failed[kind] += step.failed
        self.milestones[kind] += any(one.evidence.verified for one in reached)

    def reached(self, found: Analysis) -> Iterator[Reached]:
        """Yield the milestones by rule and name, the most frequent first."""
        confirmed = Counter(
            one.name for lane in found.conversations for one in lane.milestones if one.confirmed_at is not None
        )
        for rule in Rule:
            for name, count in sorted(self.by_rule[rule].items(), key=lambda item: (-item[1], item[0])):
                yield Reached(rule, name, count, confirmed[name] if rule is Rule.DECLARED else 0)

    def acts(self) -> Iterator[Act]:
        """Yield what was done, the most frequent first."""
        for kind, count in sorted(self.steps.items(), key=lambda item: (-item[1], item[0])):
            yield Act(*kind, steps=count, failed=self.failed[kind], milestones=self.milestones[kind])


def _rule(milestone: Milestone, reason: str, step: object) -> Rule:
    if not milestone.evidence.verified:
        return Rule.DECLARED
    if reason == Reason.CHECK_TURNED_GREEN:
        return Rule.CHECK
    if reason == Reason.IRREVERSIBLE_EFFECT and isinstance(step, Step):
        return Rule.COMMAND if ":" in step.command else Rule.TOOL
    return Rule.HOST


def _shown(milestone: Milestone, step: object) -> str:
    """Return the act that reached a milestone by a rule of ours, else the name that was given to it."""
    by_act = isinstance(step, Step) and step.command.rsplit(":", 1)[-1] == milestone.name
    return step.command if by_act and isinstance(step, Step) else milestone.name
