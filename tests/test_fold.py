"""Rules of `fold`: one observation into one lane, and the verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest
from acts import (
    Act,
    Named,
    NewRun,
    bash,
    call,
    compacted,
    edit,
    green,
    hinted,
    read,
    reasons,
    red,
    said,
    settings,
    verdicts,
    write,
)

from otel_stall.calls import ModelCall
from otel_stall.config import StallConfig
from otel_stall.conversations import Lane
from otel_stall.fold import fold
from otel_stall.observations import Compaction, HostMilestone, ModelTurn, RunBoundary, UserTurn
from otel_stall.steps import step
from otel_stall.verdicts import Change, Changed, Declaration, Evidence, Gain, Milestone, Verdict

CONFIG = StallConfig()


class TestStep:
    def test_first_verdict(self) -> None:
        """All that is said of the first step of a lane."""
        observed = step(bash("ls", "a"))

        assert fold(Lane(), observed, CONFIG) == Verdict(
            step=1,
            counted=True,
            gain=Gain.INFORMATION,
            reason="unseen_content",
            waste=0.0,
            steps_since_milestone=1,
            steps_since_gain=0,
            milestone_count=0,
            state_changes=0,
            epoch=0,
            call_fingerprint=observed.signature,
            outcome_fingerprint=observed.outcome,
        )

    def test_pending_calls_are_no_steps(self) -> None:
        """A call that waits for an approval is counted when it is made."""
        asked = replace(bash("ls", None, None), pending=True, call_id="1")

        assert [v.step for v in verdicts([asked, replace(bash("ls", "a"), call_id="1")])] == [1]

    def test_a_call_is_one_step(self) -> None:
        """The same call under the same id, before the model speaks again, is the transport's doing."""
        once = replace(bash("ls", "a"), call_id="1")

        assert len(verdicts([once, once])) == 1
        assert len(verdicts([once, said("again"), once])) == 2
        assert len(verdicts([once, replace(once, call_id="2")])) == 2
        assert len(verdicts([once, replace(bash("pwd", "a"), call_id="1")])) == 2
        assert len(verdicts([bash("ls", "a")] * 2)) == 2

    def test_state_changes_are_counted(self) -> None:
        """New states add up, known ones do not."""
        found = verdicts([write("a", "1"), write("a", "2"), write("a", "1"), write("b", "1")])

        assert [v.state_changes for v in found] == [1, 2, 2, 3]


class TestMilestones:
    def test_close_a_segment(self) -> None:
        """A milestone says how many steps its segment took, itself included."""
        acts = [bash("ls", "a"), bash("cat b", "b"), hinted(bash("cat c", "c"), milestone="paid", evidence="observed")]
        found = verdicts([*acts, bash("cat d", "d")])

        assert found[2].changes == (
            Changed(Change.MILESTONE_REACHED, 3, milestone=Milestone(3, "paid", Evidence.OBSERVED, 3)),
        )
        assert [v.steps_since_milestone for v in found] == [1, 2, 0, 1]

    def test_declared_ones_are_recorded_only(self) -> None:
        """ "Done" is said, and neither distance nor count moves."""
        found = verdicts([bash("ls", "a"), call("finish", {}, "ok")])

        assert [change.milestone for change in found[1].changes] == [Milestone(2, "finish", Evidence.DECLARED, 2)]
        assert (found[1].milestone_count, found[1].steps_since_milestone) == (0, 2)

    @pytest.mark.parametrize(
        ("evidence", "count", "distance"),
        [("observed", 1, 0), ("irreversible", 1, 0), ("declared", 0, 1), ("", 1, 0), ("?", 0, 1)],
    )
    def test_named_outside_any_call(self, evidence: str, count: int, distance: int) -> None:
        """A host's event counts by its evidence: no word means observed, an unknown word declared."""
        found = verdicts([bash("ls", "a"), Named("paid", evidence)])[-1]

        assert (found.counted, found.milestone_count, found.steps_since_milestone) == (False, count, distance)
        assert found.changes[0].change is Change.MILESTONE_REACHED

    def test_known_ones_say_nothing(self) -> None:
        """A name counts once a run, and again in the next."""
        assert fold_all(HostMilestone("paid", "observed"), HostMilestone("paid", "observed"))[1] is None
        again = fold_all(HostMilestone("paid", "observed"), RunBoundary("2"), HostMilestone("paid", "observed"))[2]
        assert again is not None


