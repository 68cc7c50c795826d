"""Which conversation is meant by what a person types, and how ids are shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from otel_stall.errors import SelectionError
from otel_stall.report.printable import printable
from otel_stall.report.selection import chosen, one_of, shortened

IDS = ["6f1d0f5e-6a3c-4a37", "6f1d0f5e-7777-4a37", "c1", "c10", "run-2026-12-01-0001", "run-2026-12-01-0002"]

texts = st.text(min_size=1) | st.text(alphabet="ab数\x1b…", min_size=1)
ids = st.lists(texts, min_size=1, max_size=20, unique_by=printable)


def refused(text: str, among: list[str]) -> str:
    with pytest.raises(SelectionError) as error:
        chosen(text, among)
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("6f1d0f5e-6", "6f1d0f5e-6a3c-4a37"),
        ("6f1d0f5e-7777-4a37", "6f1d0f5e-7777-4a37"),
        ("c1", "c1"),
        ("c10", "c10"),
        ("run…0002", "run-2026-12-01-0002"),
    ],
)
def test_one_is_meant(text: str, meant: str) -> None:
    """The whole id, a beginning of one alone, or both ends of it."""
    assert chosen(text, IDS) == meant
    assert one_of(text)(IDS) == {meant}


def test_several_are_meant() -> None:
    """The message names them."""
    assert refused("6f1d0f5e", IDS) == "'6f1d0f5e' means 2 conversations: 6f1d0f5e-6a3c-4a37, 6f1d0f5e-7777-4a37"
    many = [f"run-{number:03}" for number in range(30)]
    assert refused("run", many).endswith("run-008, run-009 and 20 more")


def test_none_is_meant() -> None:
    """The message names those that resemble it first, then others."""
    assert refused("0002", IDS).startswith("no conversation '0002'; there is run-2026-12-01-0002, ")
    assert refused("6fld0f5e-6a3c-4a37", IDS).startswith(
        "no conversation '6fld0f5e-6a3c-4a37'; there is 6f1d0f5e-6a3c-4a37, "
    )
    assert refused("x", []) == "no conversation 'x': these traces have none"


def test_messages_are_printable() -> None:
    """No control character of an id, or of what was typed, reaches the terminal."""
    assert refused("\x1b[2J", ["\x1b[31mred", "\u202eevil"]).isprintable()


def test_ids_are_whole_where_they_fit() -> None:
    """With room an id is shown as it is; without, by the beginning that no other has, at least 8 characters."""
    assert list(shortened(IDS, 40).values()) == IDS
    assert shortened(IDS, 12) == {
        "6f1d0f5e-6a3c-4a37": "6f1d0f5e-6",
        "6f1d0f5e-7777-4a37": "6f1d0f5e-7",
        "c1": "c1",
        "c10": "c10",
        "run-2026-12-01-0001": "run…-01-0001",
        "run-2026-12-01-0002": "run…-01-0002",
    }
    assert shortened(["0af7651916cd43dd8448eb211c80319c"], 20) == {"0af7651916cd43dd8448eb211c80319c": "0af76519"}


@given(ids)
def test_a_beginning_that_no_other_has_finds_it(found: list[str]) -> None:
    """Whatever the ids, each is found by what is shown of it where there is room for that."""
    for width in (400, max(len(text) for text in found) * 2):
        for id_, text in shortened(found, width).items():
            assert chosen(text, found) == id_


@given(ids)
def test_any_unique_beginning_finds_it(found: list[str]) -> None:
    """Whatever the ids, every beginning that one id alone has finds that id."""
    for id_ in found:
        for length in range(1, len(id_) + 1):
            start = id_[:length]
            if start not in found and sum(other.startswith(start) for other in found) == 1:
                others = [other for other in found if other != id_ and printable(other).startswith(start)]
                assert others or chosen(start, found) == id_


@given(ids, st.integers(1, 30))
def test_shown_ids_fit(found: list[str], width: int) -> None:
    """Whatever the ids, what is shown is printable and no wider than it may be."""
    for text in shortened(found, width).values():
        assert text.isprintable()
        assert cell_len(text) <= width
