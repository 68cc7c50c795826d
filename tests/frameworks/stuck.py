"""The task of every framework's agent: it reads three files, then looks again for what it has read.

No call repeats another, and from the fourth on none brings a line that is new.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["CALLS", "FILES", "Call", "grep", "read_file"]

FILES: Final = {
    "app.py": "import util\n\ndef main():\n    total = util.add(1, 2)\n    return total\n",
    "util.py": "import math\n\ndef add(a, b):\n    result = math.fsum([a, b])\n    return result\n",
    "test_app.py": "import app\n\ndef test_main():\n    outcome = app.main()\n    assert outcome == 3\n",
}


class Call(NamedTuple):
    """One call that the model asks for."""

    tool: str
    arguments: dict[str, str]


CALLS: Final = (
    *(Call("read_file", {"path": path}) for path in FILES),
    Call("grep", {"pattern": "import", "path": "app.py"}),
    Call("grep", {"pattern": "return", "path": "app.py"}),
    Call("grep", {"pattern": "def", "path": "util.py"}),
    Call("grep", {"pattern": "math", "path": "util.py"}),
    Call("grep", {"pattern": "outcome", "path": "test_app.py"}),
    Call("grep", {"pattern": "assert", "path": "test_app.py"}),
)


def read_file(path: str) -> str:
    """Return the text of a file."""
    return FILES[path]


def grep(pattern: str, path: str) -> str:
    """Return the lines of a file that hold the pattern."""
    return "\n".join(line for line in FILES[path].splitlines() if pattern in line)
