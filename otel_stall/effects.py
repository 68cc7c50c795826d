"""What a tool call could do, from the host's hint, the settings, the tool's name and its arguments.

Order: the host's `stall.effect`, the user's settings for this tool, the tool's whole name, the shell command
it runs, the first or last word of its name. What none of them tells is `other`: it may change something,
and nothing is assumed. What an MCP server says of its tool bounds what the name says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from otel_stall import commands
from otel_stall.calls import ToolAnnotations, ToolCall
from otel_stall.commands import Shell
from otel_stall.observations import Effect
from otel_stall.rulings import NO_RULINGS, Rulings
from otel_stall.values import replace, unguarded
from otel_stall.vocabulary import (
    ASIDE_WORDS,
    CHECK_TOOLS,
    DONE_TOOLS,
    FILE_WORDS,
    IRREVERSIBLE_TOOLS,
    IRREVERSIBLE_VERBS,
    MESSAGE_VERBS,
    NOTE_FILES,
    NOTE_TOOLS,
    READ_VERBS,
    RETRIEVAL_WORDS,
    SEARCH_VERBS,
    SHELL_TOOLS,
    THINK_TOOLS,
    WAIT_VERBS,
    WRITE_VERBS,
)

__all__ = ["Nature", "argument", "command_line", "nature", "tool_words"]

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATOR = re.compile(r"[^A-Za-z0-9]+")
_MAX_NAME = 120
_NAMES = 1_024
"""Names of tools whose meaning is kept; a host has some dozens."""

PATH_KEYS = (
    *("path", "file_path", "filepath", "filename", "file", "file_name", "absolute_path", "target_file"),
    *("notebook_path", "relative_path", "relative_workspace_path", "uri", "url", "document_id"),
)
CONTENT_KEYS = ("content", "file_text", "contents", "text", "new_content", "body", "code", "data", "source")
OLD_KEYS = ("old", "old_str", "old_string", "old_text", "search", "original", "find")
NEW_KEYS = ("new", "new_str", "new_string", "new_text", "replace", "replacement", "insert")
PATCH_KEYS = ("diff", "patch", "input", "changes", "edits")
COMMAND_KEYS = ("command", "cmd", "script", "commands", "input", "code", "?")
QUERY_KEYS = (
    "query",
    "q",
    "search_query",
    "pattern",
    "keywords",
    "prompt",
    "question",
    "url",
    "instruction",
    "?",
)

_EDITOR_EFFECTS = {
    "view": Effect.READ,
    "open": Effect.READ,
    "create": Effect.WRITE,
    "str_replace": Effect.WRITE,
    "insert": Effect.WRITE,
    "undo_edit": Effect.WRITE,
    "write": Effect.WRITE,
}
_VERBS = (
    (WAIT_VERBS, Effect.WAIT),
    (IRREVERSIBLE_VERBS, Effect.IRREVERSIBLE),
    (MESSAGE_VERBS, Effect.MESSAGE),
    (WRITE_VERBS, Effect.WRITE),
    (SEARCH_VERBS, Effect.SEARCH),
    (READ_VERBS, Effect.READ),
)
_EFFECTS = {effect.value: effect for effect in Effect}
_POLLED = frozenset({"status", "poll", "output", "wait", "progress", "job", "await", "logs", "state"})


@unguarded
@dataclass(frozen=True, slots=True)
class Nature:
    """What kind of act a call is: its effect, what it works on, and the shell command inside, if any."""

    effect: Effect
    path: str = ""
    shell: Shell | None = None
    polls: bool = False
    retrieval: bool = False
    declares_done: bool = False
    aside: bool = False


def argument(arguments: object, keys: tuple[str, ...]) -> str:
    """Return the first of these arguments that is a text, "" where there is none; lists are joined."""
    if isinstance(arguments, str):
        return arguments if "?" in keys else ""
    if not isinstance(arguments, (dict, Mapping)):
        return ""
    for key in keys:
        value = arguments.get(key)
        if value is None:
            continue
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
            return " ".join(value)
    return ""


def command_line(arguments: object) -> str:
    """Return the shell command among the arguments, "" where there is none."""
    return arguments if isinstance(arguments, str) else argument(arguments, COMMAND_KEYS)


def tool_words(tool: str) -> list[str]:
    """Return the lower-case words of a tool's own name, without the server or namespace before it."""
    return [word for word in _SEPARATOR.split(_CAMEL.sub("_", _own_name(tool)).lower()) if word]


def _own_name(tool: str) -> str:
    return tool[:_MAX_NAME].split("__")[-1].rsplit(".", 1)[-1].rsplit("/", 1)[-1]


class _Name(NamedTuple):
    """All that a tool's name alone tells: what it is called, and what kind of act that is.

    `fixed` is the effect that the whole name tells, `by_word` that of its first or last word; `never`: the same
    where the tool is never to reach a milestone.
    """

    own: str
    runs_shell: bool
    polls: bool
    retrieval: bool
    declares_done: bool
    fixed: Effect | None
    fixed_never: Effect | None
    by_word: Effect
    by_word_never: Effect


