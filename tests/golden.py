"""Files that what is printed is compared with, whole; `UPDATE_GOLDEN=1` writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "fixtures" / "report"
UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"


def compare(name: str, text: str) -> None:
    """Assert that a text is that of a file of `fixtures/report`."""
    path = FOLDER / name
    if UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
