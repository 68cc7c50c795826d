"""Rules of `loops`: the second lap over call and outcome, and the tiers that see calls alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from otel_stall.config import DetectionConfig
from otel_stall.facts import Facts
from otel_stall.loops import InputSide, LoopRun, extend_loop, go_round, observe_inputs
from otel_stall.observations import Effect, Step
from otel_stall.reasons import Reason
from otel_stall.verdicts import InputTiers

RULES = DetectionConfig()
KNOWN = Facts(pair=1, call_epoch=0, pair_epoch=0, outcome_epoch=0, exact_repeat=True)


def step(call: int, effect: Effect = Effect.READ, outcome: int | None = 7) -> Step:
    return Step("tool", effect, signature=call, outcome=outcome)


def run_of(*calls: int) -> LoopRun:
    run = LoopRun()
    for number, call in enumerate(calls, start=1):
        run = extend_loop(run, step(call), replace(KNOWN, pair=call), Reason.SAME_OUTCOME, number)
    return run


class TestSecondLap:
    @pytest.mark.parametrize(
        ("calls", "complete"),
        [
            ((1, 1), False),
            ((1, 1, 1), True),
            ((1, 2, 1), False),
            ((1, 2, 1, 2), True),
            ((1, 2, 3, 1, 2), False),
            ((1, 2, 3, 1, 2, 3), True),
            ((), False),
        ],
    )
    def test_is_complete(self, calls: tuple[int, ...], complete: bool) -> None:
        """The run of known pairs is at least three steps long and twice as long as there are pairs."""
        assert run_of(*calls).complete(3, 2) is complete

    def test_too_many_pairs_are_no_loop(self) -> None:
        """Over 64 pairs nobody counts laps."""
        assert not run_of(*range(64), *range(64), *range(64)).complete(3, 2)

    def test_remembers_where_it_began(self) -> None:
        """The run begins with its first known pair."""
        assert run_of(1, 2, 1, 2).since == 1


class TestExtending:
    @pytest.mark.parametrize(
        ("effect", "facts", "reason", "length"),
        [
            (Effect.READ, KNOWN, Reason.SAME_OUTCOME, 4),
            (Effect.READ, Facts(), Reason.UNSEEN_CONTENT, 0),
            (Effect.READ, Facts(call_epoch=0), Reason.NOTHING_UNSEEN, 0),
            (Effect.WAIT, KNOWN, Reason.SAME_OUTCOME, 3),
            (Effect.THINK, KNOWN, Reason.REPEATED_THOUGHT, 3),
            (Effect.OTHER, KNOWN, Reason.INFRASTRUCTURE, 3),
            (Effect.OTHER, KNOWN, Reason.CONTENT_NOT_CAPTURED, 3),
            (Effect.COMMAND, KNOWN, Reason.ACKNOWLEDGEMENT, 0),
            (Effect.COMMAND, KNOWN, Reason.REMOVED, 0),
            (Effect.WRITE, KNOWN, Reason.NEW_STATE, 0),
            (Effect.CHECK, KNOWN, Reason.FAILURE_MOVED, 0),
            (Effect.WRITE, KNOWN, Reason.STATE_SEEN_BEFORE, 4),
        ],
    )
    def test_by_reason(self, effect: Effect, facts: Facts, reason: Reason, length: int) -> None:
        """A known pair goes on, a new one or a gain ends it; waits, thoughts and faults do neither.

        A command that answers nothing may have changed something unseen: it ends the run, too.
        """
        assert extend_loop(run_of(1, 2, 1), step(1, effect), facts, reason, 4).length == length

    def test_a_command_whose_output_differs_in_volatile_tokens_alone(self) -> None:
        """The same but for its times is no new pair, and no proof of a loop either."""
        masked = Facts(pair=1, call_epoch=0, pair_epoch=0, outcome_epoch=0, exact_repeat=False)

        assert extend_loop(run_of(1, 1), step(1, Effect.COMMAND), masked, Reason.SAME_OUTCOME, 3).length == 2

    def test_repeated_text_is_a_known_pair(self) -> None:
        """A model that says the same and calls nothing goes round."""
        run = LoopRun()
        for number in range(1, 4):
            run = go_round(run, 99, number)

        assert run.complete(3, 2)


class TestBlind:
    def test_counts_the_same_call_where_outcomes_are_unknown(self) -> None:
        """Without outcomes the same call in a row is all there is to see; a known outcome ends it."""
        run = LoopRun()
        for number in range(1, 4):
            run = extend_loop(run, step(1, outcome=None), Facts(), Reason.CONTENT_NOT_CAPTURED, number)

        assert (run.blind, run.blind_since) == (3, 1)
        other = extend_loop(run, step(2, outcome=None), Facts(), Reason.CONTENT_NOT_CAPTURED, 4)
        assert (other.blind, other.blind_since) == (1, 4)
        assert extend_loop(run, step(1), KNOWN, Reason.SAME_OUTCOME, 4).blind == 0


def tiers(*calls: int | None, config: DetectionConfig = RULES, compactions: int = 0) -> InputTiers:
    side = InputSide(compactions=compactions)
    for number, call in enumerate(calls, start=1):
        side = observe_inputs(side, Step("tool", Effect.READ, signature=call), number, config)
    return side.since(1)


class TestInputTiers:
    @pytest.mark.parametrize(
        ("calls", "expected"),
        [
            ((1, 1, 1, 1), InputTiers()),
            ((1, 1, 1, 1, 1), InputTiers(repeat=5)),
            ((1, 1, 1, 2, 1, 1), InputTiers()),
            ((1, 1, None, 1, 1, 1), InputTiers()),
            ((1, 2, 1, 2, 1, 2), InputTiers(cycle=6)),
            ((1, 2, 3, 1, 2, 3, 1, 2, 3), InputTiers(cycle=9)),
            ((1, 2, 3, 4, 5) * 3, InputTiers(cycle=15)),
            ((1, 2, 3, 4, 5, 6) * 3, InputTiers()),
            ((1, 2, 1, 2, 1, 3), InputTiers()),
        ],
    )
    def test_see_calls_alone(self, calls: tuple[int | None, ...], expected: InputTiers) -> None:
        """The same call five times in a row, or three laps of two to five calls, whatever they bring."""
        assert tiers(*calls) == expected

    def test_composite_needs_a_budget(self) -> None:
        """Two compactions and three quarters of the tool-call budget; without a budget it stays silent."""
        calls = tuple(range(8))
        budget = DetectionConfig(tool_call_budget=8)

        assert tiers(*calls, config=budget, compactions=2) == InputTiers(composite=6)
        assert tiers(*calls, config=budget, compactions=1) == InputTiers()
        assert tiers(*calls, compactions=2) == InputTiers()

    def test_say_nothing_of_a_later_stall(self) -> None:
        """A tier that began to fire before a stall did not find that stall."""
        side = InputSide(repeat_at=5, cycle_at=9)

        assert side.since(6) == InputTiers(cycle=9)
        assert InputTiers().silent
        assert not side.since(6).silent
