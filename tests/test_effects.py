"""Rules of `effects`: what a tool call could do."""

from __future__ import annotations

import pytest
from acts import bash, call, hinted

from otel_stall.effects import Nature, argument, nature, tool_words
from otel_stall.observations import Effect


class TestToolWords:
    @pytest.mark.parametrize(
        ("tool", "words"),
        [
            ("read_file", ["read", "file"]),
            ("ReadFile", ["read", "file"]),
            ("mcp__github__create_pr", ["create", "pr"]),
            ("server.search-web", ["search", "web"]),
            ("fs/listFiles2", ["list", "files2"]),
            ("", []),
            ("...", []),
        ],
    )
    def test_are_those_of_its_own_name(self, tool: str, words: list[str]) -> None:
        """Servers and namespaces in front do not count; camel case and separators part words."""
        assert tool_words(tool) == words


class TestEffectOfTools:
    @pytest.mark.parametrize(
        ("tool", "effect"),
        [
            ("read_file", Effect.READ),
            ("Read", Effect.READ),
            ("list_directory", Effect.READ),
            ("get_user_details", Effect.READ),
            ("grep", Effect.SEARCH),
            ("Glob", Effect.SEARCH),
            ("web_search", Effect.SEARCH),
            ("find_flights", Effect.SEARCH),
            ("write_file", Effect.WRITE),
            ("apply_patch", Effect.WRITE),
            ("MultiEdit", Effect.WRITE),
            ("update_reservation", Effect.WRITE),
            ("book_reservation", Effect.IRREVERSIBLE),
            ("cancel_order", Effect.IRREVERSIBLE),
            ("send_email", Effect.MESSAGE),
            ("post_comment", Effect.MESSAGE),
            ("wait_for_job", Effect.WAIT),
            ("sleep", Effect.WAIT),
            ("TodoWrite", Effect.NOTE),
            ("update_plan", Effect.NOTE),
            ("think", Effect.THINK),
            ("sequentialthinking", Effect.THINK),
            ("run_tests", Effect.CHECK),
            ("get_diagnostics", Effect.CHECK),
            ("finish", Effect.OTHER),
            ("submit", Effect.OTHER),
            ("frobnicate", Effect.OTHER),
            ("", Effect.OTHER),
        ],
    )
    def test_by_name(self, tool: str, effect: Effect) -> None:
        """Whole names come before verbs; a name that says nothing is `other`."""
        assert nature(call(tool, {})).effect is effect

    @pytest.mark.parametrize(
        ("verb", "effect"),
        [("view", Effect.READ), ("create", Effect.WRITE), ("str_replace", Effect.WRITE), ("insert", Effect.WRITE)],
    )
    def test_editors_name_their_verb_in_the_arguments(self, verb: str, effect: Effect) -> None:
        """One editor tool reads and writes; its `command` says which."""
        assert nature(call("editor", {"command": verb, "path": "a.py"})).effect is effect

    def test_the_host_knows_best(self) -> None:
        """`stall.effect` comes before every name; an unknown one counts as not said."""
        assert nature(hinted(call("read_file", {}), effect="write")).effect is Effect.WRITE
        assert nature(hinted(bash("ls"), effect="irreversible")).effect is Effect.IRREVERSIBLE
        assert nature(hinted(call("read_file", {}), effect="nonsense")).effect is Effect.READ


class TestShellTools:
    @pytest.mark.parametrize(
        ("tool", "arguments"),
        [
            ("bash", {"command": "pytest -q"}),
            ("Bash", {"command": "pytest -q", "description": "Run it"}),
            ("execute_bash", {"cmd": "pytest -q"}),
            ("shell", {"command": ["bash", "-lc", "pytest -q"]}),
            ("run_terminal_cmd", '{"command": "x"}; pytest -q'),
            ("terminal", "pytest -q"),
        ],
    )
    def test_do_what_their_command_does(self, tool: str, arguments: object) -> None:
        """A shell's effect is that of the command, however the arguments carry it."""
        found = nature(call(tool, arguments))

        assert found.effect is Effect.CHECK
        assert found.shell is not None

    def test_an_empty_command_does_nothing(self) -> None:
        """A shell called with an empty command is a no-op."""
        shell = nature(call("bash", {"command": ""})).shell

        assert shell is not None
        assert shell.noop

    def test_a_restart_is_no_command(self) -> None:
        """The restart of a shell is not an empty command."""
        assert nature(call("bash", {"restart": True})).shell is None

    def test_output_of_a_background_job_is_polled(self) -> None:
        """A tool that shows what a job says polls it."""
        found = nature(call("bash_output", {"bash_id": "1"}))

        assert found.polls
        assert found.shell is None


class TestTraits:
    @pytest.mark.parametrize(
        ("tool", "retrieval"),
        [
            ("web_search", True),
            ("search", True),
            ("retrieve_documents", True),
            ("search_files", False),
            ("grep_search", False),
            ("codebase_search", False),
            ("search_docs_content", False),
            ("read_file", False),
        ],
    )
    def test_searches_of_texts_can_be_thin(self, tool: str, retrieval: bool) -> None:
        """Web and retrieval tools, never those that search files or code."""
        assert nature(call(tool, {"query": "x"})).retrieval is retrieval

    @pytest.mark.parametrize(
        ("path", "effect", "aside"),
        [
            ("src/app.py", Effect.WRITE, False),
            ("NOTES.md", Effect.NOTE, False),
            ("docs/PROGRESS.txt", Effect.NOTE, False),
            ("todo.py", Effect.WRITE, False),
            ("FINAL_SUMMARY.md", Effect.WRITE, True),
            ("demo-page.html", Effect.WRITE, True),
            ("summaries.py", Effect.WRITE, False),
            ("C:\\work\\plan.md", Effect.NOTE, False),
        ],
    )
    def test_files_beside_the_work(self, path: str, effect: Effect, aside: bool) -> None:
        """Notes to oneself are notes; reports, demos and summaries are written aside."""
        assert nature(call("write_file", {"path": path, "content": "x"})) == Nature(effect, path=path, aside=aside)

    def test_saying_done(self) -> None:
        """`finish` declares; `test` does not."""
        assert nature(call("attempt_completion", {})).declares_done
        assert not nature(call("test", {})).declares_done


class TestArgument:
    def test_is_the_first_text_of_these_keys(self) -> None:
        """Keys are tried in order; what is no text or is empty is passed over; lists of texts are joined."""
        arguments = {"a": "", "b": 3, "c": ["x", "y"], "d": "z"}

        assert argument(arguments, ("a", "b", "c", "d")) == "x y"
        assert argument(arguments, ("d", "c")) == "z"
        assert argument(arguments, ("a", "b")) == ""

    def test_a_bare_text_is_the_argument_where_asked_for(self) -> None:
        """Arguments that are one text answer to "?" alone."""
        assert argument("pytest", ("command", "?")) == "pytest"
        assert argument("pytest", ("command",)) == ""
        assert argument(None, ("command", "?")) == ""
