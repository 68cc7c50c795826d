"""Every regular expression of the package, and text that is hard for it: repeats of what it is made of."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Final

import otel_stall

__all__ = ["SHAPES", "calls", "hard_texts", "patterns"]

_SPECIMENS: Final = {
    "CATEGORY_DIGIT": "1",
    "CATEGORY_SPACE": " ",
    "CATEGORY_WORD": "a",
    "CATEGORY_NOT_DIGIT": "a",
    "CATEGORY_NOT_SPACE": "a",
    "CATEGORY_NOT_WORD": "-",
}

SHAPES: Final = (
    "a",
    " ",
    "\n",
    " \n",
    "\t",
    "1",
    ".",
    "-",
    "_",
    "'",
    '"',
    "\\",
    "a ",
    "a.",
    "1:",
    "a=",
    "((",
    "<a",
    "\x1b[",
)
"""What well-known attacks repeat."""


@cache
def _modules() -> tuple[Any, ...]:
    """Return the modules of the package; adapters of frameworks that are not installed here are left out."""
    found = []
    for module in pkgutil.walk_packages(otel_stall.__path__, "otel_stall."):
        if module.name.endswith("__main__"):
            continue
        try:
            found.append(importlib.import_module(module.name))
        except ModuleNotFoundError as missing:
            if (missing.name or "").startswith("otel_stall"):
                raise
    return tuple(found)


@cache
def patterns() -> dict[str, re.Pattern[Any]]:
    """Return the compiled patterns by the module and name that hold them, each once."""
    found: dict[str, re.Pattern[Any]] = {}
    for module in _modules():
        for name, value in vars(module).items():
            for path, pattern in _within(value, f"{module.__name__.removeprefix('otel_stall.')}.{name}", 4):
                if all(pattern is not other for other in found.values()):
                    found[path] = pattern
    return found


def _within(value: object, path: str, depth: int) -> Iterator[tuple[str, re.Pattern[Any]]]:
    if isinstance(value, re.Pattern):
        yield path, value
    elif depth and isinstance(value, dict):
        for key, inner in value.items():
            yield from _within(inner, f"{path}[{key!r}]", depth - 1)
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for number, inner in enumerate(value):
            yield from _within(inner, f"{path}[{number}]", depth - 1)


def calls() -> Iterator[tuple[str, str, str | bytes | None]]:
    """Yield place, function and literal pattern (None where it is put together) of each use of `re` in the source."""
    root = Path(otel_stall.__file__).parent
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _is_of_re(node.func):
                first = node.args[0] if node.args else None
                literal = first.value if isinstance(first, ast.Constant) else None
                place = f"{path.relative_to(root)}:{node.lineno}"
                yield place, node.func.attr, literal if isinstance(literal, str | bytes) else None  # type: ignore[attr-defined]


def _is_of_re(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re"


def hard_texts(pattern: re.Pattern[Any]) -> list[str]:
    """Return units whose repeats are hard for the pattern: what it is made of, one by one and in pairs."""
    source = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    parsed = re._parser.parse(source, pattern.flags & ~re.DEBUG)  # type: ignore[attr-defined] # no public parser
    tokens = list(dict.fromkeys(token for token in _tokens(parsed) if token))[:10]
    words = list(dict.fromkeys(re.findall(r"[A-Za-z]{2,}|\d+", source)))[:6]
    joined = "".join(tokens)
    pairs = [first + second for first, second in product(tokens[:7], repeat=2) if first != second]
    return list(dict.fromkeys([*SHAPES, *tokens, *words, joined, *pairs, *(word + " " for word in words)]))


def _tokens(parsed: Any) -> Iterator[str]:
    for operation, argument in parsed:
        name = str(operation)
        if name == "LITERAL":
            yield chr(argument)
        elif name == "NOT_LITERAL":
            yield "a" if chr(argument) != "a" else "b"
        elif name == "ANY":
            yield "a"
        elif name == "IN":
            yield from _members(argument)
        else:
            yield from _inner(argument)


def _inner(argument: Any) -> Iterator[str]:
    if hasattr(argument, "data"):
        yield from _tokens(argument)
    elif isinstance(argument, list | tuple):
        for each in argument:
            yield from _inner(each)


def _members(members: Any) -> Iterator[str]:
    if str(members[0][0]) == "NEGATE":
        refused = {chr(value) for kind, value in members[1:] if str(kind) == "LITERAL"}
        yield next(one for one in "a1 -\n" if one not in refused)
        return
    for kind, value in members[:3]:
        if str(kind) == "LITERAL":
            yield chr(value)
        elif str(kind) == "RANGE":
            yield chr(value[0])
        else:
            yield _SPECIMENS.get(str(value), "a")
