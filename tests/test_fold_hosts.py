"""Rules of `fold` for what hosts tell: refused and ghost calls, compactions of every kind, signs of their own."""

from __future__ import annotations

import pytest
from acts import Act, bash, denied, edit, last, read, reasons, verdicts

from otel_stall.calls import CompactionMark, HostHint, ModelCall, ToolCall
from otel_stall.config import StallConfig
from otel_stall.conversations import Lane
from otel_stall.fold import fold
from otel_stall.observations import GhostCall
from otel_stall.verdicts import Change, Kind, Verdict

CONFIG = StallConfig()
LOOKS: list[Act] = [bash("ls", "a.py")] * 8
"""A stall: the same look again and again."""


def _turn(tokens: int) -> ModelCall:
    return ModelCall(input_tokens=tokens)


def _compactions(found: list[Verdict]) -> list[bool]:
    """Return for each compaction whether it was inferred."""
    return [c.inferred for v in found for c in v.changes if c.change is Change.CONTEXT_COMPACTED]


def _silent(command: str) -> ToolCall:
    """Return a failed command whose host records nothing of what it printed."""
    return ToolCall("bash", bash(command).arguments, failed=True, error_message="Shell command failed")


class TestRefusals:
    def test_are_a_class_of_their_own(self) -> None:
        """The first of a kind tells something, the next ones are asked in vain, whatever they are about."""
        acts = [denied("rm -r a"), denied("rm -r b"), bash("ls", "a"), denied("curl x"), denied("rm -r a")]

        assert reasons(acts) == ["denied_call", "denied_again", "unseen_content", "denied_call", "denied_again"]

    def test_asking_again_and_again_is_a_stall(self) -> None:
        """A refused call is cheap to repeat, and brings nothing."""
        assert last([denied("rm -r build")] * 7).stall is not None


class TestGhosts:
    def test_count_without_a_number(self) -> None:
        """Dry, wasted and further from the last milestone, but no step with a span to write on."""
        lane = Lane()
        found = [fold(lane, GhostCall(), CONFIG) for _ in range(2)]

        assert [
            (v.counted, v.step, v.steps_since_gain, v.steps_since_milestone, v.reason) for v in found if v is not None
        ] == [(False, 0, 1, 1, "ghost_call"), (False, 0, 2, 2, "ghost_call")]


class TestCompactions:
    @pytest.mark.parametrize(
        ("tokens", "expected"),
        [
            ([40_000, 41_000, 9_000, 9_500], [True]),
            ([40_000, 9_000, 41_000, 9_000, 42_000], []),
            ([40_000, 30_000, 29_000], []),
            ([8_000, 900, 1_000], []),
            ([40_000, 9_000, 9_500, 10_000, 10_500], [True]),
        ],
    )
    def test_are_inferred_where_a_lane_shrinks_twice_in_a_row(self, tokens: list[int], expected: list[bool]) -> None:
        """One small request is a title or a sub-agent; a context that stays small was compacted, once."""
        assert _compactions(verdicts([_turn(count) for count in tokens])) == expected

    def test_are_not_inferred_where_the_host_tells_of_them(self) -> None:
        """A host with a signal of its own has its tokens fall after each."""
        acts: list[Act] = [_turn(40_000), CompactionMark("codex:codex.compaction"), _turn(9_000), _turn(9_500)]

        assert _compactions(verdicts(acts)) == [False]

    def test_two_signals_of_one_are_one(self) -> None:
        """A host tells of a compaction by a span and by a record; the same signal again is another one."""
        span, record = CompactionMark("claude-code:llm_request"), CompactionMark("claude-code:compaction")
        both: list[Act] = [span, record, bash("ls", "a"), span, record]

        assert _compactions(verdicts(both)) == [False] * 2
        assert _compactions(verdicts([span, record, span, record])) == [False] * 2
        assert _compactions(verdicts([span, span])) == [False] * 2

    def test_two_in_vain_are_thrash(self) -> None:
        """A compaction that frees nothing comes again at once: two without a call between are amnesia."""
        vain = CompactionMark("codex:codex.compaction", 10_812, 10_625, certain=True)
        good = CompactionMark("codex:codex.compaction", 10_812, 2_000, certain=True)
        found = last([bash("ls", "a"), vain, vain])

        assert found.stall is not None
        assert found.stall.kind is Kind.AMNESIA
        assert last([bash("ls", "a"), good, good]).stall is None

    def test_one_that_frees_little_is_one_all_the_same(self) -> None:
        """Only a window that slides with each request is none; a host compacts where it has to."""
        small = CompactionMark("claude-code:compaction", 3603, 2672, certain=True)

        assert _compactions(verdicts([small])) == [False]


class TestHostSigns:
    def test_open_nothing(self) -> None:
        """A host's own word is no verdict."""
        assert [v.stall for v in verdicts([read("a", "x"), *[HostHint("loop_detected")] * 9])] == [None]

    def test_stand_among_the_evidence(self) -> None:
        """Inside a stall the host's sign corroborates it, for twenty steps."""
        found = last([*LOOKS, HostHint("loop_detected")])
        much_later = last([*LOOKS, HostHint("loop_detected"), *LOOKS * 3])

        assert found.stall is not None
        assert much_later.stall is not None
        assert "the host says so, too: loop_detected" in found.stall.evidence
        assert "the host says so, too: loop_detected" not in much_later.stall.evidence

    def test_a_work_tree_that_comes_back_is_one(self) -> None:
        """The same digest before and after a step says nothing; one of before the last does."""
        steady = [*LOOKS, *[HostHint(digest="one")] * 3]
        back = [*LOOKS, *[HostHint(digest=digest) for digest in ("one", "two", "one")]]
        told = [last(acts).stall for acts in (steady, back)]

        assert ["the work tree is back" in " ".join(stall.evidence) for stall in told if stall] == [False, True]


class TestFailuresWithoutWords:
    def test_on_a_state_of_the_work_where_it_failed_before_are_known(self) -> None:
        """Edit A, red, edit B, red, A again, red: nothing is printed, and yet it is the same failure."""
        there, back = edit("a", "x = 1", "x = 2"), edit("a", "x = 2", "x = 1")
        acts = [there, _silent("make"), back, _silent("make"), there, _silent("make")]

        assert reasons(acts)[1::2] == ["outcome_unknown", "outcome_unknown", "same_call_failing"]

    def test_on_another_state_tell_nothing(self) -> None:
        """A new state may fail in a new way."""
        acts = [act for n in range(4) for act in (edit("a", f"x = {n}", f"x = {n + 1}"), _silent("make"))]

        assert set(reasons(acts)[1::2]) == {"outcome_unknown"}
