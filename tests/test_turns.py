"""Rules of `turns`: what happened between two readings of a lane, told by their times and ids."""

from __future__ import annotations

from dataclasses import replace

from acts import SECOND, Act, bash, feed, readings, said

from otel_stall.calls import Reading, UserMark
from otel_stall.monitor import Monitor

ASKS = said("I will edit.", calls_tools=True, traced=True)
DONE = said("All done.")


def _reasons(given: list[Reading]) -> list[str]:
    return [judged.verdict.reason for judged in feed(Monitor(), given)]


def _of(*acts: Act) -> list[Reading]:
    return readings(list(acts), runs=False)


class TestGhosts:
    def test_a_turn_that_asked_and_none_that_answered(self) -> None:
        """Where every call is seen, one that was asked for and not seen was refused without a trace."""
        assert _reasons(_of(ASKS, DONE)) == ["ghost_call"]

    def test_a_call_after_the_turn_answers_it(self) -> None:
        """Any call that began after the turn did is the one it asked for."""
        assert _reasons(_of(ASKS, bash("ls", "a.py"), DONE)) == ["unseen_content"]

    def test_a_call_that_ended_before_its_turn_answers_it(self) -> None:
        """Hosts run a tool while the answer still streams in."""
        call, asked, done = _of(bash("ls", "a.py"), ASKS, DONE)
        asked = replace(asked, start_ns=call.start_ns - SECOND)

        assert _reasons([call, asked, done]) == ["unseen_content"]

    def test_a_turn_beside_another_answers_nothing(self) -> None:
        """A title or a sub-agent is asked for while the turn goes on: it says nothing of its call."""
        asked, beside, call, done = _of(ASKS, said("A title"), bash("ls", "a.py"), DONE)
        beside = replace(beside, start_ns=asked.start_ns)

        assert _reasons([asked, beside, call, done]) == ["unseen_content"]

    def test_a_person_may_break_a_turn_off(self) -> None:
        """What was asked for before a person spoke is nobody's fault."""
        assert _reasons(_of(ASKS, UserMark(), DONE)) == []

    def test_not_every_host_shows_every_call(self) -> None:
        """Frameworks ask for tools that answer a schema and run none: nothing is made of it."""
        assert _reasons(_of(said("x", calls_tools=True), DONE)) == []


class TestTurns:
    def test_a_new_turn_starts_the_streaks_anew(self) -> None:
        """A call that belongs to a turn not seen before comes after a person spoke."""
        same = [replace(each, turn="one") for each in _of(*[bash("ls", "a.py")] * 4)]
        last = replace(same[-1], turn="two")
        dry = [[j.verdict.steps_since_gain for j in feed(Monitor(), [*same[:3], end])][-1] for end in (same[-1], last)]

        assert dry == [3, 1]

    def test_a_late_call_of_an_earlier_turn_starts_nothing(self) -> None:
        """A turn begins once."""
        names = ["one", "two", "one", "two"]
        given = [replace(each, turn=turn) for each, turn in zip(_of(*[bash("ls", "a.py")] * 4), names, strict=True)]

        assert [j.verdict.steps_since_gain for j in feed(Monitor(), given)] == [0, 1, 2, 3]
