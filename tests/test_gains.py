"""Rules of `gains`: what a step gained, shown by the shortest sequence that leads to each reason."""

from __future__ import annotations

import pytest
from acts import (
    Act,
    Named,
    bash,
    call,
    denied,
    edit,
    green,
    hinted,
    last,
    numbered,
    read,
    reasons,
    red,
    said,
    search,
    settings,
    verdicts,
    write,
)

from otel_stall.reasons import TABLE, Reason
from otel_stall.verdicts import Gain

FILE = numbered("module", count=30)
LISTING = "README.md\napp.py\nsrc"
WIDE = "The river floods every spring and the lower town has built walls along its banks since the last war."
NARROW = "The river floods every spring and the lower town has built walls along its banks since last summer."
NOTHING_FOUND = [call("find_user", {"name": f"someone{number}"}, "[]") for number in range(9)]
PAGES = [read("big.py", numbered("big", 20 * page + 1, 20), offset=20 * page + 1, limit=20) for page in range(14)]

SEQUENCES: dict[Reason, list[Act]] = {
    Reason.HOST_MILESTONE: [hinted(bash("ls", LISTING), milestone="invoice-7 sent", evidence="observed")],
    Reason.CHECK_TURNED_GREEN: [red(), edit("a.py", "1", "2"), green()],
    Reason.IRREVERSIBLE_EFFECT: [bash("git push origin main", "To example:repo\n   a..b  main -> main")],
    Reason.INFRASTRUCTURE: [hinted(call("get_user", {"id": 1}, "503", failed=True), infra=True)],
    Reason.WAITING: [call("wait_for_job", {"id": 1}, "status: running")],
    Reason.CONTENT_NOT_CAPTURED: [call("read_file", {"path": "a.py"})],
    Reason.OUTCOME_UNKNOWN: [call("read_file", {"path": "a.py"}, failed=True)],
    Reason.CHECK_PASSED: [red(), green()],
    Reason.GREEN_AGAIN: [red(), edit("a.py", "1", "2"), green(), edit("a.py", "2", "3"), red(), green()],
    Reason.CHECK_IMPROVED: [red("FAILED a\nFAILED b\n2 failed"), red("FAILED a\n1 failed")],
    Reason.FAILURE_MOVED: [red("E ValueError: total"), edit("a.py", "1", "2"), red("E KeyError: tax")],
    Reason.CHANGE_CONFIRMED: [edit("a.py", "1", "2"), green()],
    Reason.STILL_FAILING: [red(), edit("a.py", "1", "2"), red()],
    Reason.STILL_GREEN: [green(), green()],
    Reason.NOTE: [call("update_plan", {"plan": [{"step": "look", "status": "pending"}]}, "ok")],
    Reason.NEW_THOUGHT: [call("think", {"thought": "The total is wrong."}, "ok")],
    Reason.REPEATED_THOUGHT: [call("think", {"thought": "Hm."}, "ok"), call("think", {"thought": "Hm."}, "ok")],
    Reason.DENIED_CALL: [denied("rm -rf build")],
    Reason.DENIED_AGAIN: [denied("rm -rf build"), read("a.py", "unseen"), denied("rm -r dist")],
    Reason.GHOST_CALL: [said("I will edit.", calls_tools=True, traced=True), said("I will edit it now.")],
    Reason.REPEATED_TEXT: [said("I will look."), said("I will look.")],
    Reason.NO_OPERATION: [bash("echo done", "done")],
    Reason.MALFORMED_CALL: [call("fetch", {}, "InputValidationError: url is missing", failed=True)],
    Reason.NEW_STATE: [write("a.py", "total = 1")],
    Reason.STATE_SEEN_BEFORE: [write("a.py", "1"), write("a.py", "2"), write("a.py", "1")],
    Reason.WRITE_CHANGED_NOTHING: [write("a.py", "total = 1", "File unchanged.")],
    Reason.TAKEN_BACK: [edit("a.py", "1", "2"), bash("git checkout -- a.py", "Updated 1 path from the index")],
    Reason.REMOVED: [bash("rm -rf out")],
    Reason.SAME_CALL_FAILING: [call("get_user", {"id": 1}, "Error: gone", failed=True)] * 2,
    Reason.NEW_ERROR: [call("get_user", {"id": 1}, "Error: gone", failed=True)],
    Reason.KNOWN_ERROR: [call("get_user", {"id": n}, f"Error: user {n} is gone", failed=True) for n in (1, 2)],
    Reason.MISSING_AGAIN: [bash(f"cat {n}.py", f"cat: {n}.py: No such file or directory", 1) for n in "abc"],
    Reason.ACKNOWLEDGEMENT: [bash("python migrate.py", "")],
    Reason.EMPTY_ANSWER: [bash("grep -rn total src", "", 1)],
    Reason.SIMILAR_EMPTY_ANSWER: [
        call("find_user", {"query": "anna lee berlin"}, "[]"),
        call("find_user", {"query": "anna lee bonn"}, "[]"),
    ],
    Reason.TOO_MANY_EMPTY_ANSWERS: [*NOTHING_FOUND],
    Reason.KNOWN_EMPTY_ANSWER: [call("find_user", {"name": "anna"}, "[]")] * 2,
    Reason.THIN_SEARCH: [search("river flood walls town", WIDE), search("town river flood walls", NARROW)],
    Reason.SAME_OUTCOME: [call("frobnicate", {"a": 1}, "three rows")] * 2,
    Reason.SAME_OUTCOME_NEW_CALL: [call("frobnicate", {"a": n}, "three rows") for n in (1, 2)],
    Reason.CHECK_DUE: [bash("python solve.py", "42"), edit("a.py", "1", "2"), bash("python solve.py", "42")],
    Reason.REREAD_UNCHANGED: [read("a.py", "total = 1")] * 2,
    Reason.LONG_REREAD_UNCHANGED: [bash("python solve.py", "42"), read("a.py", FILE), read("a.py", FILE)],
    Reason.NEW_RANGE: [*PAGES[:2]],
    Reason.RANGE_SHOWN_BEFORE: [*PAGES[:2], read("big.py", numbered("big", 5, 10), offset=5, limit=10)],
    Reason.TOO_MANY_RANGES: [*PAGES],
    Reason.NOTHING_UNSEEN: [read("a.py", FILE), call("show_part", {"name": "a"}, numbered("module", count=5))],
    Reason.LITTLE_UNSEEN: [read("a.py", FILE), call("show_part", {"name": "a"}, FILE + "\none more line")],
    Reason.UNSEEN_CONTENT: [bash("ls", LISTING)],
}


