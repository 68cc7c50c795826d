"""What the demo's agent does, turn by turn: it works, stalls, forgets, and recovers.

After the first milestone every call is another one, so no rule over tool names and arguments fires. The
cause of the last failure stands in a document that the agent reads only at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["SCENES", "Call", "Scene"]


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of the script."""

    tool: str
    arguments: Mapping[str, str | int]

    @property
    def shown(self) -> str:
        """The call as a person would write it."""
        inner = ", ".join(str(value).splitlines()[0] for value in self.arguments.values())
        return f"{self.tool}({inner})"


@dataclass(frozen=True, slots=True)
class Scene:
    """A stretch of the run under one heading; `compacted` says that the context was compacted before it."""

    heading: str
    calls: Sequence[Call]
    compacted: bool = False


def _read(path: str, offset: int = 1, limit: int = 0) -> Call:
    window = {"offset": offset, "limit": limit} if limit else {}
    return Call("read_file", {"path": path, **window})


def _grep(pattern: str, path: str = ".") -> Call:
    return Call("grep", {"pattern": pattern, "path": path})


def _bash(command: str) -> Call:
    return Call("bash", {"command": command})


def _edit(path: str, old: str, new: str) -> Call:
    return Call("edit_file", {"path": path, "old": old, "new": new})


SCENES: tuple[Scene, ...] = (
    Scene(
        "The agent starts well: it looks around, finds a rounding error and fixes it.",
        (
            _bash("ls"),
            _read("README.md"),
            _bash("pytest -q tests/test_money.py"),
            _read("tests/test_money.py"),
            _read("billing/money.py"),
            _edit("billing/money.py", "int(amount * 100)", "int(round(amount * 100))"),
            _bash("pytest -q tests/test_money.py"),
        ),
    ),
    Scene(
        "The next failure is harder. It reads what there is to read.",
        (
            _bash("pytest -q tests/test_invoice.py"),
            _read("tests/test_invoice.py"),
            _read("billing/invoice.py"),
            _read("billing/tax.py"),
            _read("tests/conftest.py"),
            _read("data/expected.csv"),
            _read("billing/rates.csv"),
            _read("billing/__init__.py"),
            _read("setup.cfg"),
        ),
    ),
    Scene(
        "From here on every call is a new one, and nothing is gained.",
        (
            _grep("to_cents"),
            _grep("rate("),
            _read("billing/invoice.py", 5, 3),
            _grep("country", "billing"),
            _bash("grep -rn 'to_cents' billing"),
            _read("billing/tax.py", 6, 4),
            _grep("total(", "tests"),
            _bash("grep -n 'percent' billing/tax.py"),
            _read("billing/invoice.py", 1, 7),
            _grep("TABLE"),
            _grep("invoice_ch"),
            _bash("grep -rn 'invoice_at' tests"),
            _read("billing/tax.py", 3, 8),
            _grep("name == country"),
            _bash("pytest -q tests/test_invoice.py -k switzerland"),
            _grep("float(percent)"),
            _read("tests/test_invoice.py", 5, 2),
            _bash("grep -rn 'net' billing"),
            _grep("price * line.count"),
            _read("billing/tax.py", 6, 6),
            _grep("CH", "billing"),
            _bash("pytest -q tests/test_invoice.py --tb=short"),
            _grep("import", "billing/invoice.py"),
            _read("tests/conftest.py", 5, 2),
            _grep("expected.csv", "README.md"),
        ),
    ),
    Scene(
        "It guesses a change. That is progress of a kind, and the stall ends; the test still fails.",
        (
            _edit("billing/tax.py", "return 0.0", "raise KeyError(country)"),
            _bash("pytest -q tests/test_invoice.py"),
        ),
    ),
    Scene(
        "The host compacts the context, and the agent reads everything again.",
        (
            _read("README.md"),
            _read("billing/invoice.py"),
            _read("tests/test_invoice.py"),
            _read("billing/rates.csv"),
            _read("tests/conftest.py"),
        ),
        compacted=True,
    ),
    Scene(
        "It opens a document it had not read, and the run recovers.",
        (
            _read("docs/rates.md"),
            _edit("billing/rates.csv", "CH,7.7", "CH,8.1"),
            _bash("pytest -q tests/test_invoice.py"),
            _bash("git commit -am 'Swiss rate of 2024; round to the nearest cent'"),
        ),
    ),
)
