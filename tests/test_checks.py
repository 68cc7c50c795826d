"""Rules of `checks`: green or red, how many failures, and whether it is the same failure."""

from __future__ import annotations

import pytest

from otel_stall.checks import check_outcome
from otel_stall.observations import CheckOutcome


def outcome(text: str, exit_code: int | None = None, *, failed: bool = False) -> CheckOutcome:
    found = check_outcome("pytest", text, failed=failed, exit_code=exit_code)
    assert found is not None
    return found


class TestState:
    @pytest.mark.parametrize(
        ("text", "exit_code", "green", "failing"),
        [
            ("4 passed in 0.1s", None, True, 0),
            ("4 passed", 0, True, 0),
            ("1 failed, 3 passed", 1, False, 1),
            ("2 failed, 1 error", 1, False, 3),
            ("2 failed, 3 passed", 0, False, 2),
            ("boom", 1, False, None),
            ("", 0, True, 0),
            ("", None, True, 0),
            ("", 2, False, None),
            ("Tests: 3 failed, 9 passed, 12 total", 1, False, 3),
            ("FAILED (failures=2, errors=1)", 1, False, 3),
            ("FAILED (failures=2)", None, False, 2),
            ("Found 7 errors in 2 files", 1, False, 7),
            ("Found 0 errors", None, True, 0),
            ("All good", None, True, 0),
            ("OK", None, True, 0),
            ("x.c:1: error: expected ;", None, False, None),
            ("test result: FAILED. 2 passed; 1 failed", 101, False, 1),
            ("3 warnings", 0, False, 3),
            ("not ok 1 - adds", None, False, None),
            ("Build succeeded. 0 Warnings", None, True, 0),
        ],
    )
    def test_from_text_and_exit_code(self, text: str, exit_code: int | None, green: bool, failing: int | None) -> None:
        """A count of failures decides, then the exit code, then the words."""
        found = outcome(text, exit_code)

        assert (found.green, found.failing) == (green, failing)

    def test_the_span_says_that_it_failed(self) -> None:
        """A failed span is red where the text counts nothing."""
        assert not outcome("something", failed=True).green

    def test_text_that_tells_nothing(self) -> None:
        """Neither words nor an exit code: the outcome is unknown."""
        assert check_outcome("pytest", "collecting", failed=False, exit_code=None) is None

    def test_the_last_line_that_counts_decides(self) -> None:
        """Summaries stand at the end."""
        assert outcome("7 failed in shop\nrerun\n2 failed, 5 passed", 1).failing == 2


class TestIdentity:
    def test_is_that_of_the_command(self) -> None:
        """Two checks are the same check if their commands and targets are."""
        one, two = (check_outcome(name, "1 failed", failed=True, exit_code=1) for name in ("pytest a", "pytest b"))

        assert one is not None
        assert two is not None
        assert one.identity != two.identity


class TestMessage:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("FAILED a::t - wrong total\n2 failed in 0.1s", "FAILED a::t - wrong total\n2 failed in 9.3s"),
            ("E AssertionError: 3 != 4\n1 failed", "E AssertionError: 5 != 4\n1 failed"),
            ("progress 10%\nerror: x\n", "progress 20%\nerror: x\n"),
            ("FAILED b\nFAILED a\n2 failed", "FAILED a\nFAILED b\n2 failed"),
            ("error: pid 17 died", "error: pid 18 died"),
        ],
    )
    def test_of_the_same_failure(self, one: str, other: str) -> None:
        """Times, order, passing lines and counted numbers do not make another failure."""
        assert outcome(one, 1).message == outcome(other, 1).message

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("FAILED a::t1\n1 failed", "FAILED a::t2x\n1 failed"),
            ("error: assertion 3 of 12", "error: assertion 4 of 12"),
            ("AssertionError: total", "AssertionError: sum"),
        ],
    )
    def test_of_another_failure(self, one: str, other: str) -> None:
        """Another test or message moves; so does a number where the check counts none."""
        assert outcome(one, 1).message != outcome(other, 1).message
