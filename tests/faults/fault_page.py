"""The table of `docs/faults.md`, made of the docstrings of the tests here: `python tests/faults/fault_page.py`.

A test of a fault says it in three parts: what the fault is, what the host sees, and what is counted or logged.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["BEGIN", "END", "PAGE", "Fault", "faults", "table", "written"]

_HERE: Final = Path(__file__).parent
PAGE: Final = _HERE.parents[1] / "docs" / "faults.md"
BEGIN: Final = "<!-- made of the tests' docstrings by tests/faults/fault_page.py -->\n"
END: Final = "<!-- end -->\n"
_PARTS: Final = re.compile(r"(?P<what>.+?)\n\s*\n\s*Host: (?P<host>.+?)\n\s*Told: (?P<told>.+?)\s*", re.DOTALL)
_TITLES: Final = {
    "test_own_code.py": "In our own code",
    "test_callbacks.py": "In what the host brings along",
    "test_lifecycle.py": "In processes, threads, tasks and clocks",
    "test_storage.py": "On disks and in files",
}


class Fault(NamedTuple):
    """One row: the test's file and name, the fault, what the host sees, what is counted or logged."""

    file: str
    name: str
    what: str
    host: str
    told: str


def faults() -> Iterator[Fault]:
    """Yield a fault for each test here; raises ValueError where a docstring has not the three parts."""
    for file in _TITLES:
        for name, text in _tests(ast.parse((_HERE / file).read_text(encoding="utf-8")), ""):
            said = _PARTS.fullmatch(text)
            if said is None:
                raise ValueError(f"{file}: {name} does not say what the host sees and what is told")
            what, host, told = (" ".join(part.split()) for part in said.groups())
            yield Fault(file, name, what, host, told)


def _tests(inside: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, str]]:
    for node in inside.body:
        if isinstance(node, ast.ClassDef):
            yield from _tests(node, f"{node.name}::")
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield prefix + node.name, ast.get_docstring(node) or ""


def table() -> str:
    """Return the rows as Markdown, a table for each file."""
    parts = []
    for file, title in _TITLES.items():
        rows = [one for one in faults() if one.file == file]
        lines = [f"| {one.what} | {one.host} | {one.told} | `{one.name}` |" for one in rows]
        head = f"## {title}\n\nTests: `tests/faults/{file}`\n\n"
        parts.append(
            head + "\n".join(["| fault | what the host sees | counted or logged | test |", "|---|---|---|---|", *lines])
        )
    return "\n\n".join(parts) + "\n"


def written(page: str) -> str:
    """Return the page with the table of now."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
