"""The page on detection lists every reason as the table has it."""

from __future__ import annotations

from pathlib import Path

from pages import assert_holds

from otel_stall.reasons import CLEAR, RELIEVE, TABLE

PAGE = Path(__file__).parent.parent / "docs/detection.md"


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
    assert_holds(PAGE, "reasons", table())
