"""Rules of `ledger`: what a lane has seen, and what that makes of the next step."""

from __future__ import annotations

import copy

import pytest
from acts import bash, call, edit, green, hinted, numbered, read, red, search, write

from otel_stall.calls import Capture, Content, ToolCall
from otel_stall.config import BoundsConfig, DetectionConfig
from otel_stall.facts import Facts, facts_of
from otel_stall.learning import learn
from otel_stall.ledger import Ledger
from otel_stall.observations import Effect, Lines, Step
from otel_stall.steps import step

RULES, BOUNDS = DetectionConfig(), BoundsConfig()


def ledger_of(*acts: ToolCall, bounds: BoundsConfig = BOUNDS) -> Ledger:
    """Return a ledger that took in these calls."""
    ledger = Ledger()
    for act in acts:
        observed = step(act)
        learn(observed, facts_of(observed, ledger, RULES), ledger, bounds)
    return ledger


def facts(*acts: ToolCall) -> Facts:
    """Return what is known of the last call from those before it."""
    return facts_of(step(acts[-1]), ledger_of(*acts[:-1]), RULES)


class TestFacts:
    def test_are_pure(self) -> None:
        """Asking changes nothing."""
        ledger = ledger_of(bash("ls", "a"), red(), edit("a", "1", "2"))
        before = copy.deepcopy(ledger)
        facts_of(step(bash("ls", "a")), ledger, RULES)

        assert ledger == before

    def test_of_an_empty_ledger(self) -> None:
        """Nothing is known, and every line is unseen."""
        found = facts(bash("ls", "a\nb"))

        assert (found.call_epoch, found.pair_epoch, found.outcome_epoch) == (None, None, None)
        assert (found.unseen_lines, found.known_since()) == (2, None)

    def test_call_outcome_and_pair_are_known_apart(self) -> None:
        """Another outcome of a known call, a known outcome of another call, and both together."""
        other = facts(bash("x 1", "a"), bash("x 1", "b"))
        named = facts(bash("x 1", "a"), bash("x 2", "a"))
        both = facts(bash("x 1", "a"), bash("x 1", "a"))

        assert (other.call_epoch, other.outcome_epoch, other.pair_epoch) == (0, None, None)
        assert (named.call_epoch, named.outcome_epoch, named.pair_epoch) == (None, 0, None)
        assert (both.call_epoch, both.outcome_epoch, both.pair_epoch, both.exact_repeat) == (0, 0, 0, True)

    def test_the_exit_code_is_part_of_the_outcome(self) -> None:
        """The same text with another exit code is another outcome."""
        assert facts(bash("x", "a", 0), bash("x", "a", 2)).pair_epoch is None

    def test_unknown_content_is_known_of_nothing(self) -> None:
        """What was not captured equals nothing, itself included."""
        hidden = ToolCall("x", Content("a", Capture.TRUNCATED), Content("b", Capture.TRUNCATED))
        found = facts(hidden, hidden)

        assert (found.call_epoch, found.pair_epoch, found.exact_repeat, found.unseen_lines) == (None, None, False, 0)

    def test_known_since_the_first_epoch(self) -> None:
        """Knowledge is as old as its first sight, however often it was seen since."""
        ledger = ledger_of(bash("ls", "a"))
        ledger.epoch = 1
        observed = step(bash("ls", "a"))
        learn(observed, facts_of(observed, ledger, RULES), ledger, BOUNDS)

        assert facts_of(observed, ledger, RULES).known_since() == 0


class TestLines:
    def test_unseen_ones_are_counted(self) -> None:
        """A line shown by any tool is seen."""
        assert facts(read("a", "x = 1\ny = 2"), bash("grep -n = a", "1:x = 1\n3:z = 3")).unseen_lines == 1

    def test_all_known_since_the_newest(self) -> None:
        """A text is known from the moment its last line was."""
        ledger = ledger_of(read("a", "x = 1"))
        ledger.epoch = 2
        later = step(read("b", "y = 2"))
        learn(later, facts_of(later, ledger, RULES), ledger, BOUNDS)

        assert facts_of(step(read("c", "x = 1\ny = 2")), ledger, RULES).lines_epoch == 2


