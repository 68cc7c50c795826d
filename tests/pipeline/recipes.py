"""The queries of docs/queries.md and of the dashboard over traces, by what they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chain import CONFIGS

__all__ = ["PAGE", "Recipe", "dashboard_traceql", "places", "recipes"]

PAGE: Final = (Path(__file__).parents[2] / "docs/queries.md").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Recipe:
    """One query of the page: under which heading it stands, in which language, and which of that language there."""

    heading: str
    language: str
    query: str
    place: int = 0


def recipes(language: str) -> list[Recipe]:
    """Return the page's queries in a language, in order."""
    return [one for one in _read() if one.language == language]


def _read() -> Iterator[Recipe]:
    for section in PAGE.split("\n### ")[1:]:
        heading, _, text = section.partition("\n")
        seen: dict[str, int] = {}
        for language, query in re.findall(r"```(\w+)\n(.*?)\n```", text, re.DOTALL):
            yield Recipe(heading, language, query, seen.get(language, 0))
            seen[language] = seen.get(language, 0) + 1


def dashboard_traceql() -> list[str]:
    """Return the queries of the dashboard over traces, its variables as they are in the file."""
    board = json.loads((CONFIGS / "grafana/dashboards/stalled-runs.json").read_text(encoding="utf-8"))
    return [target["query"] for panel in board["panels"] for target in panel.get("targets", [])]


def places() -> dict[str, list[str]]:
    """Return the page's table: attribute to what its columns say."""
    rows = re.findall(r"^\| `(stall\.[\w.]+)` \|(.*)\|$", PAGE, re.MULTILINE)
    return {key: [cell.strip() for cell in cells.split("|")] for key, cells in rows}