class TestDeclared:
    WORK = (bash("ls", "a"), Named("paid", "declared"), red(), edit("a.py", "1", "2"))

    def confirms(self, *acts: Act) -> list[tuple[Declaration, ...]]:
        """Return what each milestone verifies."""
        return [
            change.milestone.confirms
            for verdict in verdicts(acts)
            for change in verdict.changes
            if change.milestone is not None and change.milestone.evidence.verified
        ]

    def test_wait_for_a_check_that_turns_green(self) -> None:
        """After a change; it verifies all that was declared before it, once."""
        again = (red("E KeyError: x\n2 failed"), edit("a.py", "2", "3"), green())

        assert self.confirms(*self.WORK, call("finish", {}, "ok"), green(), *again) == [
            (Declaration(1, "paid"), Declaration(4, "finish")),
            (),
        ]

    def test_a_push_verifies_nothing(self) -> None:
        """They go on waiting."""
        assert self.confirms(*self.WORK, bash("git push", "main -> main"), green()) == [(), (Declaration(1, "paid"),)]

    def test_the_host_verifies_what_it_names(self) -> None:
        """Under the same name, by an event or on a call; a claim does not use the name up."""
        by_call = hinted(bash("cat b", "b"), milestone="paid", evidence="observed")

        assert self.confirms(*self.WORK, Named("sent"), Named("paid")) == [(), (Declaration(1, "paid"),)]
        assert self.confirms(*self.WORK, by_call) == [(Declaration(1, "paid"),)]
        assert self.confirms(hinted(by_call, evidence="declared"), by_call) == [(Declaration(1, "paid"),)]

    def test_do_not_outlive_their_run(self) -> None:
        """A new run has declared nothing."""
        assert self.confirms(*self.WORK, NewRun(), red(), edit("a.py", "1", "2"), green()) == [()]

    def test_are_bounded(self) -> None:
        """The oldest fall out, and are counted."""
        lane = Lane()
        for number in range(40):
            fold(lane, HostMilestone(f"m{number}", "declared"), CONFIG)

        assert lane.declared == [Declaration(0, f"m{number}") for number in range(8, 40)]
        assert lane.ledger.evicted == 8


def fold_all(*observed: HostMilestone | RunBoundary | UserTurn | Compaction | ModelTurn) -> list[Verdict | None]:
    lane = Lane()
    return [fold(lane, one, CONFIG) for one in observed]


class TestModelTurn:
    def test_says_nothing_where_nothing_changed(self) -> None:
        """Text alone is no progress and no stall."""
        assert fold_all(ModelTurn(text=1), ModelTurn(text=2), ModelTurn()) == [None, None, None]

    def test_repeated_text_is_a_step_without_number(self) -> None:
        """The same text again, with no call between, adds to the dry streak."""
        found = [v for v in fold_all(ModelTurn(text=1), ModelTurn(text=1)) if v is not None]

        assert [(v.counted, v.step, v.steps_since_gain, v.reason) for v in found] == [(False, 0, 1, "repeated_text")]
        assert fold_all(ModelTurn(text=1, calls_tools=True), ModelTurn(text=1, calls_tools=True))[1] is None
        assert len(verdicts([said("a"), bash("ls", "a"), said("a")])) == 1

    def test_repeated_text_opens_a_loop(self) -> None:
        """A model that only says the same goes round."""
        assert [v.stall is not None for v in verdicts([said("a")] * 5)] == [False, False, True, True]

    @pytest.mark.parametrize(
        ("counts", "spoke"),
        [
            ((1, 2), True),
            ((1, 1), False),
            ((None, 1), False),
            ((2, None), False),
            ((2, 1), False),
            ((1, None, 2), True),
        ],
    )
    def test_one_user_message_more_is_a_user_turn(self, counts: tuple[int | None, ...], spoke: bool) -> None:
        """The first count says nothing, one more than before does, and a missing count changes nothing."""
        dry: list[Act] = [bash("ls", "a")] * 9
        acts: list[Act] = [*dry, *[said(f"turn {n}", count) for n, count in enumerate(counts)]]
        ended = any(change.change is Change.ENDED for v in verdicts(acts) for change in v.changes)

        assert ended is spoke

    def test_a_context_that_stays_compacted_was_compacted_once(self) -> None:
        """A flag that stays on the next turns counts again only when the context shrank by a third."""
        turns: list[Act] = [
            ModelCall(compacted=True, input_tokens=tokens) for tokens in (90_000, 95_000, 60_000, 65_000)
        ]

        assert [v.epoch for v in verdicts([*turns, bash("ls", "a")])] == [1, 2, 2]


