"""Rules of `outcomes`: what a result says about itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_stall import outcomes


class TestResultText:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ("as it is\n", "as it is\n"),
            (None, ""),
            ({"stdout": "out", "stderr": "err", "exit_code": 1}, "out\nerr"),
            ({"content": "a", "status": "ok"}, "a"),
            ({"content": {"text": "inner"}}, "inner"),
            ({"output": ""}, ""),
            ({"b": 1, "a": [True, None]}, '{\n"a": [\ntrue,\nnull\n],\n"b": 1\n}'),
            ([1, 2], "[\n1,\n2\n]"),
            (3.5, "3.5"),
            ({"content": [1]}, "[\n1\n]"),
        ],
    )
    def test_is_one_text(self, value: object, text: str) -> None:
        """A mapping of the usual text fields is its texts; anything else is JSON with sorted keys."""
        assert outcomes.result_text(value) == text

    def test_values_json_does_not_know(self) -> None:
        """Bytes and a host's own types are shown, never refused."""
        assert outcomes.result_text([b"x"]) == "[\n\"b'x'\"\n]"

    @pytest.mark.parametrize("depth", [100, 5_000])
    def test_deep_values(self, depth: int) -> None:
        """A value of any depth gives some text."""
        nested: object = "end"
        for _ in range(depth):
            nested = {"content": nested}

        assert isinstance(outcomes.result_text(nested), str)


class TestExitCode:
    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("[exit code: 2]", 2),
            ("Exit code 1\noutput", 1),
            ("out\nCommand exited with code 127", 127),
            ("<returncode>0</returncode>\n<output></output>", 0),
            ("returned non-zero exit status 1.", 1),
            ("Process exited with code -9", -9),
            ("the code of conduct", None),
            ("exit code unknown", None),
            ("", None),
            ("exit code 3\n" + "x\n" * 5000, 3),
            ("x\n" * 5000 + "exit code 3", 3),
            ("x\n" * 5000 + "exit code 3\n" + "x\n" * 5000, None),
        ],
    )
    def test_named_at_either_end(self, text: str, code: int | None) -> None:
        """An exit code is read from the beginning or the end of a result."""
        assert outcomes.exit_code_in(text) == code


class TestFailed:
    @pytest.mark.parametrize(
        "text",
        [
            "Error: file is locked",
            "error",
            "ERROR - no such user",
            "ValueError: bad",
            "Traceback (most recent call last):\n  File",
            "fatal: not a git repository",
            "404 Not Found",
            "HTTP 503",
            '{"error": "rate limited"}',
            "<error>boom</error>",
            "Unknown tool: frob",
            "Invalid tool call",
            "Permission denied",
            "cat: a.py: No such file or directory",
            "bash: frob: command not found",
            "some output\ngrep: Unmatched ( or \\(",
            "timed out",
            "InputValidationError: path is required",
        ],
    )
    def test_results_that_read_as_a_failure(self, text: str) -> None:
        """Hosts report failures as results; the text says so."""
        assert outcomes.says_failed(text, writes=False)

    @pytest.mark.parametrize(
        "text",
        ["", "ok", "errors are handled in app.py", "0 errors", "no errors found", "def fail(): ...", "total 12\na.py",
         "The file lists: error handling, tests\nand more\nand more\nand more", "terrorism is no error word"],
    )  # fmt: skip
    def test_results_that_do_not(self, text: str) -> None:
        """Words about errors are no errors."""
        assert not outcomes.says_failed(text, writes=False)

    @pytest.mark.parametrize(
        "text",
        [
            "No replacement was performed, old_str did not appear verbatim in a.py.",
            "String to replace not found in file.",
            "File does not exist.",
            "Hunk #2 FAILED at 10.",
            "File has not been read yet.",
        ],
    )
    def test_a_refused_write_is_a_failure(self, text: str) -> None:
        """A write that says it wrote nothing has failed, whatever its status; of a read it is content."""
        assert outcomes.says_failed(text, writes=True)


class TestErrorLine:
    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("Traceback:\n  File 'a'\nValueError: bad\n", "ValueError: bad"),
            ("cat: a: No such file or directory\nmore text\n---", "cat: a: No such file or directory"),
            ("first\nlast\n\n", "last"),
            ("<output>boom</output>", "boom"),
            ("", ""),
        ],
    )
    def test_is_the_last_that_says_something(self, text: str, line: str) -> None:
        """The last line that names a failure, else the last with a word in it."""
        assert outcomes.error_line(text) == line