class TestReasons:
    @pytest.mark.parametrize("reason", Reason)
    def test_are_each_reached(self, reason: Reason) -> None:
        """Each reason of the table is that of the last step of a sequence, with the gain the table gives it."""
        verdict = last(SEQUENCES[reason])

        assert (verdict.reason, verdict.gain) == (reason.value, TABLE[reason].gain)

    def test_are_all_in_the_table(self) -> None:
        """No reason without an entry, and no entry without a sequence here."""
        assert set(SEQUENCES) == set(Reason) == set(TABLE)


class TestHost:
    def test_names_a_milestone_once(self) -> None:
        """A milestone counts once a run, whatever step names it again."""
        steps = [hinted(bash(f"cat {n}.py", f"unseen {n}"), milestone="paid") for n in range(2)]

        assert reasons([*steps]) == ["host_milestone", "unseen_content"]

    def test_a_declared_milestone_is_no_gain(self) -> None:
        """What the model says of itself is recorded, and the step judged as if nothing were said."""
        assert reasons([hinted(bash("ls", LISTING), milestone="paid", evidence="declared")]) == ["unseen_content"]

    @pytest.mark.parametrize(
        ("states", "expected"),
        [
            ([("a", "b")], ["new_state"]),
            ([("a", "a")], ["write_changed_nothing"]),
            ([("", "b"), ("b", "c"), ("c", "b")], ["new_state", "new_state", "state_seen_before"]),
        ],
    )
    def test_digests_of_the_state_decide(self, states: list[tuple[str, str]], expected: list[str]) -> None:
        """An unseen state is a change, the one before or a known one is none, whatever the call and the answer."""
        steps = [
            hinted(call("save_form", {"n": number}, "saved it all"), state_before=before, state_after=after)
            for number, (before, after) in enumerate(states)
        ]

        assert reasons([*steps]) == expected

    def test_a_look_at_a_known_state_is_judged_by_what_it_shows(self) -> None:
        """A read changes nothing; that the state stays the same says nothing of it."""
        steps = [hinted(read(f"{n}.py", f"unseen {n}"), state_after="s") for n in range(2)]

        assert reasons([*steps])[1] == "unseen_content"

    def test_the_digest_of_a_resource_tells_whether_it_changed(self) -> None:
        """A read of a resource that the host says has changed is no re-read of it."""
        pages = [read("a.log", numbered("log", n, 20), offset=n, limit=20) for n in (1, 21)]
        same = [hinted(page, content_digest="x") for page in pages]
        changed = [hinted(page, content_digest=digest) for page, digest in zip(pages, "xy", strict=True)]

        assert reasons([*same])[1] == "new_range"
        assert reasons([*changed])[1] == "unseen_content"


