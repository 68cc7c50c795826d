"""One conversation in text: its course drawn, its steps listed."""

from __future__ import annotations

import re
from dataclasses import replace

from analysed import PLAIN
from golden import compare
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from otel_stall.calls import Capture
from otel_stall.emission import fingerprint
from otel_stall.findings import Analysis, ConversationAnalysis, Counters, Cut, StepDetail, summarize
from otel_stall.observations import Effect
from otel_stall.readers import Problems
from otel_stall.reasons import TABLE
from otel_stall.report.cells import Screen
from otel_stall.report.conversation import render
from otel_stall.report.steps import sentence, step_lines
from otel_stall.report.timeline import drawn
from otel_stall.timeline import timeline
from otel_stall.verdicts import EndReason, Evidence, Gain, Kind, Level, Milestone, Stall

LETTERS = {
    "M": Gain.MILESTONE,
    "V": Gain.VERIFICATION,
    "S": Gain.STATE,
    "I": Gain.INFORMATION,
    ".": Gain.NONE,
    "~": Gain.NEUTRAL,
}


def details(letters: str, tool: str = "bash") -> tuple[StepDetail, ...]:
    found, dry = [], 0
    for number, letter in enumerate(letters, 1):
        dry = dry + 1 if letter == "." else dry if letter == "~" else 0
        step = StepDetail(
            number,
            tool,
            Effect.COMMAND,
            Capture.CAPTURED,
            Capture.CAPTURED,
            failed=False,
            exit_code=0,
            gain=LETTERS[letter],
            reason="same_outcome",
            waste=1,
            dry=dry,
            call_fingerprint=number,
            outcome_fingerprint=None if letter == "~" else 0xABC,
        )
        found.append(step)
    return tuple(found)


def lane(letters: str, **fields: object) -> ConversationAnalysis:
    steps = details(letters)
    made = replace(PLAIN, steps=len(steps), details=steps)
    return replace(made, **fields)  # type: ignore[arg-type]  # fields of mixed types


def rows(found: ConversationAnalysis, width: int | None = None) -> dict[str, str]:
    """Return the rows of the only block, the drawing by its label."""
    lines = list(drawn(timeline(found), Screen(width)))
    block = lines[: lines.index("")]
    return {line[:13].strip(): line[13:] for line in block}


STALL = Stall(
    number=1,
    kind=Kind.NO_GRADIENT,
    first_step=6,
    detected_step=11,
    last_step=29,
    levels=((Level.NOTICE, 11), (Level.REPLAN, 17), (Level.ASK_USER, 23), (Level.ABANDON, 28)),
    evidence=("24 steps without gain since step 6",),
    ended=EndReason.GAIN,
    tokens=12_345,
)
BUSY = lane(
    "IIVMS" + "." * 14 + "~" + "." * 9 + "ISM..I" + "." * 24 + "I",
    conversation="6f1d0f5e-6a3c-4a37-9f0e-2f3f9c9a4b11",
    agent="coder",
    service="build-bot",
    tokens=99_999,
    compactions=3,
    cuts=(Cut(0), Cut(13), Cut(60, inferred=True)),
    milestones=(
        Milestone(4, "bash:pytest", Evidence.OBSERVED, 4),
        Milestone(5, "to-do", Evidence.DECLARED, 1),
        Milestone(31, "plan", Evidence.DECLARED, 27, confirmed_at=32),
        Milestone(32, "git push", Evidence.IRREVERSIBLE, 28),
    ),
    stalls=(
        STALL,
        replace(
            STALL, number=2, kind=Kind.LOOP, first_step=20, last_step=24, levels=((Level.NOTICE, 22),), tokens=None
        ),
        replace(
            STALL, number=3, kind=Kind.AMNESIA, first_step=40, last_step=59, levels=((Level.NOTICE, 40),), ended=None
        ),
    ),
    counters=Counters(28, 0, 4),
)
QUIET = lane("", conversation=BUSY.conversation, lane="coder/planner", agent="planner")


def analysis(*lanes: ConversationAnalysis) -> Analysis:
    return Analysis(lanes, summarize(lanes), 100)


class TestReport:
    def test_on_a_terminal_of_80_columns(self) -> None:
        """The course in blocks of as many tens as have room, then milestones, compactions, stalls and steps."""
        text = render(analysis(BUSY, QUIET), Problems(), Screen(80), steps=True)
        assert max(map(cell_len, text.splitlines())) <= 80
        compare("conversation-80.txt", text)

    def test_in_a_pipe(self) -> None:
        """The same in blocks of a fixed width, sentences whole, one line for each step."""
        compare("conversation.txt", render(analysis(BUSY), Problems(), steps=True))

    def test_colour_is_never_alone(self) -> None:
        """With colour every sign is the same."""
        plain, coloured = (
            render(analysis(BUSY), Problems(), Screen(80, colour), steps=True) for colour in (False, True)
        )
        assert coloured != plain
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


