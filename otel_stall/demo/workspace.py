"""A tiny project in memory with the tools of a coding agent over it: read, search, edit, run its tests.

Every answer is computed from the files, so what the demo's agent sees is what its calls really do.
"""

from __future__ import annotations

import re

__all__ = ["Workspace"]

FILES = {
    "README.md": "# billing\nInvoices for three countries.\nTotals must agree to the cent with data/expected.csv.",
    "billing/invoice.py": (
        "from billing.tax import rate\n"
        "from billing.money import to_cents\n"
        "\n"
        "\n"
        "def total(invoice):\n"
        "    net = sum(line.price * line.count for line in invoice.lines)\n"
        "    return to_cents(net * (1 + rate(invoice.country)))\n"
        "\n"
        "\n"
        "def summary(invoice):\n"
        "    return f'{invoice.number}: {total(invoice) / 100:.2f}'"
    ),
    "billing/money.py": "def to_cents(amount):\n    return int(amount * 100)",
    "billing/tax.py": (
        "from pathlib import Path\n"
        "\n"
        "TABLE = Path(__file__).parent / 'rates.csv'\n"
        "\n"
        "\n"
        "def rate(country):\n"
        "    for row in TABLE.read_text().splitlines():\n"
        "        name, percent = row.split(',')\n"
        "        if name == country:\n"
        "            return float(percent) / 100\n"
        "    return 0.0"
    ),
    "billing/rates.csv": "AT,20\nDE,19\nCH,7.7",
    "billing/__init__.py": "__version__ = '1.4'",
    "tests/test_money.py": (
        "from billing.money import to_cents\n"
        "\n"
        "\n"
        "def test_rounds_to_the_nearest_cent():\n"
        "    assert to_cents(19.999) == 2000"
    ),
    "tests/test_invoice.py": (
        "def test_total_austria(invoice_at):\n"
        "    assert total(invoice_at) == 12000\n"
        "\n"
        "\n"
        "def test_total_switzerland(invoice_ch):\n"
        "    assert total(invoice_ch) == 10810"
    ),
    "tests/conftest.py": (
        "import pytest\n"
        "\n"
        "\n"
        "@pytest.fixture\n"
        "def invoice_at():\n"
        "    return invoice('A-1', 'AT', 100.00)\n"
        "\n"
        "\n"
        "@pytest.fixture\n"
        "def invoice_ch():\n"
        "    return invoice('C-1', 'CH', 100.00)"
    ),
    "docs/rates.md": "Rates change by law.\nSwitzerland: 7.7 until the end of 2023, 8.1 from 2024 on.",
    "data/expected.csv": "A-1,120.00\nC-1,108.10",
    "setup.cfg": "[metadata]\nname = billing\n\n[tool:pytest]\ntestpaths = tests",
}


class Workspace:
    """The files of the project and the four tools that work on them; each returns text, as a shell would."""

    def __init__(self) -> None:
        self.files = dict(FILES)
        self.commits = 0

    def read_file(self, path: str, offset: int = 1, limit: int = 0) -> str:
        """Return the lines of a file from `offset`, at most `limit` where it is given."""
        if path not in self.files:
            return f"Error: file does not exist: {path}"
        lines = self.files[path].splitlines()[offset - 1 :]
        return "\n".join(lines[:limit] if limit else lines)

    def grep(self, pattern: str, path: str = ".") -> str:
        """Return the lines that match, as `path:line:text`."""
        found = [
            f"{name}:{number}:{line}"
            for name, text in sorted(self.files.items())
            if path == "." or name.startswith(path)
            for number, line in enumerate(text.splitlines(), 1)
            if re.search(re.escape(pattern), line)
        ]
        return "\n".join(found) or "no matches found"

    def edit_file(self, path: str, old: str, new: str) -> str:
        """Replace a text that occurs in a file."""
        if old not in self.files.get(path, ""):
            return "Error: no replacement was performed, the text does not occur"
        self.files[path] = self.files[path].replace(old, new)
        return f"edited {path}"

    def bash(self, command: str) -> tuple[str, int]:
        """Return output and exit code of the few commands the agent uses."""
        if "pytest" in command:
            return self._pytest(command)
        if command.startswith("git commit"):
            self.commits += 1
            return f"[main 4f1c{self.commits}] 1 file changed", 0
        if command.startswith("ls"):
            return "\n".join(sorted({name.split("/")[0] for name in self.files})), 0
        return self.grep(command.split("'")[1]) if "'" in command else "", 0

    def _pytest(self, command: str) -> tuple[str, int]:
        wanted = [name for name in ("money", "invoice") if f"test_{name}" in command] or ["invoice", "money"]
        failed = [line for name in wanted for line in getattr(self, f"_{name}_failures")()]
        passed = (1 if "money" in wanted else 0) + (2 if "invoice" in wanted else 0) - len(failed)
        if failed:
            return "\n".join([*failed, f"{len(failed)} failed, {passed} passed"]), 1
        return f"{passed} passed", 0

    def _money_failures(self) -> list[str]:
        if "round(" in self.files["billing/money.py"]:
            return []
        return ["FAILED tests/test_money.py::test_rounds_to_the_nearest_cent - assert 1999 == 2000"]

    def _invoice_failures(self) -> list[str]:
        if "CH,8.1" in self.files["billing/rates.csv"]:
            return []
        return ["FAILED tests/test_invoice.py::test_total_switzerland - assert 10770 == 10810"]
