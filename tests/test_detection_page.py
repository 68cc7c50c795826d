"""The page on detection lists every reason as the table has it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from otel_stall.reasons import CLEAR, RELIEVE, TABLE

PAGE = Path(__file__).parent.parent / "docs/detection.md"
REGENERATE = os.environ.get("OTEL_STALL_REGENERATE") == "1"

_TABLE = re.compile(r"(<!-- reasons: [^\n]*-->\n).*?(<!-- reasons end -->)", re.DOTALL)


def _weight(waste: float) -> str:
    return {CLEAR: "clears", RELIEVE: "relieves"}.get(waste, f"{waste:g}")


def table() -> str:
    """Return the table of reasons as the page shows it."""
    rows = ["| reason | gain | waste | in words | for example |", "|---|---|---|---|---|"]
    rows += [
        f"| `{reason}` | {entry.gain} | {_weight(entry.waste)} | {entry.sentence} | {entry.example} |"
        for reason, entry in TABLE.items()
    ]
    return "\n".join(rows)


def test_reasons_are_those_of_the_table() -> None:
    """The page's table is generated from the one table of reasons."""
    text = PAGE.read_text(encoding="utf-8")
    current = _TABLE.sub(lambda found: found.group(1) + table() + "\n" + found.group(2), text)
    if REGENERATE:
        PAGE.write_text(current, encoding="utf-8")

    assert text == current or REGENERATE
