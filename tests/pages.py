"""Tables of the documentation that are generated from tables of the code."""

from __future__ import annotations

import os
import re
from pathlib import Path


def assert_holds(page: Path, marker: str, table: str) -> None:
    """Assert that a page holds a table between its marks; OTEL_STALL_REGENERATE=1 writes it there instead."""
    marked = re.compile(rf"(<!-- {marker}: [^\n]*-->\n).*?(<!-- {marker} end -->)", re.DOTALL)
    text = page.read_text(encoding="utf-8")
    assert marked.search(text)
    current = marked.sub(lambda found: found.group(1) + table + "\n" + found.group(2), text)
    regenerate = os.environ.get("OTEL_STALL_REGENERATE") == "1"
    if regenerate:
        page.write_text(current, encoding="utf-8")

    assert text == current or regenerate
