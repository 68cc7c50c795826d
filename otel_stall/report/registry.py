"""The registry of `stall.*` names as text, JSON and Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from otel_stall.attributes import REGISTRY, Name, Use, names

__all__ = ["FORMS", "markdown"]

_USES: Final[tuple[tuple[Use, str], ...]] = (
    ("written", "Attributes on every counted tool span"),
    ("read", "Hints a host can give"),
    ("both", "Attributes of hosts and of events"),
    ("event", "Events"),
    ("metric", "Metrics"),
)


def text() -> str:
    """Return the names use by use, each with its type and below it what it means."""
    return "\n".join(_text()) + "\n"


def _text() -> Iterator[str]:
    for index, (heading, listed) in enumerate(_groups()):
        yield from ([""] if index else [])
        yield heading
        width = max(len(name.key) for name in listed)
        for name in listed:
            yield f"  {name.key:<{width}}  {name.type}"
            yield f"      {name.meaning}"


def markdown() -> str:
    """Return one table for each use, under its heading."""
    tables = [f"## {heading}\n\n{_table(listed)}" for heading, listed in _groups()]
    return "\n\n".join(tables) + "\n"


def _table(listed: Sequence[Name]) -> str:
    rows = ["| name | type | meaning |", "|---|---|---|"]
    rows += [f"| `{name.key}` | {name.type} | {name.meaning} |" for name in listed]
    return "\n".join(rows)


def as_json() -> str:
    """Return all names as a list of objects, in order of registration."""
    listed = [{"name": n.key, "type": n.type, "use": n.use, "meaning": n.meaning} for n in REGISTRY]
    return json.dumps(listed, indent=2) + "\n"


FORMS: Final = {"text": text, "json": as_json, "markdown": markdown}
"""The forms of the registry by name."""


def _groups() -> Iterator[tuple[str, Sequence[Name]]]:
    for use, heading in _USES:
        if listed := names(use):
            yield heading, listed