class TestPhrases:
    @pytest.mark.parametrize(
        ("text", "refusal", "absent"),
        [
            ("Please include EXACTLY ONE action", True, False),
            ("bash: syntax error near unexpected token `('", True, False),
            ("missing required argument 'path'", True, False),
            ("No such tool: frob", False, True),
            ("Tool frob does not exist", False, True),
            ("the tool is fine", False, False),
        ],
    )
    def test_of_refused_calls(self, text: str, refusal: bool, absent: bool) -> None:
        """A malformed call and a tool that does not exist are told apart."""
        assert (outcomes.is_refusal(text), outcomes.says_absent(text)) == (refusal, absent)

    @pytest.mark.parametrize(
        ("text", "unchanged"),
        [
            ("File unchanged", True),
            ("nothing to commit, working tree clean", True),
            ("Everything up-to-date", True),
            ("Requirement already satisfied: requests", True),
            ("No changes were made", True),
            ("The file has been edited.", False),
            ("", False),
            ("no changes\n" * 500, False),
        ],
    )
    def test_of_writes_that_changed_nothing(self, text: str, unchanged: bool) -> None:
        """A short answer may say that nothing was changed; a long one shows contents."""
        assert outcomes.is_unchanged(text) is unchanged

    @pytest.mark.parametrize(
        ("text", "running"),
        [
            ("status: running", True),
            ("IN_PROGRESS", True),
            ("build still going", True),
            ("queued", True),
            ("finished", False),
            ("overrunning costs", False),
            ("", False),
        ],
    )
    def test_of_jobs_that_go_on(self, text: str, running: bool) -> None:
        """Running, queued and pending jobs go on."""
        assert outcomes.says_running(text) is running

    @pytest.mark.parametrize(
        ("text", "empty"),
        [
            *(
                (text, True)
                for text in ("", "  \n", "[]", "{}", "null", "None", "No matches found", "no results found.")
            ),
            *((text, True) for text in ("No files found", "0 results", "Found 0 matches", "(no output)", "not found")),
            *(
                (text, True)
                for text in ("<output>\n</output>", "No results for 'x y'", "[stdout]\n[stderr]", "(empty)")
            ),
            *((text, False) for text in ("0", "ok", "1 result", "no", "[1]", "nothing here but this", "x" * 500)),
        ],
    )
    def test_of_nothing_found(self, text: str, empty: bool) -> None:
        """No text, an empty list, or the words for nothing."""
        assert outcomes.is_empty(text) is empty

    @pytest.mark.parametrize(
        ("text", "receipt"),
        [("ok", True), ("Done.", True), ("success", True), ("", False), ("ok, 3 rows", False), ("created a.py", False)],
    )
    def test_of_receipts(self, text: str, receipt: bool) -> None:
        """A receipt says that the call arrived, and nothing else."""
        assert outcomes.is_acknowledgement(text) is receipt


class TestNamesOfFiles:
    @pytest.mark.parametrize("text", ["error.log\naccess.log\nmain.log\nold.log", "error-old.txt\na\nb\nc"])
    def test_a_listing_that_begins_with_error_is_no_failure(self, text: str) -> None:
        """A file may be called after an error."""
        assert not outcomes.says_failed(text, writes=False)


class TestUnchangedInAShell:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("On branch main\nnothing to commit, working tree clean", True),
            ("Requirement already satisfied: attrs in /usr/lib", True),
            ("Identical: True\n\n fitsdiff: 5.3\n\nNo differences found.", False),
            ("already satisfied\nInstalling b\nBuilding wheel\nSuccessfully installed b-1.0", False),
        ],
    )
    def test_only_the_last_lines_tell(self, text: str, *, expected: bool) -> None:
        """What a command printed on its way is its output, not the answer to the write."""
        assert outcomes.is_unchanged(text, shell=True) is expected


_PIECES = st.sampled_from(
    [
        *("\n", "\n\n", " ", "a", "_", "...", "<output>", "</stdout>", "[stdout]", "[stderr]", "[1]", "é", "x" * 200),
        *("already satisfied", "alre", "ady", "satisfied", "nothing to commit", "up to date", "is up to date", "error"),
        *("ValueError: x", "command not found", "fatal:", "done", "OK", "\x1c", "\u2028", "0 newly installed"),
    ]
)
_TEXTS = st.lists(_PIECES, max_size=14).map("".join)


def spoken(text: str) -> list[str]:
    """Return the lines of a text that say something, each looked at in full."""
    lines = [outcomes._WRAPPING.sub("", line).strip() for line in text.splitlines()]
    return [line for line in lines if any(character.isalnum() for character in line)]


class TestShortcuts:
    @given(_TEXTS)
    def test_the_last_lines_of_a_shell(self, text: str) -> None:
        """What the whole end of a text does not say, none of its lines says."""
        plainly = any(outcomes._DONE_BEFORE._pattern.search(line) for line in spoken(text[-600:])[-2:])

        assert outcomes.is_unchanged(text, shell=True) is plainly

    @given(_TEXTS)
    def test_the_last_line_of_few(self, text: str) -> None:
        """Reading ends with the line that is one too many."""
        head, lines = text[:400], spoken(text[-600:])
        begins = outcomes._FAILED_HEAD.match(head) or outcomes._REFUSAL.search(head) or outcomes._ABSENT.search(head)
        ends = 0 < len(lines) <= 3 and outcomes._FAILED_LAST.search(lines[-1][:400])

        assert outcomes.says_failed(text, writes=False) is bool(begins or ends)

    @given(st.sampled_from(["", " ", "\n" * 500]), _TEXTS | st.just("ok"), st.sampled_from(["", "\t", " " * 500]))
    def test_a_receipt_with_much_space_around_it(self, before: str, text: str, after: str) -> None:
        """Space around a receipt makes it no other, however much there is."""
        whole = before + text + after

        assert outcomes.is_acknowledgement(whole) is outcomes.is_acknowledgement(whole.strip())
