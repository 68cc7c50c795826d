"""What a user's settings say of tools and shell commands, in the form in which each call is held against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from otel_stall.config import MilestonesConfig
from otel_stall.observations import Effect
from otel_stall.patterns import matches, matches_words

__all__ = ["NO_RULING", "NO_RULINGS", "Ruling", "Rulings"]

_HARMLESS = frozenset({"--dry-run", "--help"})


@dataclass(frozen=True, slots=True)
class Ruling:
    """What is said of one tool or command: its effect, that it never reaches a milestone, or nothing.

    `pattern` is the pattern that fits, as the user wrote it.
    """

    effect: Effect | None = None
    never: bool = False
    pattern: str = ""


NO_RULING = Ruling()

_Rule = tuple[str, Ruling]


@dataclass(frozen=True, slots=True)
class Rulings:
    """All that the settings say, in the order in which it is looked through; made once per monitor.

    `irreversible`: whether an irreversible effect can be a milestone.
    """

    tools: tuple[_Rule, ...] = ()
    commands: tuple[_Rule, ...] = ()
    irreversible: bool = True

    @classmethod
    def of(cls, config: MilestonesConfig) -> Rulings:
        """Return the rulings of these settings."""
        tools, commands = config.tools, config.commands
        return cls(
            tools=_rules(tools.never, tools.irreversible, tools.checks),
            commands=_rules(commands.never, commands.irreversible, commands.checks),
            irreversible=config.irreversible,
        )

    def of_tool(self, name: str, own: str) -> Ruling:
        """Return what is said of a tool; `own` is its name without a server or namespace before it."""
        for pattern, ruling in self.tools:
            if matches(pattern, name) or matches(pattern, own):
                return ruling
        return NO_RULING

    def of_command(self, words: tuple[str, ...], plain: tuple[str, ...]) -> Ruling:
        """Return what is said of a simple command; `plain` are its words without options and the head's path."""
        for pattern, ruling in self.commands:
            if matches_words(pattern, words) or matches_words(pattern, plain):
                harmless = ruling.effect is Effect.IRREVERSIBLE and not _HARMLESS.isdisjoint(words)
                return NO_RULING if harmless else ruling
        return NO_RULING


NO_RULINGS = Rulings()


def _rules(never: Sequence[str], irreversible: Sequence[str], checks: Sequence[str]) -> tuple[_Rule, ...]:
    return (
        *((pattern, Ruling(never=True, pattern=pattern)) for pattern in never),
        *((pattern, Ruling(Effect.IRREVERSIBLE, pattern=pattern)) for pattern in irreversible),
        *((pattern, Ruling(Effect.CHECK, pattern=pattern)) for pattern in checks),
    )