class TestCompaction:
    def test_starts_an_epoch_and_clears_nothing(self) -> None:
        """What was seen stays seen, and streaks go on."""
        acts: list[Act] = [bash("ls", "a"), bash("ls", "a"), compacted(), bash("ls", "a")]
        found = verdicts(acts)

        assert [v.epoch for v in found] == [0, 0, 1, 1]
        assert found[2].changes == (Changed(Change.CONTEXT_COMPACTED, 2),)
        assert found[3].reason == "reread_unchanged"
        assert found[3].steps_since_gain == 2


class TestUserTurn:
    def test_clears_the_streaks(self) -> None:
        """Without a stall there is nothing to say; the distance goes on."""
        lane = Lane()
        for _ in range(3):
            fold(lane, step(bash("ls", "a")), CONFIG)

        assert fold(lane, UserTurn(), CONFIG) is None
        assert (lane.counters.dry, lane.counters.distance, lane.counters.step) == (0, 3, 3)
        assert lane.ledger.calls


class TestRunBoundary:
    def test_forgets_all_but_the_numbers(self) -> None:
        """A new run knows nothing of the last one; steps and stalls are numbered on."""
        acts: list[Act] = [*[bash("ls", "a")] * 5, NewRun(), *[bash("ls", "a")] * 5]
        found = verdicts(acts)
        counted = [v for v in found if v.counted]

        assert [v.step for v in counted] == list(range(1, 11))
        assert counted[5].reason == "unseen_content"
        assert counted[5].steps_since_milestone == 1
        assert [v.stall.number for v in counted if v.stall is not None] == [1, 1, 2, 2]


class TestTokens:
    def test_of_a_stall(self) -> None:
        """The tokens of the model turns since the stall began; unknown where no turn carries any."""
        turn = ModelCall(input_tokens=100, output_tokens=10)
        acts: list[Act] = [turn, read("a", "x"), *[act for _ in range(5) for act in (turn, bash("ls", "a"))]]
        stalls = [v.stall for v in verdicts(acts, settings()) if v.stall is not None]

        assert [stall.tokens for stall in stalls] == [330, 440]
        assert [v.stall.tokens for v in verdicts([bash("ls", "a")] * 5) if v.stall is not None] == [None, None]

    @pytest.mark.parametrize(("turn", "tokens"), [(ModelCall(input_tokens=7), 7), (ModelCall(output_tokens=5), 5)])
    def test_of_half_a_report(self, turn: ModelCall, tokens: int) -> None:
        """A turn that reports only one of the two counts adds that one."""
        stall = verdicts([*[bash("ls", "a")] * 4, turn, bash("ls", "a")])[-1].stall
        counted = verdicts([ModelCall(input_tokens=0), *[bash("ls", "a")] * 4, turn, bash("ls", "a")])[-1].stall

        assert stall is not None
        assert counted is not None
        assert counted.tokens == tokens


class TestReasonsOfSmallThings:
    def test_sequence_of_a_common_run(self) -> None:
        """Look, change, fail, mend, pass."""
        acts: list[Act] = [
            bash("ls", "a.py"),
            bash("pytest -q", "E KeyError: x\n1 failed", 1),
            edit("a.py", "1", "2"),
            bash("pytest -q", "4 passed", 0),
            bash("pytest -q", "4 passed", 0),
        ]

        assert reasons(acts) == ["unseen_content", "failure_moved", "new_state", "check_turned_green", "still_green"]
