"""The table of conversations: which come first, which columns, and that it fits whatever the names."""

from __future__ import annotations

import re
from dataclasses import replace

from analysed import PLAIN
from golden import compare
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from otel_stall.findings import ConversationAnalysis, Counters
from otel_stall.report.cells import Screen
from otel_stall.report.numbers import brief
from otel_stall.report.table import LISTED, dearest, table
from otel_stall.verdicts import EndReason, Evidence, Kind, Level, Milestone, Stall

STALL = Stall(
    number=1,
    kind=Kind.NO_GRADIENT,
    first_step=3,
    detected_step=8,
    last_step=18,
    levels=((Level.NOTICE, 8), (Level.REPLAN, 14)),
    tokens=1234,
)
IDS = ("6f1d0f5e-6a3c-4a37-9f0e-2f3f9c9a4b11", "6f1d0f5e-ffff-4a37-9f0e-2f3f9c9a4b11", "数据分析-会话-七")


def lane(conversation: str, *stalls: Stall, **fields: object) -> ConversationAnalysis:
    made = replace(PLAIN, conversation=conversation, stalls=stalls, steps=20)
    return replace(made, **fields)  # type: ignore[arg-type]  # fields of mixed types


LANES = (
    lane(
        IDS[0],
        STALL,
        replace(STALL, number=2, kind=Kind.LOOP, first_step=19, last_step=20, ended=EndReason.GAIN),
        agent="researcher",
        tokens=900_000,
        milestones=(Milestone(2, "tests", Evidence.OBSERVED, 2),),
        counters=Counters(18, 16, 1),
    ),
    lane(IDS[1], replace(STALL, levels=((Level.ABANDON, 9),)), lane="planner/编码员", agent="编码员", tokens=5_000_000),
    lane(IDS[2], replace(STALL, ended=EndReason.GAIN), tokens=1_000, counters=Counters(20, 0, 0)),
    lane("fine", tokens=12, steps=1_234_567, counters=Counters(1_234_567, 0, 0)),
)

names = st.text() | st.text(alphabet="数据x\u0301\x1b\u202e", max_size=80)
stalls = st.lists(
    st.builds(
        replace,
        st.just(STALL),
        kind=st.sampled_from(Kind),
        last_step=st.integers(3, 10**4),
        levels=st.sampled_from(Level).map(lambda level: ((level, 8),)),
        tokens=st.none() | st.integers(0, 10**15),
    ),
    max_size=2,
).map(tuple)
lanes_of_any_size = st.builds(
    replace,
    st.just(PLAIN),
    conversation=names,
    agent=names,
    lane=names,
    stalls=stalls,
    tokens=st.none() | st.integers(0, 10**15),
    steps=st.integers(0, 10**12),
    counters=st.builds(Counters, st.integers(0, 10**12)),
)

ordinary = st.builds(
    replace,
    lanes_of_any_size,
    steps=st.integers(0, 9_999),
    counters=st.builds(Counters, st.integers(0, 9_999)),
    milestones=st.integers(0, 99).map(lambda count: (Milestone(1, "m", Evidence.OBSERVED, 1),) * count),
    stalls=st.lists(st.builds(replace, st.just(STALL), last_step=st.integers(3, 9_999)), max_size=99).map(tuple),
)


class TestLayout:
    def test_in_a_pipe(self) -> None:
        """Every row is whole."""
        compare("table.txt", "\n".join(table(LANES, Screen())) + "\n")

    def test_on_a_terminal_of_80_columns(self) -> None:
        """Ids are shortened and names cut, and every column is there."""
        compare("table-80.txt", "\n".join(table(LANES, Screen(80))) + "\n")

    def test_on_a_narrow_terminal(self) -> None:
        """Columns are left out, those first that matter least; whose stall it is stays."""
        compare("table-40.txt", "\n".join(table(LANES, Screen(40))) + "\n")

    def test_no_column_for_what_is_not_there(self) -> None:
        """Where no lane has an agent there is no column for it."""
        assert "agent" not in table(LANES[2:], Screen())[0]

    def test_what_was_not_counted_is_unknown(self) -> None:
        """Tokens that no trace tells are no zero, and a note says so."""
        lines = table([lane("c", replace(STALL, tokens=None))], Screen())
        assert lines[1].split()[-2:] == ["?", "yes"]
        assert lines[2:] == ["?: the traces carry no token counts"]

    def test_colour_is_never_alone(self) -> None:
        """With colour every word is the same."""
        coloured = table(LANES, Screen(100, colour=True))
        assert "\x1b[1;31mabandon" in coloured[2]
        assert [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in coloured] == table(LANES, Screen(100))


class TestOrder:
    def test_those_that_cost_most_come_first(self) -> None:
        """By the tokens inside stalls, of which there are never more than in all."""
        assert [one.conversation for one in dearest(LANES[::-1])] == [*IDS, "fine"]

    def test_steps_where_tokens_are_not_counted(self) -> None:
        """As soon as one stalled lane has no token counts, steps inside stalls decide."""
        long = lane("long", replace(STALL, last_step=19, tokens=None))
        assert dearest([*LANES[1:], long])[0].conversation == "long"

    def test_the_rest_is_counted(self) -> None:
        """Beyond twenty rows a line says how many more there are and how to see them; `whole` shows them."""
        many = [lane(f"c{number}", STALL, tokens=9_999) for number in range(1_030)]
        lines = table(many, Screen(80))
        assert lines[LISTED + 1 :] == ["and 1,010 more, which cost less; --all lists them too"]
        assert len(table(many, Screen(80), whole=True)) == 1_031


class TestWidth:
    @given(st.lists(lanes_of_any_size, min_size=1, max_size=30), st.integers(12, 200))
    def test_every_line_fits(self, found: list[ConversationAnalysis], width: int) -> None:
        """Whatever the names, no line is wider than the terminal, and all of it is printable."""
        for line in table(found, Screen(width)):
            assert cell_len(line) <= width
            assert line.isprintable()

    @given(st.lists(ordinary, min_size=1, max_size=30))
    def test_eighty_columns_are_enough(self, found: list[ConversationAnalysis]) -> None:
        """Whatever the names, up to 9,999 steps and 99 milestones leave room for every column, aligned."""
        head, *rows = table(found, Screen(80))[: min(len(found), LISTED) + 1]
        names = head.split()
        assert [name for name in names if name != "agent"] == [
            "conversation",
            "milestones",
            "stall",
            "level",
            "stalled",
            "tokens",
            "open",
        ]
        for row in rows:
            assert _from(row, head.index("level")).split()[0] in {"notice", "replan", "ask_user", "abandon", "-"}
            assert _from(row, head.index("open")) in {"yes", "no", "-"}


def _from(row: str, column: int) -> str:
    """Return what stands in a row from a column of the terminal on."""
    start = next(index for index in range(len(row) + 1) if cell_len(row[:index]) >= column)
    return row[start:]


def test_brief_numbers() -> None:
    """At most six characters, exact below 100,000."""
    shown = [
        brief(count) for count in (0, 9_999, 10_000, 99_999, 100_000, 999_999, 1_250_000, 12_500_000, 3 * 10**9, 10**15)
    ]
    assert shown == ["0", "9999", "10,000", "99,999", "100k", "999k", "1.2M", "12M", "3.0G", "99999G"]
