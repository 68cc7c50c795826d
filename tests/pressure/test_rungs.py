"""Rules of `pressure.rungs`: each rung once, in order, resumed on a relapse, armed again by a milestone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from pressed import status

from otel_stall.pressure.rungs import ACTING, Memory, Move, acted, next_move
from otel_stall.status import Status
from otel_stall.verdicts import Evidence, Level, Milestone

ALL = frozenset(Level)
QUIET = status(step=5)


def run(turns: Sequence[Status], acts: frozenset[Level] = ALL) -> list[tuple[int, Level]]:
    """Return which rung acted at which step, of a host that does what is due."""
    memory, moves = Memory(), []
    for turn in turns:
        memory, move = next_move(memory, turn, acts)
        if move.level is not None:
            moves.append((turn.step, move.level))
            memory = acted(memory, move.level, turn.step)
    return moves


def falling(number: int, levels: Sequence[Level | None], first: int = 1) -> list[Status]:
    """Return the turns of one stall whose counters press so, step by step; None is a turn outside of it."""
    return [status(first + at, level, number=number) for at, level in enumerate(levels)]


N, R, A, X = Level
DESCENT = [N, N, R, R, A, A, X, X]

turns = st.lists(
    st.builds(
        status,
        st.integers(1, 50),
        st.one_of(st.none(), st.sampled_from(Level)),
        number=st.integers(1, 3),
        changed=st.integers(0, 50),
        milestones=st.lists(st.integers(1, 4), max_size=3).map(
            lambda steps: tuple(Milestone(each, "tests", Evidence.OBSERVED, 1) for each in sorted(steps))
        ),
    ),
    max_size=40,
)


class TestOnceEach:
    def test_at_the_steps_the_verdicts_name(self) -> None:
        """The first turn at which the counters press for a rung is the one at which it acts."""
        assert run(falling(1, DESCENT)) == [(3, R), (5, A), (7, X)]

    def test_in_order_one_at_a_turn(self) -> None:
        """A run that is found far down is not given up before it was told and a person was asked."""
        assert run(falling(1, [X, X, X, X])) == [(1, R), (2, A), (3, X)]

    def test_only_what_was_opted_into(self) -> None:
        """Each level is opted into by itself; none at all is no move at all."""
        assert run(falling(1, DESCENT), frozenset({A})) == [(5, A)]
        assert run(falling(1, DESCENT), frozenset()) == []
        assert next_move(Memory(), falling(1, [X])[0], frozenset())[1] == Move()

    @given(turns)
    def test_no_rung_twice_for_one_stall_and_milestone(self, listed: list[Status]) -> None:
        """Whatever comes in whatever order: between two changes of stall or milestone a rung acts at most once."""
        memory, since = Memory(), set[Level]()
        for turn in listed:
            before = memory
            memory, move = next_move(memory, turn, ALL)
            if (memory.stall, memory.milestone) != (before.stall, before.milestone):
                since = set()
            if move.level is not None:
                assert move.level not in since
                assert all(lower in since for lower in ACTING if lower.rank < move.level.rank)
                assert turn.pressing is not None
                assert move.level.rank <= turn.pressing.rank
                since.add(move.level)
                memory = acted(memory, move.level, turn.step)

    @given(turns, st.integers(1, 3))
    def test_asked_again_it_says_the_same(self, listed: list[Status], times: int) -> None:
        """A turn that a framework runs again, as after an interrupt, finds what it found before."""
        memory = Memory()
        for turn in listed:
            memory, move = next_move(memory, turn, ALL)
            for _ in range(times):
                assert next_move(memory, turn, ALL) == (memory, move)
            if move.level is not None:
                memory = acted(memory, move.level, turn.step)


class TestCounter:
    @given(turns)
    def test_accompanies_every_turn_inside_a_stall(self, listed: list[Status]) -> None:
        """Inside a stall always, outside never, whatever rungs act."""
        memory = Memory()
        for turn in listed:
            memory, move = next_move(memory, turn, ALL)
            assert move.counter == (turn.stall is not None)


class TestRelapse:
    def test_of_the_same_stall_goes_on_where_it_was(self) -> None:
        """What acted does not act again; the next rung does when the counters press for it."""
        assert run([*falling(1, [N, R, None, None]), *falling(1, [N, R, A], first=5)]) == [(2, R), (7, A)]

    def test_another_stall_begins_anew(self) -> None:
        """Another stall has a ladder of its own."""
        assert run([*falling(1, [N, R, None]), *falling(2, [N, R], first=4)]) == [(2, R), (5, R)]


class TestMilestone:
    def reached(self, turn: Status, evidence: Evidence) -> Status:
        return replace(turn, milestones=(*turn.milestones, Milestone(4, "tests", evidence, 3)))

    def test_that_was_observed_arms_all_rungs_again(self) -> None:
        """After a verified milestone the same stall is climbed from below, by what its counters press for now."""
        after = [self.reached(turn, Evidence.OBSERVED) for turn in falling(1, [None, N, R], first=4)]
        assert run([*falling(1, [N, R, R]), *after]) == [(2, R), (6, R)]

    def test_that_is_irreversible_or_declared_arms_nothing(self) -> None:
        """Those end no stall."""
        for evidence in (Evidence.IRREVERSIBLE, Evidence.DECLARED):
            after = [self.reached(turn, evidence) for turn in falling(1, [N, R], first=4)]
            assert run([*falling(1, [N, R, R]), *after]) == [(2, R)]


class TestRecheck:
    def test_after_a_write_is_waited_for(self) -> None:
        """A rung that comes due at a write or at the step after it lets that step pass."""
        turns = [status(12, R, changed=12), status(13, R, changed=12), status(14, R, changed=12)]
        assert run(turns) == [(14, R)]
        assert run([*turns[:2], status(14, changed=12)]) == []

    def test_is_waited_for_once(self) -> None:
        """One who writes and checks without end is told all the same."""
        turns = [status(step, R, changed=step - step % 2) for step in range(12, 20)]
        assert run(turns) == [(14, R)]

    def test_does_not_silence_the_counter(self) -> None:
        """The line goes on."""
        assert next_move(Memory(), status(12, R, changed=12), ALL)[1] == Move(counter=True)


def test_after_an_answer_giving_up_waits() -> None:
    """A person said to go on: the run is not given up before the agent had the steps for it."""
    memory = acted(Memory(1, acted=((R, 12),)), A, 31, answered=True)
    moves = {step: next_move(memory, status(step, X), ALL)[1].level for step in range(32, 45)}
    assert [step for step, level in moves.items() if level is X] == [43, 44]


def test_outside_a_stall_nothing_is_due() -> None:
    """No stall, no move, and nothing to remember."""
    assert next_move(Memory(), QUIET, ALL) == (Memory(), Move())
