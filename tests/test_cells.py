"""Text on a terminal: widths in columns, folding, and when there is colour."""

from __future__ import annotations

import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from otel_stall.report.cells import PLAIN, Screen, fitted, left, right, wrapped
from otel_stall.report.printable import printable

names = st.text().map(printable) | st.text(alphabet="a 数é-e\u0301", max_size=200)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class TestWidths:
    def test_wide_characters_take_two_columns(self) -> None:
        """A name of wide characters is cut where it would cross the border, and padded to it."""
        assert fitted("数据分析", 8) == "数据分析"
        assert fitted("数据分析", 7) == "数据分…"
        assert left("数据分析", 6) == "数据… "
        assert right("数", 4) == "  数"

    @given(names, st.integers(0, 30))
    def test_cells_have_their_width(self, text: str, width: int) -> None:
        """Whatever the text, a cell is exactly as wide as it should be, and what fits is not cut."""
        assert cell_len(fitted(text, width)) <= width
        assert cell_len(left(text, width)) == cell_len(right(text, width)) == width
        assert fitted(text, cell_len(text)) == text


class TestWrapped:
    def test_lines_break_at_spaces(self) -> None:
        """Lines after the first are indented; a word that is longer than a line is cut."""
        assert list(wrapped("  one two three", 10, 2)) == ["  one two", "  three"]
        assert list(wrapped("a long-word-indeed b", 8, 2)) == ["a", "  long-w", "  ord-in", "  deed b"]

    def test_a_pipe_keeps_lines_whole(self) -> None:
        """Without a width nothing is folded."""
        assert list(wrapped("word " * 100, None)) == ["word " * 100]

    @given(names, st.integers(2, 40), st.integers(0, 8))
    @example("0\u2f00\u2f00", 4, 2)
    def test_no_line_is_too_long(self, text: str, width: int, indent: int) -> None:
        """Whatever the text, every line fits and nothing but blanks is lost."""
        lines = list(wrapped(text, width, indent))
        assert max(map(cell_len, lines)) <= width
        assert "".join("".join(lines).split()) == "".join(text.split())


class TestScreen:
    @pytest.mark.parametrize(
        ("environ", "colour"),
        [
            ({"TERM": "xterm"}, True),
            ({}, True),
            ({"NO_COLOR": ""}, True),
            ({"NO_COLOR": "1"}, False),
            ({"TERM": "dumb"}, False),
        ],
    )
    def test_colour(self, environ: dict[str, str], colour: bool) -> None:
        """A terminal has colour unless it is dumb or NO_COLOR is set to something."""
        assert Screen.of(Terminal(), environ, 99) == Screen(99, colour)

    def test_a_pipe_has_neither_width_nor_colour(self) -> None:
        """What is no terminal gets whole lines without an escape sequence."""
        assert Screen.of(io.StringIO(), {"TERM": "xterm"}, 99) == PLAIN
        assert PLAIN.styled("text", "bold red") == "text"

    def test_styles(self) -> None:
        """Colour wraps the text and ends with it; blanks are left alone."""
        assert Screen(80, colour=True).styled("text", "bold red") == "\x1b[1;31mtext\x1b[0m"
        assert Screen(80, colour=True).styled("  ", "red") == "  "
