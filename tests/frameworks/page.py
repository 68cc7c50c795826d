"""The code of docs/frameworks.md and docs/pressure.md, by the heading it stands under."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

__all__ = ["run"]

DOCS = Path(__file__).parents[2] / "docs"


def run(heading: str, page: str = "frameworks.md", **names: Any) -> dict[str, Any]:
    """Run the Python block under a heading, and return its names; `names` are what the page says the reader has."""
    section = re.split(rf"\n##+ {re.escape(heading)}\n", (DOCS / page).read_text(encoding="utf-8"), maxsplit=1)[1]
    (code,) = re.findall(r"```python\n(.*?)```", re.split(r"\n##", section, maxsplit=1)[0], re.DOTALL)
    known = {"__name__": "page", **names}
    exec(compile(code, f"{page}: {heading}", "exec"), known)
    return known
