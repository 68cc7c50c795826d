"""Rules of `counters`: how each reason moves the counts of a lane."""

from __future__ import annotations

from dataclasses import replace

import pytest

from otel_stall.config import DetectionConfig
from otel_stall.counters import Counters, advance, after_user_turn, reacquire
from otel_stall.facts import Recurrence
from otel_stall.observations import Effect, Signs, Step, Writing
from otel_stall.reasons import TABLE, Reason
from otel_stall.verdicts import Gain

RULES = DetectionConfig()
STEP = Step("tool", Effect.OTHER)
BEFORE = Counters(step=10, distance=7, dry=4, flat=2, dry_since=6, flat_since=5, waste=3.0, waste_since=4)


def after(reason: Reason, step: Step = STEP, before: Counters = BEFORE) -> Counters:
    return advance(before, step, reason, RULES)


class TestDistance:
    @pytest.mark.parametrize("reason", Reason)
    def test_of_each_reason(self, reason: Reason) -> None:
        """A verified milestone sets it to 0, what cannot be judged leaves it, any other step adds one."""
        unjudged = (Reason.INFRASTRUCTURE, Reason.WAITING, Reason.CONTENT_NOT_CAPTURED, Reason.OUTCOME_UNKNOWN)
        expected = 0 if TABLE[reason].gain is Gain.MILESTONE else 7 if reason in unjudged else 8

        assert after(reason).distance == expected
        assert after(reason).step == 11


class TestDry:
    @pytest.mark.parametrize("reason", Reason)
    def test_of_each_reason(self, reason: Reason) -> None:
        """`none` adds one, `neutral` and an irreversible effect leave it, any other gain clears it."""
        gain = TABLE[reason].gain
        kept = gain is Gain.NEUTRAL or reason is Reason.IRREVERSIBLE_EFFECT

        assert after(reason).dry == (5 if gain is Gain.NONE else 4 if kept else 0)

    def test_remembers_where_it_began(self) -> None:
        """A streak keeps its first step; a new one begins at the present step."""
        assert after(Reason.SAME_OUTCOME).dry_since == 6
        assert after(Reason.SAME_OUTCOME, before=replace(BEFORE, dry=0)).dry_since == 11


class TestFlat:
    @pytest.mark.parametrize(
        ("reason", "flat"),
        [
            (Reason.STILL_FAILING, 3),
            (Reason.STILL_GREEN, 3),
            (Reason.FAILURE_MOVED, 0),
            (Reason.CHECK_PASSED, 0),
            (Reason.CHECK_TURNED_GREEN, 0),
            (Reason.HOST_MILESTONE, 0),
            (Reason.IRREVERSIBLE_EFFECT, 2),
            (Reason.NEW_STATE, 2),
            (Reason.UNSEEN_CONTENT, 2),
        ],
    )
    def test_counts_checks(self, reason: Reason, flat: int) -> None:
        """Edits and reads between checks neither add nor clear; a check that moves does."""
        assert after(reason).flat == flat


class TestThin:
    def test_counts_searches(self) -> None:
        """A thin search adds one, another search of texts clears, other steps leave it."""
        searched = replace(STEP, retrieval=True, words=frozenset({1}))
        before = replace(BEFORE, thin=2, thin_since=8)

        assert after(Reason.THIN_SEARCH, searched, before).thin == 3
        assert after(Reason.UNSEEN_CONTENT, searched, before).thin == 0
        assert after(Reason.UNSEEN_CONTENT, STEP, before).thin == 2


class TestWaste:
    @pytest.mark.parametrize(
        ("reason", "score"),
        [
            (Reason.NEW_STATE, 0.0),
            (Reason.IRREVERSIBLE_EFFECT, 0.0),
            (Reason.UNSEEN_CONTENT, 1.0),
            (Reason.LITTLE_UNSEEN, 3.5),
            (Reason.SAME_OUTCOME, 4.0),
            (Reason.LONG_REREAD_UNCHANGED, 5.0),
            (Reason.NOTE, 3.5),
            (Reason.WAITING, 3.0),
        ],
    )
    def test_is_a_leaky_score(self, reason: Reason, score: float) -> None:
        """Verified gain and changes clear it, information takes some off, the rest adds its weight."""
        assert advance(BEFORE, STEP, reason, RULES).waste == score

    def test_is_never_below_zero(self) -> None:
        """Information cannot be saved up."""
        assert advance(replace(BEFORE, waste=1.0), STEP, Reason.UNSEEN_CONTENT, RULES).waste == 0.0

    def test_relief_is_a_setting(self) -> None:
        """`waste_relief` says how much an informative step takes off."""
        assert advance(BEFORE, STEP, Reason.UNSEEN_CONTENT, DetectionConfig(waste_relief=0.5)).waste == 2.5