@lru_cache(maxsize=_NAMES)
def _name(tool: str) -> _Name:
    words = tool_words(tool)
    whole = "_".join(words)
    return _Name(
        own=_own_name(tool),
        runs_shell=whole in SHELL_TOOLS or not {"bash", "shell", "terminal"}.isdisjoint(words[:2]),
        polls=not _POLLED.isdisjoint(words),
        retrieval=_is_retrieval(whole, words),
        declares_done=whole in DONE_TOOLS,
        fixed=_fixed(whole, never=False),
        fixed_never=_fixed(whole, never=True),
        by_word=_by_word(words, never=False),
        by_word_never=_by_word(words, never=True),
    )


def nature(call: ToolCall, rulings: Rulings = NO_RULINGS) -> Nature:
    """Return what kind of act a call is. Never raises; unknown tools are `other`."""
    name = _name(call.tool[:_MAX_NAME])
    arguments = call.arguments.value
    shell = _shell(name, arguments, rulings) if name.runs_shell else None
    ruling = rulings.of_tool(call.tool, name.own)
    named = _effect(name, arguments, shell, never=ruling.never)
    said = _EFFECTS.get(call.hints.effect) or ruling.effect
    effect = said or _annotated(named, call.annotations)
    if said is None and call.annotations.read_only and shell is not None:
        shell = replace(shell, mutates=False, commits=False)
    effect = _limited(effect, shell, never=ruling.never, irreversible=rulings.irreversible)
    target = argument(arguments, PATH_KEYS) or (shell.target if shell else "")
    if effect is Effect.WRITE and _is_note(target):
        effect = Effect.NOTE
    return Nature(
        effect=effect,
        path=target,
        shell=shell,
        polls=effect is Effect.WAIT or name.polls,
        retrieval=name.retrieval,
        declares_done=name.declares_done and not ruling.never,
        aside=_is_aside(target),
    )


_MAY_CHANGE = frozenset({Effect.WRITE, Effect.IRREVERSIBLE, Effect.MESSAGE, Effect.COMMAND, Effect.OTHER})


def _annotated(named: Effect, said: ToolAnnotations) -> Effect:
    """Return the effect that a server's own word leaves of what the name says.

    A read-only tool reads at most. One that may destroy, in the open world, and with each call anew, cannot be
    undone; all three must be said, for the protocol's defaults would make every tool such a one.
    """
    if said.read_only:
        return Effect.READ if named in _MAY_CHANGE else named
    final = said.destructive and said.open_world and not said.idempotent
    return Effect.IRREVERSIBLE if final and named in _MAY_CHANGE else named


def _limited(effect: Effect, shell: Shell | None, *, never: bool, irreversible: bool) -> Effect:
    """Return the effect without what the settings take from it."""
    if effect is Effect.IRREVERSIBLE and (never or not irreversible):
        return Effect.WRITE
    if effect is Effect.CHECK and never:
        return Effect.COMMAND if shell is not None else Effect.OTHER
    return effect


def _shell(name: _Name, arguments: object, rulings: Rulings) -> Shell | None:
    """Return the shell command that such a tool runs."""
    bare = isinstance(arguments, str) or not isinstance(arguments, Mapping)
    text = command_line(arguments)
    restarts = not bare and "command" not in arguments and "restart" in arguments  # type: ignore[operator]
    if not restarts and (text or isinstance(arguments, str | Mapping)):
        return None if name.polls and not text else commands.parse(text, rulings)
    return None


def _effect(name: _Name, arguments: object, shell: Shell | None, *, never: bool) -> Effect:
    if shell is not None:
        return shell.effect
    fixed = name.fixed_never if never else name.fixed
    if fixed is not None:
        return fixed
    verb = arguments.get("command") if isinstance(arguments, Mapping) else None
    if isinstance(verb, str) and verb in _EDITOR_EFFECTS:
        return _EDITOR_EFFECTS[verb]
    return name.by_word_never if never else name.by_word


def _fixed(whole: str, *, never: bool) -> Effect | None:
    for names, effect in (
        (NOTE_TOOLS, Effect.NOTE),
        (THINK_TOOLS, Effect.THINK),
        (CHECK_TOOLS, Effect.CHECK),
    ):
        if whole in names:
            return effect
    if whole in IRREVERSIBLE_TOOLS and not never:
        return Effect.IRREVERSIBLE
    return Effect.OTHER if whole in DONE_TOOLS else None


def _by_word(words: list[str], *, never: bool) -> Effect:
    for word in (words[0], words[-1]) if words else ():
        for verbs, effect in _VERBS:
            if word in verbs and not (never and effect is Effect.IRREVERSIBLE):
                return effect
    return Effect.OTHER


def _is_retrieval(whole: str, words: list[str]) -> bool:
    if whole in ("search", "browse", "lookup", "retrieve"):
        return True
    return not RETRIEVAL_WORDS.isdisjoint(words) and FILE_WORDS.isdisjoint(words)


def _stem(path: str) -> str:
    return path[-200:].replace("\\", "/").rsplit("/", 1)[-1].split(".", 1)[0].lower()


def _is_note(path: str) -> bool:
    return path[-12:].lower().endswith((".md", ".txt", ".json", ".yaml", ".yml")) and _stem(path) in NOTE_FILES


def _is_aside(path: str) -> bool:
    return path != "" and not ASIDE_WORDS.isdisjoint(_SEPARATOR.split(_stem(path)))