class TestWaiting:
    def test_is_neutral_for_so_many_steps(self) -> None:
        """Waiting steps say nothing until there are too many in a row; then they count like any step."""
        poll: Act = call("wait_for_job", {"id": 1}, "status: running")

        assert reasons([poll] * 5, settings(waits=3)) == ["waiting"] * 3 + ["same_outcome"] * 2

    def test_declared_by_the_host(self) -> None:
        """`stall.wait.on` makes any step a waiting one."""
        assert reasons([hinted(bash("ls", LISTING), wait_on="a person")]) == ["waiting"]

    def test_a_job_that_ended_is_no_waiting(self) -> None:
        """A poll whose answer says that the job is done is judged by what it shows."""
        assert reasons([call("wait_for_job", {"id": 1}, "finished with 3 rows")]) == ["unseen_content"]


class TestChecks:
    def test_green_after_a_change_counts_once_for_a_state_of_the_work(self) -> None:
        """Breaking and mending the same place again is no second milestone."""
        mended = [
            red(),
            edit("a.py", "1", "2"),
            green(),
            edit("a.py", "2", "1"),
            red(),
            edit("a.py", "1", "2"),
            green(),
        ]

        assert [reason for reason in reasons(mended) if "check" in reason] == ["check_turned_green"]
        assert reasons(mended)[-1] == "green_again"

    def test_an_outcome_that_cannot_be_told_is_judged_as_text(self) -> None:
        """A check whose text and exit code say nothing brings what its lines bring."""
        assert reasons([bash("pytest -q", "collecting", None)]) == ["unseen_content"]

    def test_the_first_run_of_a_red_check_informs(self) -> None:
        """A failure never seen before moves; the best count is beaten only by a lower one."""
        runs = [red("FAILED a\nFAILED b\n2 failed"), red("FAILED a\n1 failed"), red("FAILED a\nFAILED b\n2 failed")]

        assert reasons([*runs]) == ["failure_moved", "check_improved", "still_failing"]


