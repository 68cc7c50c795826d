"""Patterns by which a user names tools and shell commands: `*` any characters, `?` one; linear to match."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from typing import Final

__all__ = ["MAX_PATTERN", "command_problem", "matches", "matches_words", "tool_problem"]

MAX_PATTERN: Final = 120
"""Characters of a pattern, and of the name it is held against."""

_SHELL: Final = frozenset("|;&<>\"'`$\\\n#(){}")


@dataclass(frozen=True, slots=True)
class _Wildcard:
    expression: re.Pattern[str]

    def matches(self, name: str) -> bool:
        return self.expression.match(name[:MAX_PATTERN].lower()) is not None


def matches(pattern: str, name: str) -> bool:
    """Return whether a name is what the pattern says, from its first character to its last, in any case."""
    return _compiled(pattern.lower()).matches(name)


def matches_words(pattern: str, words: tuple[str, ...]) -> bool:
    """Return whether words begin with those of the pattern, each by its own wildcards."""
    wanted = pattern.split()
    return len(words) >= len(wanted) and all(
        one == word or (("*" in one or "?" in one) and matches(one, word))
        for one, word in zip(wanted, words, strict=False)
    )


def tool_problem(pattern: str) -> str:
    """Return what is wrong with a pattern for the names of tools, "" where nothing is."""
    if " " in pattern.strip():
        return "names one tool: a pattern holds no space"
    return _problem(pattern)


def command_problem(pattern: str) -> str:
    """Return what is wrong with a pattern for the first words of a shell command, "" where nothing is."""
    if found := _SHELL.intersection(pattern):
        return f"names the first words of one plain command, without {min(found)!r}"
    words = pattern.split()
    if words and not any(ch.isalnum() for ch in words[0]):
        return "the first word names a command: it needs a letter or a digit"
    return _problem(pattern)


def _problem(pattern: str) -> str:
    if not any(ch.isalnum() for ch in pattern):
        return "needs a letter or a digit: a pattern that fits everything says nothing"
    if "[" in pattern or "]" in pattern:
        return "knows no brackets: * stands for any characters, ? for one"
    return f"is longer than {MAX_PATTERN} characters" if len(pattern) > MAX_PATTERN else ""


@lru_cache(maxsize=4_096)
def _compiled(pattern: str) -> _Wildcard:
    # `translate` makes each run up to the next literal atomic: no backtracking, whatever the name.
    return _Wildcard(re.compile(translate(pattern)))
