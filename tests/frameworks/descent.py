"""An agent that reaches a milestone, gets stuck and goes on: its calls, and its work.

Red, a change, green: a verified milestone. From then on it looks again at what it has seen, in
ever other words. `Model` says what it was shown at each turn.
"""

from __future__ import annotations

from itertools import product
from typing import Final

from stuck import FILES, Call
from traced import Traced

__all__ = ["ALL", "FIXING", "GREEN", "LEVELS", "LOOKING", "PLAN", "Work", "reached"]

ALL: Final = ("notice", "replan", "ask_user", "abandon")

FIXING: Final = (
    Call("bash", {"command": "pytest -q"}),
    Call("write_file", {"path": "util.py", "content": "def add(a, b):\n    return a + b\n"}),
    Call("bash", {"command": "pytest -q"}),
)

_WORDS: Final = (
    "import",
    "def",
    "return",
    "add",
    "main",
    "total",
    "outcome",
    "app",
    "util",
    "math",
    "assert",
    "test_",
    "a",
)

LOOKING: Final = (
    *(Call("bash", {"command": f"cat {path}"}) for path in FILES),
    *(Call("bash", {"command": f"grep -n {word} {path}"}) for word, path in product(_WORDS, FILES)),
)
"""After the first three no line is new."""

GREEN: Final = Call("bash", {"command": "mypy util.py"})

PLAN: Final = (
    GREEN,
    Call("write_file", {"path": "util.py", "content": "add = sum\n"}),
    GREEN,
    *(Call("write_file", {"path": f"{name}.py", "content": f"{name} = 1\n"}) for name in ("one", "two", "three")),
    *LOOKING[3:6],
)
"""What one that recovers does after it was told to re-plan: red, a change, green, and more work."""

LEVELS: Final = {"notice": 12, "replan": 18, "ask_user": 24, "abandon": 36}
"""The steps at which the verdicts on `FIXING` and `LOOKING` reach each level."""


class Work:
    """The files the agent works on."""

    def __init__(self) -> None:
        self.files = dict(FILES)
        self.calls = 0

    def bash(self, command: str) -> str:
        """Run a shell command."""
        self.calls += 1
        words = command.split()
        if words[0] == "pytest":
            fixed = "math.fsum" not in self.files["util.py"]
            return "4 passed in 0.10s" if fixed else "E  AssertionError: 3.0 is no int\n1 failed, 3 passed in 0.10s"
        if words[0] == "mypy":
            typed = "def" not in self.files["util.py"]
            return "Success: no issues found in 1 source file" if typed else "util.py:1: error: untyped\nFound 1 error"
        lines = FILES[words[-1]].splitlines()
        if words[0] == "cat":
            return "\n".join(lines)
        return "\n".join(line for line in lines if words[2] in line) or lines[0]

    def write_file(self, path: str, content: str) -> str:
        """Write a file."""
        self.calls += 1
        self.files[path] = content
        return f"{path} written"


def reached(traced: Traced) -> dict[str, int]:
    """Return the step at which the exported verdicts reach each level first."""
    found: dict[str, int] = {}
    for span in traced.steps():
        written = dict(span.attributes or {})
        if "stall.level" in written:
            found.setdefault(str(written["stall.level"]), int(str(written["stall.step"])))
    return found