class TestStates:
    @pytest.mark.parametrize(
        ("acts", "known"),
        [
            ((write("a", "1"), write("a", "1")), True),
            ((write("a", "1"), write("a", "2"), write("a", "1")), True),
            ((write("a", "1"), write("b", "1")), False),
            ((edit("a", "1", "2"), edit("a", "2", "1")), True),
            ((edit("a", "1", "2"), edit("b", "2", "1")), False),
            ((call("book_room", {"n": 1}, "kept"), call("book_room", {"n": 1}, "kept")), True),
            ((call("book_room", {"n": 1}, "kept"), call("book_room", {"n": 2}, "kept")), False),
            ((edit("a", "1", "2", "No replacement was performed."), edit("a", "1", "2")), False),
            ((bash("ls", "a"), bash("ls", "a")), False),
        ],
    )
    def test_seen_before(self, acts: tuple[ToolCall, ...], known: bool) -> None:
        """Content at its place, an edit or its reverse, or the call itself; a failed write left no state."""
        assert (facts(*acts).state_epoch is not None) is known

    def test_of_the_host(self) -> None:
        """A digest is known where it was seen, or where it is the one before."""
        first, second = (hinted(call("x", {"n": n}, "a"), state_after="s") for n in range(2))

        assert facts(first).host_state_known is False
        assert facts(first, second).host_state_known is True
        assert facts(hinted(call("x", {}, "a"), state_before="s", state_after="s")).host_state_known is True
        assert facts(call("x", {}, "a")).host_state_known is None


class TestFailures:
    FAILED = call("get_user", {"id": 1}, "Error: user 1 is gone", failed=True)

    def test_the_same_call_with_nothing_changed(self) -> None:
        """A change in between, or a success, makes the next failure a new one."""
        assert facts(self.FAILED, self.FAILED).failed_before
        assert not facts(self.FAILED, write("a", "1"), self.FAILED).failed_before
        assert not facts(self.FAILED, call("get_user", {"id": 1}, "anna"), self.FAILED).failed_before

    def test_classes_of_errors_belong_to_their_tool(self) -> None:
        """The same kind of error elsewhere is new there."""
        alike = call("get_user", {"id": 2}, "Error: user 2 is gone", failed=True)

        assert facts(self.FAILED, alike).error_count == 1
        assert not facts(self.FAILED, call("get_order", {"id": 2}, "Error: user 2 is gone", failed=True)).error_count


class TestChecks:
    def test_green_after_red(self) -> None:
        """Turned green, and whether something was changed since it was red."""
        same, changed = facts(red(), green()).check, facts(red(), edit("a", "1", "2"), green()).check

        assert same is not None
        assert changed is not None
        assert (same.turned_green, same.changed_since_red) == (True, False)
        assert (changed.turned_green, changed.changed_since_red) == (True, True)

    def test_red_after_red(self) -> None:
        """A lower count than ever improves; a message never seen before moves."""
        first, worse = red("FAILED a\n2 failed"), red("FAILED b\n3 failed")
        better, known = facts(first, worse, red("FAILED c\n1 failed")).check, facts(first, worse, first).check

        assert better is not None
        assert known is not None
        assert (better.improved, known.improved, known.moved) == (True, False, False)

    def test_other_checks_are_apart(self) -> None:
        """A green lint says nothing of a red test."""
        found = facts(red(), green("ruff check .", "All checks passed!")).check

        assert found is not None
        assert not found.turned_green


class TestResources:
    def test_windows_add_up(self) -> None:
        """Ranges that earlier reads covered together are shown; a gap is not."""
        parts = [read("a", numbered("a", n, 10), offset=n, limit=10) for n in (1, 11, 31)]

        assert facts(*parts, read("a", "x", offset=5, limit=12)).window_shown
        assert not facts(*parts, read("a", "x", offset=15, limit=12)).window_shown
        assert not facts(*parts, read("b", "x", offset=5, limit=12)).window_shown
        assert not facts(*parts, edit("a", "1", "2"), read("a", "x", offset=5, limit=12)).window_shown

    def test_one_line_between_ranges_is_a_gap(self) -> None:
        """Neighbouring ranges join; where one line is missing they do not."""
        first, near, far = (read("a", numbered("a", n, 10), offset=n, limit=10) for n in (1, 11, 12))

        assert facts(first, near, read("a", "x", offset=5, limit=12)).window_shown
        assert not facts(first, far, read("a", "x", offset=5, limit=12)).window_shown

    def test_a_failed_read_shows_nothing(self) -> None:
        """Only what was shown counts as read."""
        missing = call("read_file", {"path": "a"}, "Error: no such file", failed=True)

        assert not facts(missing, read("a", "x")).resource_read
        assert facts(read("a", "x"), read("a", "x")).resource_read

    def test_ranges_since_a_change(self) -> None:
        """Further ranges are counted anew after each change of the file."""
        parts = [read("a", numbered("a", n, 10), offset=n, limit=10) for n in (1, 11, 21, 31)]

        assert facts(*parts).ranges == 2
        assert facts(*parts[:3], edit("a", "1", "2"), parts[3]).ranges == 0