class TestDrawing:
    def test_a_mark_per_step(self) -> None:
        """One letter for each gain, tens apart, the number of each tenth step above it."""
        assert rows(lane("MVSI.~MVSI.~")) == {
            "step": "1          11",
            "gain": "MVSI.~MVSI .~",
            "dry": "    -1     -1",
        }

    def test_bands_lie_under_their_steps(self) -> None:
        """A letter for the level at each step; the part before a stall was told has a sign of its own."""
        stall = replace(STALL, first_step=2, last_step=8, levels=((Level.NOTICE, 4), (Level.REPLAN, 7)))
        assert rows(lane("I.......I", stalls=(stall,)))["no_gradient"] == " ==nnnrr"

    def test_stalls_that_meet_have_rows_of_their_own(self) -> None:
        """Of the same kind or not, no stall hides another."""
        one = replace(STALL, first_step=1, last_step=4, levels=((Level.NOTICE, 1),))
        other = replace(one, number=2, first_step=3, last_step=6)
        lines = list(drawn(timeline(lane("......", stalls=(one, other))), Screen()))
        assert lines[2:4] == ["no_gradient  nnnn", "no_gradient    nnnn"]

    def test_a_compaction_cuts_every_row(self) -> None:
        """It stands between its step and the next one, at both ends too; an inferred one looks different."""
        found = rows(lane("I..I", cuts=(Cut(0), Cut(2), Cut(2), Cut(4, inferred=True))))
        assert found == {"step": "|1 |  :", "gain": "|I.|.I:", "dry": "| -|2 :"}

    def test_a_streak_that_a_block_cuts(self) -> None:
        """Its length so far stands at the end of the block, and the whole one at its end."""
        lines = list(drawn(timeline(lane("." * 25 + "I")), Screen(40)))
        assert [line for line in lines if line.startswith("dry ")] == [
            "dry          ---------- --------20",
            "dry          ---25",
        ]

    def test_flags(self) -> None:
        """A verified milestone, one that is only declared, and of both at one step the verified one."""
        reached = (
            Milestone(0, "before", Evidence.OBSERVED, 0),
            Milestone(3, "said", Evidence.DECLARED, 3),
            Milestone(4, "said", Evidence.DECLARED, 1),
            Milestone(4, "done", Evidence.OBSERVED, 4),
        )
        assert rows(lane("IIII", milestones=reached))["milestone"] == "* o*"

    def test_nothing_to_draw(self) -> None:
        """A lane without steps has no drawing."""
        assert list(drawn(timeline(lane("")), Screen(80))) == []


class TestSteps:
    def test_fingerprints_are_keyed(self) -> None:
        """With a key they are those that spans carry with that key."""
        (_, line) = step_lines(details("I"), Screen(), key="secret")
        assert fingerprint(1, "secret") in line
        assert fingerprint(1) not in line

    def test_every_reason_has_words(self) -> None:
        """What is shown of a reason is its sentence; a word that is none stands as it is."""
        assert [sentence(reason.value) for reason in TABLE] == [entry.sentence for entry in TABLE.values()]
        assert sentence("scripted") == "scripted"

    def test_outcomes(self) -> None:
        """An exit code where there is one, else whether it failed."""
        (one,) = details("I")
        steps = (
            one,
            replace(one, exit_code=None),
            replace(one, exit_code=None, failed=True),
            replace(one, exit_code=-9),
        )
        found = [line.split()[3:5] for line in list(step_lines(steps, Screen()))[1:]]
        assert [words[: 2 if words[0] == "exit" else 1] for words in found] == [
            ["exit", "0"],
            ["ok"],
            ["failed"],
            ["exit", "-9"],
        ]


names = st.text() | st.text(alphabet="数据x\u0301\x1b\u202e ", max_size=80)
levels = st.lists(st.tuples(st.sampled_from(Level), st.integers(0, 70)), min_size=1, max_size=4).map(tuple)
stalls = st.builds(
    Stall,
    number=st.integers(1, 9),
    kind=st.sampled_from(Kind),
    first_step=st.integers(1, 60),
    detected_step=st.integers(1, 60),
    last_step=st.integers(1, 70),
    levels=levels,
    evidence=st.lists(names, max_size=3).map(tuple),
)
lanes = st.builds(
    replace,
    st.builds(
        lambda letters, tool: lane(letters, details=details(letters, tool)), st.text("MVSI.~", max_size=70), names
    ),
    conversation=names,
    lane=names,
    agent=names,
    service=names,
    milestones=st.lists(
        st.builds(Milestone, st.integers(0, 80), names, st.sampled_from(Evidence), st.integers(0, 80)), max_size=5
    ).map(tuple),
    cuts=st.lists(st.integers(0, 80), max_size=8).map(lambda found: tuple(map(Cut, sorted(found)))),
    stalls=st.lists(stalls, max_size=4).map(tuple),
)


class TestWidth:
    @given(lanes, st.integers(24, 200))
    def test_every_line_fits(self, found: ConversationAnalysis, width: int) -> None:
        """Whatever the names and the course, no line is wider than the terminal, and all of it is printable."""
        for line in render(analysis(found), Problems(), Screen(width), steps=True).splitlines():
            assert cell_len(line) <= width
            assert line.isprintable()

    @given(lanes, st.integers(39, 200))
    def test_every_step_is_drawn_once(self, found: ConversationAnalysis, width: int) -> None:
        """Whatever the width and the course, the gains come in their order, each once."""
        drawing = [line[13:] for line in drawn(timeline(found), Screen(width)) if line.startswith("gain  ")]
        letters = {gain: letter for letter, gain in LETTERS.items()}
        assert re.sub("[ |:]", "", "".join(drawing)) == "".join(letters[detail.gain] for detail in found.details)
