"""Text laid out by the columns it takes on a terminal: wide characters take two, combining ones none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TextIO

from rich.cells import cell_len, chop_cells

__all__ = ["PLAIN", "Screen", "fitted", "left", "right", "wrapped"]

_SGR: Final = {"bold": "1", "dim": "2", "yellow": "33", "red": "31", "green": "32", "cyan": "36"}
_BLANKS: Final = re.compile(r"(?<! ) +(?=[^ ])")


@dataclass(frozen=True, slots=True)
class Screen:
    """What is written to: a terminal of `width` columns, or something without any (None), with colour or not."""

    width: int | None = None
    colour: bool = False

    @classmethod
    def of(cls, stream: TextIO, environ: Mapping[str, str], columns: int) -> Screen:
        """Return the screen behind a stream; colour needs a terminal that is not dumb and no `NO_COLOR`."""
        if not stream.isatty():
            return PLAIN
        return cls(columns, not environ.get("NO_COLOR") and environ.get("TERM") != "dumb")

    def styled(self, text: str, style: str) -> str:
        """Return text in a style, such as "bold red", where there is colour; blank text and "" stay plain."""
        if not self.colour or not style or not text.strip():
            return text
        return f"\x1b[{';'.join(_SGR[word] for word in style.split())}m{text}\x1b[0m"


PLAIN: Final = Screen()
"""A pipe or a file: lines stay whole, without colour."""


def fitted(text: str, width: int) -> str:
    """Return text of at most `width` columns, cut with an ellipsis where it takes more."""
    if cell_len(text) <= width:
        return text
    return _head(text, width - 1) + "…" if width > 0 else ""


def left(text: str, width: int) -> str:
    """Return text of exactly `width` columns, at their left."""
    shown = fitted(text, width)
    return shown + " " * (width - cell_len(shown))


def right(text: str, width: int) -> str:
    """Return text of exactly `width` columns, at their right."""
    shown = fitted(text, width)
    return " " * (width - cell_len(shown)) + shown


def wrapped(text: str, width: int | None, indent: int = 0) -> Iterator[str]:
    """Yield text as lines of at most `width` columns, all but the first indented; None keeps it whole.

    Lines break at spaces, and inside a word alone where it is longer than a line.
    """
    if width is None or cell_len(text) <= width:
        yield text
        return
    indent = max(min(indent, width // 2, width - 2), 0)
    line = ""
    for word in _words(text):
        if not line or cell_len(line) + cell_len(word) <= width:
            line += word
        else:
            yield from _pieces(line, width, indent)
            line = " " * indent + word.lstrip(" ")
        *whole, line = _pieces(line, width, indent)
        yield from whole
    yield line


def _words(text: str) -> list[str]:
    """Return the words, each with the blanks before it."""
    starts = [found.start() for found in _BLANKS.finditer(text) if found.start()]
    return [text[start:end] for start, end in zip([0, *starts], [*starts, len(text)], strict=True)]


def _pieces(line: str, width: int, indent: int) -> list[str]:
    """Return a line cut where it is too long for the screen."""
    pieces = []
    while cell_len(line) > width:
        head = _head(line, width)
        if not head.strip(" ") and len(head) <= indent:
            break
        pieces.append(head)
        line = " " * indent + line[len(head) :]
    return [*pieces, line]


def _head(text: str, width: int) -> str:
    """Return the longest beginning of a text that takes at most `width` columns."""
    if width < 2:
        return text[:width] if cell_len(text[:1]) <= width else ""
    return chop_cells(text, width)[0]