class TestAfterDone:
    DONE = replace(BEFORE, done=True, after_done=3, done_since=8)

    @pytest.mark.parametrize(
        ("step", "reason", "done"),
        [
            (replace(STEP, signs=Signs(done=True)), Reason.ACKNOWLEDGEMENT, True),
            (replace(STEP, signs=Signs(commits=True)), Reason.IRREVERSIBLE_EFFECT, True),
            (replace(STEP, signs=Signs(commits=True)), Reason.STATE_SEEN_BEFORE, False),
            (replace(STEP, signs=Signs(done=True), failed=True), Reason.NEW_ERROR, False),
            (STEP, Reason.NEW_STATE, False),
        ],
    )
    def test_starts_with_the_word(self, step: Step, reason: Reason, done: bool) -> None:
        """A real commit or a declared completion starts the count, with the step after it."""
        found = after(reason, step)

        assert (found.done, found.after_done) == (done, 0)

    @pytest.mark.parametrize(
        ("step", "reason", "count"),
        [
            (STEP, Reason.SAME_OUTCOME, 4),
            (STEP, Reason.UNSEEN_CONTENT, 4),
            (STEP, Reason.CHANGE_CONFIRMED, 4),
            (STEP, Reason.WAITING, 3),
            (STEP, Reason.NEW_STATE, 0),
            (replace(STEP, writing=Writing(aside=True)), Reason.NEW_STATE, 4),
            (Step("send", Effect.MESSAGE), Reason.NEW_STATE, 4),
            (STEP, Reason.FAILURE_MOVED, 0),
        ],
    )
    def test_ends_with_work(self, step: Step, reason: Reason, count: int) -> None:
        """Reports, messages and looking are no work; a change, or a check that moves, is."""
        assert after(reason, step, self.DONE).after_done == count


class TestStreaksOfOneKind:
    def test_waits_in_a_row(self) -> None:
        """Any step that does not wait ends the row."""
        waiting = replace(STEP, signs=Signs(running=True))

        assert after(Reason.WAITING, waiting, replace(BEFORE, waits=4)).waits == 5
        assert after(Reason.UNSEEN_CONTENT, STEP, replace(BEFORE, waits=4)).waits == 0

    @pytest.mark.parametrize(
        ("reason", "count"),
        [(Reason.EMPTY_ANSWER, 5), (Reason.SIMILAR_EMPTY_ANSWER, 5), (Reason.NEW_THOUGHT, 4), (Reason.NEW_STATE, 0)],
    )
    def test_empty_answers_in_a_row(self, reason: Reason, count: int) -> None:
        """A thought does not end the row, an answer does."""
        assert after(reason, before=replace(BEFORE, empties=4)).empties == count


class TestReacquire:
    @pytest.mark.parametrize(
        ("again", "gain", "count"),
        [
            (True, Gain.NONE, 3),
            (False, Gain.NONE, 2),
            (False, Gain.INFORMATION, 2),
            (False, Gain.STATE, 0),
            (False, Gain.VERIFICATION, 0),
            (False, Gain.MILESTONE, 0),
        ],
    )
    def test_counts_what_was_known_before_a_compaction(self, again: bool, gain: Gain, count: int) -> None:
        """Information between such steps does not clear the count; a gain of another type does."""
        assert reacquire(replace(BEFORE, reacquired=2), again=again, gain=gain).reacquired == count


class TestUserTurn:
    def test_clears_the_streaks_alone(self) -> None:
        """Distance and totals go on."""
        before = replace(BEFORE, milestones=2, state_changes=5, after_done=4, done=True, reacquired=2)

        assert after_user_turn(before) == Counters(step=10, distance=7, milestones=2, state_changes=5)


class TestCredit:
    def test_comes_back_with_the_failure(self) -> None:
        """A change clears the score on trust; the third time the same failure comes back the trust is withdrawn."""
        wasted = replace(BEFORE, waste=3.0, waste_since=4)
        changed = advance(wasted, STEP, Reason.NEW_STATE, RULES)

        assert (changed.waste, changed.credit) == (0.0, 3.0)
        assert advance(changed, STEP, Reason.STILL_FAILING, RULES, known=Recurrence(1)).waste == 1.0
        assert advance(changed, STEP, Reason.STILL_FAILING, RULES, known=Recurrence(2)).waste == 4.0

    def test_is_spent_by_what_was_verified(self) -> None:
        """Once a check moves, earlier waste is forgiven for good."""
        changed = advance(replace(BEFORE, waste=3.0), STEP, Reason.NEW_STATE, RULES)
        moved = advance(changed, STEP, Reason.FAILURE_MOVED, RULES)

        assert advance(moved, STEP, Reason.STILL_FAILING, RULES, known=Recurrence(5)).waste == 1.0


class TestDeclared:
    def test_the_first_word_is_no_idle_step(self) -> None:
        """After a commit the model may say once that all is done; saying it again is one more idle step."""
        done = replace(BEFORE, done=True, after_done=2)
        word = replace(STEP, signs=Signs(done=True))
        once = advance(done, word, Reason.ACKNOWLEDGEMENT, RULES)

        assert once.after_done == 2
        assert advance(once, word, Reason.ACKNOWLEDGEMENT, RULES).after_done == 3


class TestCommits:
    def test_a_further_commit_is_no_work(self) -> None:
        """After a commit, committing once more goes on counting; an edit ends the count."""
        done = replace(BEFORE, done=True, after_done=4)
        commit = replace(STEP, signs=Signs(commits=True))

        assert advance(done, commit, Reason.IRREVERSIBLE_EFFECT, RULES).after_done == 5
        assert advance(done, STEP, Reason.NEW_STATE, RULES).after_done == 0
