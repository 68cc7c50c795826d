"""Rules of `patterns`: how a user names tools and commands, and what is no pattern."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_stall.patterns import MAX_PATTERN, command_problem, matches, matches_words, tool_problem


class TestMatches:
    @pytest.mark.parametrize(
        ("pattern", "name", "fits"),
        [
            ("deploy", "deploy", True),
            ("deploy", "deploy_all", False),
            ("deploy*", "deploy_all", True),
            ("*deploy", "mcp__ops__deploy", True),
            ("mcp__*__pay_*", "mcp__bank__pay_bill", True),
            ("mcp__*__pay_*", "mcp__bank__repay", False),
            ("step?", "step1", True),
            ("step?", "step", False),
            ("TodoWrite", "todowrite", True),
            ("a.b", "axb", False),
            ("*x*", "", False),
        ],
    )
    def test_the_whole_name(self, pattern: str, name: str, fits: bool) -> None:
        """`*` any characters, `?` one, everything else itself, in any case; from first character to last."""
        assert matches(pattern, name) is fits

    @pytest.mark.parametrize(
        ("pattern", "words", "fits"),
        [
            ("make release", ("make", "release", "VERSION=1"), True),
            ("make release", ("make", "release-notes"), False),
            ("make release", ("make",), False),
            ("make deploy-*", ("make", "deploy-prod"), True),
            ("make  Release", ("make", "release"), False),
            ("aws s3 rm", ("aws", "s3", "rm", "s3://b"), True),
        ],
    )
    def test_first_words(self, pattern: str, words: tuple[str, ...], fits: bool) -> None:
        """A command fits whose first words are those of the pattern, each whole; shells tell case apart."""
        assert matches_words(pattern, words) is fits

    @given(st.text(min_size=1), st.text())
    def test_never_raises(self, pattern: str, name: str) -> None:
        """Whatever a tool is called."""
        matches(pattern, name)
        matches_words(pattern, (name,))

    def test_is_linear(self) -> None:
        """Many wildcards against a long name that just does not fit take no time."""
        began = time.perf_counter()
        assert not matches("*a" * 59 + "*b", "a" * 100_000)
        assert time.perf_counter() - began < 0.5


class TestProblems:
    @pytest.mark.parametrize("pattern", ["deploy", "mcp__*__pay", "a.b/c-d", "?x", "x" * MAX_PATTERN])
    def test_of_good_ones_for_tools(self, pattern: str) -> None:
        """A name with or without wildcards."""
        assert tool_problem(pattern) == ""

    @pytest.mark.parametrize(
        ("pattern", "problem"),
        [
            ("", "letter or a digit"),
            ("*", "letter or a digit"),
            ("**?_", "letter or a digit"),
            ("git push", "no space"),
            ("[ab]c", "brackets"),
            ("x" * (MAX_PATTERN + 1), "longer than 120"),
        ],
    )
    def test_of_wrong_ones_for_tools(self, pattern: str, problem: str) -> None:
        """What fits everything, is two words, knows more wildcards than there are, or is too long."""
        assert problem in tool_problem(pattern)

    @pytest.mark.parametrize("pattern", ["make release", "./scripts/deploy-*", "aws s3 rm --recursive", "uv publish"])
    def test_of_good_ones_for_commands(self, pattern: str) -> None:
        """First words of one plain command."""
        assert command_problem(pattern) == ""

    @pytest.mark.parametrize("pattern", ["", "a && b", "a | b", "echo $X", "'a b'", "a > b", "* push", "[x] y"])
    def test_of_wrong_ones_for_commands(self, pattern: str) -> None:
        """What a shell would take apart, and what names no command."""
        assert command_problem(pattern)
