"""Rules of `evidence`: short sentences, the strongest first, that a person can check against the trace."""

from __future__ import annotations

from dataclasses import replace

import pytest
from acts import Act, bash, verdicts

from otel_stall.counters import Counters
from otel_stall.evidence import MAX_ENTRIES, MAX_LENGTH, evidence_of
from otel_stall.loops import InputSide, LoopRun
from otel_stall.reasons import Reason
from otel_stall.scenes import Entry, Scene, Trigger

COUNTERS = Counters(
    step=20, distance=9, dry=7, dry_since=14, flat=6, flat_since=3, thin=3, thin_since=18, reacquired=4, waste=5.5,
    waste_since=12, after_done=8, idle_compactions=3,
)  # fmt: skip
SCENE = Scene(COUNTERS, LoopRun(6, (1, 2), 15, blind=5), InputSide(), (), 1, None, False, False, 0, 30)


def entry(step: int, call: int | None, reason: Reason = Reason.SAME_OUTCOME, command: str = "bash:ls") -> Entry:
    return Entry(step, command, reason, call, True, False, False, False, None)


class TestTriggers:
    @pytest.mark.parametrize(
        ("trigger", "sentence"),
        [
            (Trigger.DRY, "7 steps without gain since step 14"),
            (Trigger.FLAT, "6 checks neither improved nor failed in a new way since step 3"),
            (Trigger.THIN, "3 reworded searches in a row brought mostly known text"),
            (Trigger.LOOP, "2 calls with their outcomes go round and round: 6 known ones in a row"),
            (Trigger.BLIND, "the same call 5 times in a row; outcomes are not captured"),
            (Trigger.AMNESIA, "4 steps brought what was known before a compaction"),
            (Trigger.COMPACTIONS, "3 compactions with no call between them"),
            (Trigger.WASTE, "work that brings little adds up to 5.5 since step 12"),
            (Trigger.AFTER_DONE, "8 steps after the work was done"),
        ],
    )
    def test_each_has_its_sentence(self, trigger: Trigger, sentence: str) -> None:
        """What holds the stall open, with its count and first step; then how far the last milestone is."""
        assert evidence_of(SCENE, (trigger,), []) == (sentence, "no verified milestone in 9 steps")

    def test_the_distance(self) -> None:
        """With a milestone reached, its distance is said."""
        reached = replace(SCENE, counters=replace(COUNTERS, milestones=1))

        assert evidence_of(reached, (), []) == ("last verified milestone 9 steps ago",)


class TestSteps:
    def test_are_summed_up(self) -> None:
        """The two commonest reasons, the commonest command, and one call with its steps; gains are left out."""
        entries = [entry(n, 1) for n in (14, 16, 18)] + [entry(15, 2, Reason.KNOWN_ERROR, "bash:cat")]
        entries.append(entry(17, 3, Reason.UNSEEN_CONTENT, "bash:pytest"))

        assert evidence_of(SCENE, (), entries) == (
            "no verified milestone in 9 steps",
            "3 times the same call with the same outcome",
            "once an error of a kind seen before",
            "most often: bash:ls, 3 times",
            "one call 3 times: steps 14, 16, 18",
        )

    def test_a_call_made_once_is_no_evidence(self) -> None:
        """Unknown calls and single ones are not named."""
        assert len(evidence_of(SCENE, (), [entry(14, None), entry(15, None), entry(16, 1)])) == 3


class TestLimits:
    def test_of_number_and_length(self) -> None:
        """At most eight entries of at most 120 characters."""
        entries = [entry(n, 1, command="x" * 200) for n in range(60)]
        found = evidence_of(SCENE, tuple(Trigger), entries)

        assert len(found) == MAX_ENTRIES
        assert max(map(len, evidence_of(SCENE, (), entries))) == MAX_LENGTH

    def test_of_a_real_stall(self) -> None:
        """What a person reads about an agent that lists the same directory."""
        acts: list[Act] = [bash("ls", "a")] * 7
        stall = verdicts(acts)[-1].stall

        assert stall is not None
        assert stall.evidence == (
            "6 steps without gain since step 2",
            "one call with its outcome goes round and round: 6 known ones in a row",
            "work that brings little adds up to 6 since step 2",
            "no verified milestone in 7 steps",
            "6 times something unchanged was read again",
            "most often: bash:ls, 6 times",
            "one call 6 times: steps 2, 3, 4, 5, 6, 7",
        )
