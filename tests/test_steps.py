"""Rules of `steps`: what a tool call, a model turn and a compaction become for the fold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from acts import bash, call, content, edit, hinted, numbered, read, readings, write

from otel_stall.calls import Capture, CompactionMark, Content, Hints, ModelCall, Reading, ToolCall
from otel_stall.fingerprints import digest
from otel_stall.observations import Compaction, Effect, ModelTurn, Signs, Step, Writing
from otel_stall.steps import observation, step


class TestObservation:
    def test_of_nothing(self) -> None:
        """A span that is no call, turn or compaction gives nothing."""
        assert observation(replace(readings([bash("ls")])[0], record=None)) is None

    def test_of_a_model_turn(self) -> None:
        """A turn is the digest of its text, spaces collapsed, and its counts."""
        turn = ModelCall("I  will\nlook.", True, 3, 100, 20, True)

        assert observation(reading_of(turn)) == ModelTurn(digest("I will look."), True, 3, 100, 20, True)
        assert observation(reading_of(ModelCall())) == ModelTurn()

    @pytest.mark.parametrize(
        ("before", "after", "counts"),
        [(None, None, True), (100, None, True), (100, 59, True), (100, 60, False), (100, 99, False), (0, 0, True)],
    )
    def test_of_a_compaction(self, before: int | None, after: int | None, counts: bool) -> None:
        """A sliding window that takes a little off before every request is no compaction."""
        found = observation(reading_of(CompactionMark("host", before, after)))

        assert found == (Compaction("host") if counts else None)


def reading_of(record: ToolCall | ModelCall | CompactionMark) -> Reading:
    return readings([record])[0]


class TestSignature:
    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            (bash("ls"), bash(" ls  "), True),
            (bash("ls"), bash("ls -a"), False),
            (bash("ls", "a"), bash("ls", "b"), True),
            (call("x", {"a": 1}), call("y", {"a": 1}), False),
            (call("x", {"a": 1}, "Unknown tool: x"), call("x", {"a": 2}, "Unknown tool: x"), True),
        ],
    )
    def test_is_tool_and_arguments(self, one: ToolCall, other: ToolCall, same: bool) -> None:
        """The result is no part of it; a tool that does not exist is one call whatever it is given."""
        assert (step(one).signature == step(other).signature) is same

    @pytest.mark.parametrize("capture", [Capture.ABSENT, Capture.REDACTED, Capture.TRUNCATED])
    def test_unknown_content_has_none(self, capture: Capture) -> None:
        """Content that was not recorded in full has no digest, neither as argument nor as result."""
        found = step(ToolCall("read_file", Content({"path": "a"}, capture), Content("text", capture)))

        assert (found.signature, found.outcome, found.exact) == (None, None, None)
        assert (found.arguments, found.result) == (capture, capture)


class TestOutcome:
    def test_findings_in_another_order_are_the_same(self) -> None:
        """A search's order is no information; a read's is."""
        assert step(bash("grep -r a .", "b\nc")).outcome == step(bash("grep -r a .", "c\nb")).outcome
        assert step(bash("cat a", "b\nc")).outcome != step(bash("cat a", "c\nb")).outcome

    def test_exactly(self) -> None:
        """`exact` tells results apart that differ in volatile tokens alone."""
        one, other = step(bash("x", "in 1s")), step(bash("x", "in 2s"))

        assert one.outcome == other.outcome
        assert one.exact != other.exact


class TestFailed:
    @pytest.mark.parametrize(
        ("act", "failed"),
        [
            (call("x", {}, "fine", failed=True), True),
            (call("x", {}, "Error: bad"), True),
            (replace(call("x", {}, "Error: bad"), failed=False), True),
            (bash("x", "Error: shown by a program", 0), False),
            (bash("x", "fine", 2), True),
            (bash("grep a b", "", 1), False),
            (bash("grep a b", "grep: b: No such file or directory", 2), True),
            (bash("x", "fine", None), False),
            (bash("x", "[exit code: 3]", None), True),
            (bash("x", "bash: syntax error near unexpected token `('", 0), True),
            (read("a.py", "Error: " + numbered("about errors")), False),
            (read("a.py", "Error: no such file"), True),
            (edit("a", "1", "2", "No replacement was performed."), True),
            (call("x", {}), False),
        ],
    )
    def test_from_status_exit_code_and_text(self, act: ToolCall, failed: bool) -> None:
        """A failed span has failed; else the exit code decides where there is one, else the text.

        A search that found nothing exits with 1 and has not failed; a long text that is shown is content.
        """
        assert step(act).failed is failed

    def test_the_class_of_an_error(self) -> None:
        """Two errors of one kind have the same class; a step that did not fail has none."""
        one, other = (step(bash("x", f"line {n}\nKeyError: '{n}'", 1)) for n in range(2))

        assert one.error == other.error is not None
        assert step(bash("x", "fine")).error is None


class TestEmpty:
    @pytest.mark.parametrize(
        ("act", "empty", "zero_length"),
        [
            (bash("grep a b", "", 1), True, True),
            (call("find_user", {}, "[]"), True, False),
            (call("find_user", {}, "No results found"), True, False),
            (call("find_user", {}, "Error: not found", failed=True), False, False),
            (call("find_user", {}), False, False),
            (call("find_user", {}, "anna"), False, False),
        ],
    )
    def test_says_that_there_is_nothing(self, act: ToolCall, empty: bool, zero_length: bool) -> None:
        """An answer of nothing is empty; a failure and an answer that was not recorded are not."""
        found = step(act)

        assert (found.empty, found.zero_length) == (empty, zero_length)


class TestWindow:
    @pytest.mark.parametrize(
        ("arguments", "window"),
        [
            ({}, None),
            ({"offset": 11, "limit": 10}, (11, 20)),
            ({"limit": 10}, (1, 10)),
            ({"offset": 11}, (11, 10**9)),
            ({"start_line": 3, "end_line": 7}, (3, 7)),
            ({"view_range": [3, 7]}, (3, 7)),
            ({"view_range": [3, -1]}, (3, 10**9)),
            ({"line_range": [3, 7]}, (3, 7)),
            ({"range": [3, 7]}, (3, 7)),
            ({"view_range": "37"}, None),
            ({"offset": "11"}, None),
            ({"offset": True}, None),
        ],
    )
    def test_of_a_read(self, arguments: dict[str, object], window: tuple[int, int] | None) -> None:
        """The first and the last line that a read asks for, however its tool names them."""
        assert step(call("read_file", {"path": "a", **arguments}, "x")).window == window

    def test_of_other_calls(self) -> None:
        """`sed -n` names lines, too; a search that has a limit asks for no range."""
        assert step(bash("sed -n '3,7p' a.py", "x")).window == (3, 7)
        assert step(call("web_search", {"query": "a", "limit": 10}, "x")).window is None


class TestResource:
    def test_is_the_file_worked_on(self) -> None:
        """The same file by whatever tool, unless the host names the resource."""
        named = {step(act).resource for act in (read("a.py", "x"), bash("cat ./a.py", "x"), edit("a.py", "1", "2"))}

        assert named == {digest("a.py")}
        assert step(hinted(read("a.py", "x"), resource="r-1")).resource == digest("r-1")
        assert step(bash("pytest -q", "1 passed")).resource is None


class TestWriting:
    @pytest.mark.parametrize(
        ("act", "writing"),
        [
            (write("a.py", "x = 1"), Writing(content=digest("x = 1"))),
            (edit("a.py", "1", "2"), Writing(digest("2"), digest("1"), digest("2"), edit=True)),
            (call("apply_patch", {"patch": "+x"}, "ok"), Writing(content=digest("+x"))),
            (bash("cat > a.py <<EOF\nx = 1\nEOF"), Writing(content=digest("x = 1"))),
            (bash("rm a.py"), Writing(removes=True)),
            (bash("git checkout -- a.py"), Writing(reverts=True)),
            (write("SUMMARY.md", "all"), Writing(content=digest("all"), aside=True)),
            (read("a.py", "x"), Writing()),
        ],
    )
    def test_of_each_way_to_write(self, act: ToolCall, writing: Writing) -> None:
        """The whole content, old and new text of an edit, and whether it only removes, takes back or reports."""
        assert step(act).writing == writing

    @pytest.mark.parametrize(
        ("act", "mutates"),
        [(write("a", "x"), True), (bash("rm a"), True), (bash("python x.py"), False), (call("book_hotel", {}), True)],
    )
    def test_what_changes_something_by_its_nature(self, act: ToolCall, mutates: bool) -> None:
        """Writes, removals and what cannot be undone; of an unknown program nothing is assumed."""
        assert step(act).mutates is mutates


class TestSigns:
    TODO = ({"content": "a", "status": "completed"}, {"content": "b", "status": "done"})

    @pytest.mark.parametrize(
        ("act", "signs"),
        [
            (bash("echo a", "a"), Signs(noop=True)),
            (call("x", {}, "InputValidationError: a"), Signs(malformed=True)),
            (bash("git commit -m x", "1 file changed"), Signs(commits=True)),
            (write("a", "x", "File unchanged"), Signs(unchanged=True)),
            (call("wait_for_job", {}, "still running"), Signs(running=True)),
            (call("job_status", {}, "pending"), Signs(running=True)),
            (call("read_file", {}, "running"), Signs()),
            (call("finish", {}, "it is over"), Signs(done=True)),
            (call("todo_write", {"todos": list(TODO)}, "kept"), Signs(done=True)),
            (call("todo_write", {"todos": [*TODO, {"status": "pending"}]}, "kept"), Signs()),
            (call("todo_write", {"todos": list(TODO[:1])}, "kept"), Signs()),
            (call("x", {}, "ok"), Signs(acknowledged=True)),
        ],
    )
    def test_are_read_once(self, act: ToolCall, signs: Signs) -> None:
        """What a call and its text say beside their contents."""
        assert step(act).signs == signs

    def test_waits(self) -> None:
        """The agent waits where the host says so or a polled job goes on, unless the poll failed."""
        assert step(call("job_status", {}, "running")).waits
        assert step(hinted(call("x", {}, "a"), wait_on="a person")).waits
        assert not step(call("job_status", {}, "running", failed=True)).waits


class TestQuestion:
    def test_words_of_a_search_of_texts(self) -> None:
        """Retrieval tools have trigrams of question and answer, other tools have none."""
        found = step(call("web_search", {"query": "one two three four"}, "five six seven"))

        assert found.asked == {digest("one two three"), digest("two three four")}
        assert found.words == {digest("five six seven")}
        empty = step(call("find_user", {"query": "anna lee"}, "[]"))
        assert empty.query == {digest("anna"), digest("lee")}
        assert step(bash("grep one a.txt", "one two three")).words == frozenset()


class TestWhole:
    def test_a_step_of_a_known_call(self) -> None:
        """All that is kept of one call."""
        found = step(replace(bash("git status", "clean", 0), call_id="id-1", pending=True))

        assert found == Step(
            tool="bash",
            effect=Effect.READ,
            command="bash:git status",
            act=found.act,
            signature=found.signature,
            outcome=digest("clean"),
            exact=digest("clean"),
            arguments=Capture.CAPTURED,
            result=Capture.CAPTURED,
            exit_code=0,
            lines=found.lines,
            pending=True,
            call_id="id-1",
            hints=Hints(),
        )
        assert content("clean") == Content("clean", Capture.CAPTURED)


class TestShellSignature:
    def test_is_that_of_what_runs(self) -> None:
        """Quoting, spacing and a shell around a command make no other call; another word does."""
        same = ["grep -n 'a b' x.py", 'grep  -n "a b" x.py', "bash -lc \"grep -n 'a b' x.py\""]

        assert len({step(bash(command)).signature for command in same}) == 1
        assert step(bash("grep -n 'a c' x.py")).signature != step(bash(same[0])).signature

    def test_takes_in_what_a_command_writes(self) -> None:
        """Two here-documents, and two ends of a long command, are two calls."""
        one, two = (step(bash(f"cat > a.py <<'EOF'\n{text}\nEOF")) for text in ("x = 1", "x = 2"))
        long, longer = (step(bash("echo " + "x" * 4_000 + end)) for end in ("a", "b"))

        assert one.signature != two.signature
        assert long.signature != longer.signature