class TestWrites:
    def test_a_failed_edit_is_an_error(self) -> None:
        """ "No replacement was performed" changed nothing, whatever the status says."""
        assert reasons([edit("a.py", "1", "2", "No replacement was performed.")]) == ["new_error"]

    def test_an_edit_taken_back_is_a_state_seen_before(self) -> None:
        """Old and new text swapped lead back."""
        assert reasons([edit("a.py", "1", "2"), edit("a.py", "2", "1")]) == ["new_state", "state_seen_before"]

    def test_the_same_content_elsewhere_is_new(self) -> None:
        """A state is content at a place."""
        assert reasons([write("a.py", "1"), write("b.py", "1")]) == ["new_state", "new_state"]

    def test_an_irreversible_effect_with_the_same_arguments_is_known(self) -> None:
        """A push repeated is no second milestone."""
        push = bash("git push origin main", "To example:repo\n   a..b  main -> main")

        assert reasons([push, push]) == ["irreversible_effect", "state_seen_before"]

    def test_a_write_whose_answer_is_not_captured(self) -> None:
        """What was written is known from the arguments; without them nothing is known."""
        assert reasons([call("write_file", {"path": "a", "content": "x"})]) == ["new_state"]
        assert reasons([call("write_file", None, "ok")]) == ["content_not_captured"]


class TestErrors:
    @pytest.mark.parametrize(("lines", "expected"), [(2, "known_error"), (3, "new_error")])
    def test_of_a_known_kind_with_much_to_read(self, lines: int, expected: str) -> None:
        """An error of a known kind informs where three lines or more, and most of them, are unseen."""
        first = call("build_it", {"n": 1}, "Error: step failed", failed=True)
        shown = [f"part {n} of the second report" for n in range(lines)]
        second = call("build_it", {"n": 2}, "\n".join([*shown, "Error: step failed"]), failed=True)

        assert reasons([first, second]) == ["new_error", expected]


class TestEmptyAnswers:
    def test_a_gain_between_starts_the_count_anew(self) -> None:
        """Only empty answers in a row are too many."""
        asked = [call("find_user", {"name": f"someone{n}"}, "[]") for n in range(6)]
        mixed: list[Act] = [*asked[:3], bash("ls", LISTING), *asked[3:]]

        assert "too_many_empty_answers" not in reasons(mixed, settings(empty_answers=3))
        assert reasons([*asked], settings(empty_answers=3))[3:] == ["too_many_empty_answers"] * 3

    def test_a_tool_that_is_mostly_silent_is_not_captured(self) -> None:
        """Where most results of a tool are of zero length, its results are not recorded, not empty."""
        silent = [call("click_at", {"at": n}, "") for n in range(8)]

        assert reasons([*silent])[-1] == "content_not_captured"


class TestNovelty:
    def test_a_change_lets_a_text_be_read_again(self) -> None:
        """After a change of the file another range of it is unseen content, not a new range."""
        acts: list[Act] = [*PAGES[:1], edit("big.py", "a", "b"), PAGES[1]]

        assert reasons(acts) == ["unseen_content", "new_state", "unseen_content"]

    def test_a_covered_range_is_a_re_read(self) -> None:
        """A range that earlier reads showed brings nothing, whatever its bounds."""
        inner = read("big.py", "other text that was not seen", offset=5, limit=10)

        assert reasons([*PAGES[:2], inner]) == ["unseen_content", "new_range", "range_shown_before"]

    def test_budget_of_ranges(self) -> None:
        """After so many ranges of a text that does not change, one more is no gain."""
        found = reasons([*PAGES], settings(new_ranges=4))

        assert found == ["unseen_content", *["new_range"] * 4, *["too_many_ranges"] * 9][: len(found)]

    def test_volatile_tokens_are_nothing_new(self) -> None:
        """The same answer at another time is the same answer."""
        acts = [call("frobnicate", {"a": 1}, f"3 rows in 0.{n} s at 2026-01-02T03:04:0{n}Z") for n in range(2)]

        assert reasons([*acts]) == ["unseen_content", "same_outcome"]


class TestMarks:
    def test_a_milestone_named_in_an_event(self) -> None:
        """A host may name a milestone outside any call; a second time it says nothing."""
        found = verdicts([Named("paid"), Named("paid")])

        assert [(v.counted, v.gain, v.milestone_count) for v in found] == [(False, Gain.MILESTONE, 1)]
