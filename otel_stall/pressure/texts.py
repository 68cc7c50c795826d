"""What is said at each level: templates that redirect, and never quote what the agent called.

A reminder that repeats the looping arguments feeds the loop, so the fields of a template hold counts,
effects and reasons alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import Final

from otel_stall.dialects.messages import OURS
from otel_stall.emission import bounded_text
from otel_stall.errors import ConfigError
from otel_stall.observations import Effect
from otel_stall.reasons import TABLE, Reason
from otel_stall.status import Status
from otel_stall.verdicts import Level, Milestone

__all__ = ["ENGLISH", "FIELDS", "Texts"]

FIELDS: Final = (
    "steps",
    "steps_since_milestone",
    "steps_since_gain",
    "stall_steps",
    "fruitless_steps",
    "tried",
    "unchanged",
    "milestones",
)
"""What a template may name in braces."""

_LISTED: Final = 5

_EFFECTS: Final[Mapping[Effect, str]] = {
    Effect.READ: "reading",
    Effect.SEARCH: "searching",
    Effect.COMMAND: "running commands",
    Effect.CHECK: "running checks",
    Effect.WRITE: "changing something",
    Effect.IRREVERSIBLE: "effects that cannot be undone",
    Effect.MESSAGE: "sending messages",
    Effect.WAIT: "waiting",
    Effect.NOTE: "taking notes",
    Effect.THINK: "thinking",
    Effect.OTHER: "other calls",
}


@dataclass(frozen=True)
class Texts:
    """The templates of one language; ConfigError with the name of one that has a field we do not know.

    `effects` and `reasons` are the words behind the counts, `nothing` stands where there is nothing to list.
    """

    counter: str = (
        "{steps_since_milestone} steps since the last verified milestone, {steps_since_gain} without any gain."
    )
    replan: str = (
        "This path is a dead end: {fruitless_steps} of the last {stall_steps} steps gained nothing.\n"
        "Tried: {tried}.\n"
        "What came of it, and will again: {unchanged}.\n"
        "Reached and still standing: {milestones}.\n"
        "Before the next call, write a new plan: what these steps have ruled out, an approach that does not rest on "
        "it, and the first check that would show that it works. If something is out of your reach, say what it is."
    )
    ask_user: str = (
        "The agent has made {steps_since_milestone} steps since its last verified milestone; {fruitless_steps} of the "
        "last {stall_steps} gained nothing.\n"
        "Tried: {tried}.\n"
        "What came of it: {unchanged}.\n"
        "Reached and still standing: {milestones}.\n"
        "What should it do: go on, go on in another way, or stop?"
    )
    abandon: str = (
        "Stopped, not completed: {steps_since_milestone} steps since the last verified milestone; {fruitless_steps} of "
        "the last {stall_steps} gained nothing.\n"
        "Tried: {tried}.\n"
        "What came of it: {unchanged}.\n"
        "Kept: {milestones}."
    )
    milestone: str = "{name} (step {step})"
    count: str = "{count} x {what}"
    between: str = ", "
    nothing: str = "nothing"
    effects: Mapping[Effect, str] = field(default_factory=lambda: _EFFECTS)
    reasons: Mapping[Reason, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("counter", "replan", "ask_user", "abandon"):
            _checked(name, getattr(self, name), FIELDS)
        _checked("milestone", self.milestone, ("name", "step"))
        _checked("count", self.count, ("count", "what"))

    def counter_line(self, status: Status) -> str:
        """Return the line that accompanies a model turn, marked as ours."""
        return f"{OURS} {self.counter.format_map(self._fields(status))}"

    def say(self, level: Level, status: Status) -> str:
        """Return the text of a level, marked as ours where the model reads it: plain for a person."""
        if level is Level.NOTICE:
            return self.counter_line(status)
        text = {Level.REPLAN: self.replan, Level.ASK_USER: self.ask_user, Level.ABANDON: self.abandon}[level]
        said = text.format_map(self._fields(status))
        return f"{OURS} {said}" if level is Level.REPLAN else said

    def _fields(self, status: Status) -> dict[str, str]:
        return {
            "steps": str(status.step),
            "steps_since_milestone": str(status.steps_since_milestone),
            "steps_since_gain": str(status.steps_since_gain),
            "stall_steps": str(sum(n for _, n in status.tried)),
            "fruitless_steps": str(sum(n for _, n in status.fruitless)),
            "tried": self._counts((self.effects.get(effect, effect.value), n) for effect, n in status.tried),
            "unchanged": self._counts(
                (self.reasons.get(reason, TABLE[reason].sentence), n) for reason, n in status.fruitless
            ),
            "milestones": self._milestones(status.milestones),
        }

    def _counts(self, counted: Iterable[tuple[str, int]]) -> str:
        listed = [self.count.format(count=n, what=what) for what, n in counted][:_LISTED]
        return self.between.join(listed) or self.nothing

    def _milestones(self, milestones: tuple[Milestone, ...]) -> str:
        standing = [one for one in milestones if one.stands][-_LISTED:]
        listed = [self.milestone.format(name=bounded_text(one.name), step=one.step) for one in standing]
        return self.between.join(listed) or self.nothing


def _checked(name: str, template: str, fields: tuple[str, ...]) -> None:
    try:
        named = {each for _, each, _, _ in Formatter().parse(template) if each is not None}
        if not (unknown := named - set(fields)):
            template.format_map(dict.fromkeys(fields, ""))
    except ValueError as error:
        raise ConfigError(f"texts.{name}", f"is no template: {error}") from None
    if unknown:
        raise ConfigError(f"texts.{name}", f"knows no field {sorted(unknown)[0]!r}, but {', '.join(fields)}")


ENGLISH: Final = Texts()
"""The texts that are used where no others are given."""
