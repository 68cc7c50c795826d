"""Rules of `fingerprints`: what counts as the same again."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_stall import fingerprints
from otel_stall.fingerprints import (
    MASKED_BYTES,
    canonical,
    combine,
    digest,
    fold_error,
    line_digests,
    mask,
    outcome,
    outcome_digest,
    trigrams,
    unordered,
    words,
)


class TestDigest:
    def test_is_stable(self) -> None:
        """Digests are the same in every process and on every machine."""
        assert digest("a") == 0xE6C632B61E964E1F
        assert digest(b"a") == digest("a")

    def test_takes_lone_surrogates(self) -> None:
        """Text that is no valid Unicode has a digest, too."""
        assert digest("\ud800") != digest("\ud801")

    def test_of_several_parts(self) -> None:
        """Order and borders matter; None is a value of its own."""
        parts = [("a", "b"), ("b", "a"), ("ab",), ("a", None), ("a",), ("a", "")]

        assert len({combine(*part) for part in parts}) == len(parts)


class TestCanonical:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
            ({"a": 1, "b": None}, {"a": 1}),
            ({"a": 1, "b": ""}, {"a": 1, "b": []}),
            ({"a": 1, "b": False}, {"a": 1, "b": {}}),
            ({"a": "x  y"}, {"a": " x y\t"}),
            ({"a": 1, "description": "first"}, {"a": 1, "Reasoning": "second"}),
            ({"a": {"c": 1, "b": [{"e": None}]}}, {"a": {"b": [{}], "c": 1}}),
            ((1, 2), [1, 2]),
            ({"a": "x" * 20_000}, {"a": "x" * 20_000}),
        ],
    )
    def test_equal_calls(self, one: object, other: object) -> None:
        """Order, empty values, spaces and the model's remarks make no other call."""
        assert canonical(one) == canonical(other)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({"a": 1}, {"a": 2}),
            ({"a": 1}, {"a": "1"}),
            ({"a": 0}, {}),
            ({"a": True}, {"a": 1}),
            ({"a": [1, 2]}, {"a": [2, 1]}),
            ({"a": "x\n  y"}, {"a": "x\n y"}),
            ({"offset": 1}, {"offset": 10}),
            ({"a": "x" * 20_000}, {"a": "x" * 20_001}),
            ("ls", {"command": "ls"}),
            (float("nan"), float("inf")),
        ],
    )
    def test_different_calls(self, one: object, other: object) -> None:
        """A value, its type, its place in a list and the indentation of a text make another call."""
        assert canonical(one) != canonical(other)


VOLATILE = [
    ("at 2026-01-02T03:04:05.678Z", "at #"),
    ("at 2026-01-02 03:04", "at #"),
    ("12:34:56 start", "# start"),
    ("in 0.12s", "in #"),
    ("took 12 ms", "#"),
    ("waited 3 minutes", "waited #"),
    ("0x7f3a21b0 freed", "# freed"),
    ("id 123e4567-e89b-42d3-a456-426614174000", "id #"),
    ("at 1700000000", "at #"),
    ("pid 4711", "#"),
    ("PID: 4711", "#"),
    ("attempt 3", "#"),
    ("request_id=req-99", "#"),
    ("/tmp/tmpab12_x/out", "#/out"),
    ("\x1b[31mred\x1b[0m", "#red#"),
    ("pytest-17", "#"),
]
KEPT = [
    "12 failed",
    "line 34",
    "a.py:12",
    "3 items",
    "port 8080",
    "v1.2.3",
    "2026",
    "1 + 1 = 2",
    "3 states",
    "stupid 5",
]


_PIECES = [
    *(
        "0",
        "12",
        "9",
        "1700000000",
        "2026-01-02T03:04:05",
        "0x1f",
        "123456789",
        ".",
        ":",
        "-",
        " ",
        "\n",
        "\t",
        "_",
        "#",
    ),
    *(
        "ns",
        "ms",
        "s",
        "µs",
        "sec",
        "minutes",
        "\x1c",
        "hours",
        "us",
        "hr",
        "x",
        "é",
        "İ",
        "K",
        "\u017f",
        "pytest-",
        "/tmp/tmp",
        "\x1b[0m",
    ),
    *("pid", "Took", "ELAPSED", "reQuest", "ts", "message ", "id", "no", "=", '"', "abcd", "deadbeef-dead-beef-dead-"),
    *("deadbeefdead", "Attempt", "msg", "a"),
]
_UNIT = r"(?:ns|us|µs|ms|s|secs?|seconds?|mins?|minutes?|hrs?|hours?)\b"
_NUMBERS = re.compile(
    r"[0-9](?<![\w.][0-9])(?:"
    r"(?<=[12])[0-9]{3}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-5][0-9](?::[0-6][0-9](?:[.,][0-9]{1,9})?)?"
    r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
    r"|(?<!:[0-9])[0-9]?:[0-5][0-9](?::[0-6][0-9](?:[.,][0-9]{1,9})?)?(?![\w:])"
    r"|(?<=0)x[0-9a-fA-F]{1,16}\b"
    rf"|[0-9]{{0,8}}(?:\.[0-9]{{1,9}})?\s?{_UNIT}"
    r"|(?<=1)[5-9][0-9]{8}(?:[0-9]{3}|\.[0-9]{1,9})?\b"
    r")"
)


