"""The entry point of the command line: a hook of a coding agent starts at once, any other command loads its parser."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its status."""
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv):
        from otel_stall.hook import run

        sys.exit(run(sys.argv[2:]))
    from otel_stall.cli import main as command_line

    command_line()
