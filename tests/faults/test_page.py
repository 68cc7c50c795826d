"""The page of faults says what the tests do, and no more."""

from __future__ import annotations

from pathlib import Path

from fault_page import _TITLES, PAGE, faults, written


def test_the_page_is_made_of_the_tests() -> None:
    """Every test has its row and every row its test, with the test's own words."""
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page, "run python tests/faults/fault_page.py"


def test_every_file_is_in_it() -> None:
    """No file of tests is left out of the page, and no two tests of a file share a name."""
    here = {path.name for path in Path(__file__).parent.glob("test_*.py")}
    assert here == {*_TITLES, "test_page.py"}
    names = [(one.file, one.name) for one in faults()]
    assert len(names) == len(set(names))
