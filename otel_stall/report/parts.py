"""What reports have in common: parts under a heading, and the problems met while reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from otel_stall.report.cells import Screen, wrapped
from otel_stall.report.printable import printable

if TYPE_CHECKING:
    from otel_stall.readers import Problem, Problems

__all__ = ["headed", "laid_out", "listed", "problem_line", "problem_lines"]


def headed(heading: str, lines: Iterator[str]) -> list[str]:
    """Return the lines, indented, under their heading; nothing where there are none."""
    found = [f"  {line}" for line in lines]
    return [heading, *found] if found else []


def laid_out(part: Iterable[str], screen: Screen) -> list[str]:
    """Return the lines of a part, its heading first, as they stand on the screen: folded, the heading in bold."""
    return [
        screen.styled(line, "" if index else "bold")
        for index, text in enumerate(part)
        for line in wrapped(text, screen.width, len(text) - len(text.lstrip(" -")))
    ]


def problem_line(problem: Problem) -> str:
    """Return one problem as one safe line, `source:line: error`."""
    place = printable(problem.source) + (f":{problem.line}" if problem.line is not None else "")
    return f"{place}: {printable(problem.error)}"


def problem_lines(problems: Problems) -> Iterator[str]:
    """Yield a line for each problem kept, and how many more there were."""
    yield from map(problem_line, problems.kept)
    if problems.dropped:
        yield f"and {problems.dropped} more"


def listed(problems: Problems) -> list[dict[str, object]]:
    """Return the problems kept, as they stand in a JSON document."""
    return [{"source": p.source, "line": p.line, "error": p.error} for p in problems.kept]
