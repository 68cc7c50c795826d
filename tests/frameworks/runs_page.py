"""docs/pressure-runs.md: the same stuck agent before and after, as each adapter's test recorded it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["check", "recorded"]

PAGE = Path(__file__).parents[2] / "docs" / "pressure-runs.md"
REGENERATE = os.environ.get("OTEL_STALL_REGENERATE") == "1"


def recorded(
    shown: Mapping[int, str], asked: Mapping[int, str] | None = None, *, calls: int, last: str, kept: Sequence[str] = ()
) -> str:
    """Return a run as text: what was shown after which call, when a person was asked, and how it ended."""
    lines = {step: [("shown", text)] for step, text in shown.items() if text}
    for step, text in (asked or {}).items():
        lines.setdefault(step, []).append(("asked", text))
    told = [f"step {step:2}  {who}: {_indented(text)}" for step in sorted(lines) for who, text in lines[step]]
    ended = [f"{calls} calls; last word: {_indented(last)}"]
    return "\n".join([*(told or ["nothing is shown"]), *ended, *(f"kept: {one}" for one in kept)])


def _indented(text: str) -> str:
    return text.replace("\n", "\n" + " " * 16)


def check(heading: str, before: str, after: str) -> None:
    """Hold the page's section to what was recorded now."""
    page = PAGE.read_text(encoding="utf-8")
    section = f"## {heading}\n\nObserved:\n\n```text\n{before}\n```\n\nPressed:\n\n```text\n{after}\n```\n"
    current = re.sub(rf"## {re.escape(heading)}\n.*?(?=\n## |\Z)", lambda _: section, page, flags=re.DOTALL)
    assert f"## {heading}\n" in page
    if REGENERATE:
        PAGE.write_text(current, encoding="utf-8")
    assert page == current or REGENERATE