class TestSearches:
    TEXT = "The river floods every spring and the lower town has built walls along its banks since the last war."

    def test_thin(self) -> None:
        """A reworded question that brings known text is thin; a new question or new text is not."""
        first = search("river flood walls town", self.TEXT)

        assert facts(first, search("who built the dikes", self.TEXT + " Again.")).thin is False
        assert facts(first, search("river flood walls town now", self.TEXT + " Again.")).thin is True
        assert (
            facts(first, search("river flood walls town now", "Bread prices rose in the north of the land.")).thin
            is False
        )
        assert facts(search("river flood walls town", self.TEXT)).thin is False

    def test_similar_empty_answers(self) -> None:
        """Half of the words in common with a question that found nothing; a change lets it be asked again."""
        first, second = (call("find_user", {"query": f"anna lee {city}"}, "[]") for city in ("bonn", "rome"))

        assert facts(first, second).similar_empty
        assert not facts(first, write("a", "1"), second).similar_empty
        assert not facts(first, call("find_user", {"query": "order 7"}, "[]")).similar_empty

    def test_mostly_silent_tools(self) -> None:
        """More than half of at least four results of zero length."""
        silent = [call("click_at", {"at": n}, "") for n in range(5)]

        assert facts(*silent).mostly_silent
        assert not facts(*silent[:3]).mostly_silent
        assert not facts(
            *silent[:2], *[call("click_at", {"at": n}, "clicked") for n in range(9, 12)], silent[3]
        ).mostly_silent


class TestDue:
    def test_a_change_makes_checks_due(self) -> None:
        """Until a check or a command has run; looking around does not count."""
        changed = edit("a", "1", "2")

        assert facts(red(), bash("ls", "a")).due is False
        assert facts(red(), changed, bash("ls", "a")).due is True
        assert facts(red(), changed, bash("ls", "a"), bash("ls", "a")).due is True
        assert facts(red(), changed, red(), bash("ls", "a")).due is False


class TestBounds:
    def test_the_oldest_falls_out_and_is_counted(self) -> None:
        """A full map forgets what was seen first."""
        small = BoundsConfig(calls=3, lines=3)
        ledger = ledger_of(*[read(f"{n}", f"text {n}") for n in range(5)], bounds=small)

        assert (len(ledger.calls), len(ledger.lines), len(ledger.resources)) == (3, 3, 3)
        assert facts_of(step(read("0", "text 0")), ledger, RULES).call_epoch is None
        assert facts_of(step(read("4", "text 4")), ledger, RULES).call_epoch == 0
        assert ledger.evicted > 0

    def test_calls_in_use_stay(self) -> None:
        """A call made again is the latest."""
        small = BoundsConfig(calls=2)
        ledger = ledger_of(bash("a", "1"), bash("b", "2"), bash("a", "1"), bash("c", "3"), bounds=small)

        assert facts_of(step(bash("a", "1")), ledger, RULES).call_epoch == 0
        assert facts_of(step(bash("b", "2")), ledger, RULES).call_epoch is None


def test_the_oldest_lines_are_forgotten_however_many_there_were() -> None:
    """Of lines beyond the bound the last ones are known, in their order, and each one that fell out is counted."""
    ledger, bounds = Ledger(), BoundsConfig(lines=10)
    for number in range(1_500):
        digests = (2 * number, 2 * number + 1, max(0, 2 * number - 3))
        learn(Step("read_file", Effect.READ, lines=Lines(digests, 3)), Facts(), ledger, bounds)

    assert list(ledger.lines) == list(range(2_990, 3_000))
    assert ledger.evicted == 2_990


def test_tidying_changes_nothing() -> None:
    """Maps that were made anew hold the same, in the same order."""
    ledger = Ledger(pairs={3: 0, 1: 1, 2: 0}, lines={9: 0})
    before = copy.deepcopy(ledger)
    ledger.tidy(2)

    assert ledger == before
    assert list(ledger.pairs) == list(before.pairs)