def plainly_masked(text: str) -> str:
    """Return what `mask` means: every pattern, one after the other, with no look at whether it can match."""
    keyed = [pattern for _, forms in fingerprints._KEYED for _, pattern in forms]
    for pattern in (*(pattern for _, pattern in fingerprints._VOLATILE), *keyed, fingerprints._UUID, _NUMBERS):
        text = pattern.sub("#", text)
    return text


class TestMask:
    @pytest.mark.parametrize(("text", "masked"), VOLATILE)
    def test_volatile_tokens(self, text: str, masked: str) -> None:
        """Times, durations, ids, addresses, escape sequences and temporary paths differ from run to run."""
        assert mask(text) == masked

    @pytest.mark.parametrize("text", KEPT)
    def test_numbers_are_kept(self, text: str) -> None:
        """A bare number means something: "12 failed" is not "11 failed"."""
        assert mask(text) == text

    @given(st.lists(st.sampled_from(_PIECES)).map("".join))
    def test_shortcuts_change_nothing(self, text: str) -> None:
        """What is skipped because nothing can be found there is what every pattern, tried everywhere, leaves alone."""
        assert mask(text) == plainly_masked(text)

    @given(st.text())
    def test_is_done_once(self, text: str) -> None:
        """What was masked stays as it is, save for what the mark itself brings together."""
        assert len(mask(mask(text))) <= len(mask(text))


class TestOutcome:
    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            ("a\nb", "\na\nb\n\n", True),
            ("done in 1.2s", "done in 3.4s", True),
            ("12 failed", "11 failed", False),
            ("a\nb", "b\na", False),
            ("x" * MASKED_BYTES + " 1s", "x" * MASKED_BYTES + " 2s", False),
        ],
    )
    def test_equality(self, one: str, other: str, same: bool) -> None:
        """Results are compared masked; large ones as they are."""
        assert (outcome_digest(one) == outcome_digest(other)) is same

    def test_lines_are_the_same_whichever_tool_shows_them(self) -> None:
        """A line number in front of a line, with or without a path, is no part of it."""
        shown = ["total = 1", "a.py:12:total = 1", "  12|total = 1", "12\ttotal = 1", "12-total = 1", "12->total = 1"]

        assert {line_digests(text).digests for text in shown} == {line_digests("total = 1").digests}

    def test_lines_are_distinct_and_say_something(self) -> None:
        """Repeated and blank lines count once and not at all; `total` counts the lines that are not blank."""
        found = line_digests("a\n\n  \nb\na\n")

        assert (len(found.digests), found.total, found.sampled) == (2, 3, False)

    def test_large_results_are_read_at_both_ends(self) -> None:
        """A change in the middle is another outcome, of known lines."""
        one, other = ("\n".join([*map(str, range(20_000)), middle, *map(str, range(20_000))]) for middle in "xy")

        assert outcome(one)[0] != outcome(other)[0]
        assert outcome(one)[1] == outcome(other)[1]
        assert outcome(one)[1].sampled

    @given(st.text())
    def test_space_around_it_does_not_count(self, text: str) -> None:
        """The digest is that of the stripped text."""
        assert outcome_digest(f"\n {text}\n") == outcome_digest(text)


class TestUnordered:
    def test_order_is_no_information(self) -> None:
        """Findings in another order are the same findings."""
        assert unordered("b 2\na 1") == unordered("1 a\n2 b")
        assert unordered("a\nb") != unordered("a\nc")


class TestFoldError:
    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            ("KeyError: 'a'", "KeyError: 'b'", True),
            ("line 12: bad", "line 345: BAD", True),
            ("timeout after 3s", "timeout after 30 s", True),
            ("KeyError: 'a'", "ValueError: 'a'", False),
        ],
    )
    def test_classes(self, one: str, other: str, same: bool) -> None:
        """Quoted parts, digits and case make no other kind of error."""
        assert (fold_error(one) == fold_error(other)) is same


class TestWords:
    def test_are_lower_case_and_few(self) -> None:
        """Words without punctuation, at most as many as asked for."""
        assert words("Hello, World! x_1") == ["hello", "world", "x_1"]
        assert words("a b c", 2) == ["a", "b"]

    def test_trigrams(self) -> None:
        """Three words in a row; a text of fewer words gives the words."""
        assert trigrams(["a", "b", "c", "d"]) == {digest("a b c"), digest("b c d")}
        assert trigrams(["a", "b"]) == {digest("a"), digest("b")}
        assert trigrams([]) == frozenset()
