"""The code of docs/frameworks.md, by the heading it stands under."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

__all__ = ["run"]

PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"


def run(heading: str, **names: Any) -> None:
    """Run the Python block under a heading; `names` are what the page says the reader has."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    exec(compile(code, f"{PAGE.name}: {heading}", "exec"), {"__name__": "page", **names})
