"""What `doctor` says of recorded and of built traces: whole outputs, and the rules behind the numbers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from otel_stall.calls import Capture
from otel_stall.cli import main
from otel_stall.doctor import Ability, Advice, Calls, Double, Examination, LeftOut, examine
from otel_stall.passed_over import Kind, Sort, sort_of
from otel_stall.readers import Problems, read_paths
from otel_stall.report.doctor import document, render
from otel_stall.spans import SpanView
from otel_stall.testing import tool_view

FIXTURES = Path(__file__).parent / "fixtures"
REGENERATE = os.environ.get("OTEL_STALL_REGENERATE") == "1"
RUNS = (
    "agent-framework.default",
    "autogen.openinference",
    "google-adk.v2",
    "google-adk.v2_content.compaction",
    "langchain.both.raising_tool",
    "langchain.openinference",
    "mcp.stdio.openllmetry_mcp1",
    "openai-agents.openllmetry.needs_approval",
)


def examined(run: str) -> tuple[Examination, Problems]:
    problems = Problems()
    return examine(read_paths([str(FIXTURES / "dialects" / f"{run}.json")], problems=problems)), problems


def span(name: str, attributes: Mapping[str, object], *, number: int = 1, scope: str = "host") -> SpanView:
    return replace(tool_view("t", number=number), name=name, attributes=attributes, scope=scope)


class TestReports:
    @pytest.mark.parametrize("run", RUNS)
    @pytest.mark.parametrize("form", ["txt", "json"])
    def test_of_recorded_runs(self, run: str, form: str) -> None:
        """The text and the JSON document of each run, whole."""
        report = (render if form == "txt" else document)(*examined(run))
        path = FIXTURES / "doctor" / f"{run}.{form}"
        if REGENERATE:
            path.write_text(report, encoding="utf-8")
        assert report == path.read_text(encoding="utf-8")

    def test_nothing_there(self) -> None:
        """No span is an answer too."""
        assert render(examine([]), Problems()) == (
            "otel-stall cannot judge these traces: no tool call was found in 0 conversations of 0 spans.\n"
            "There is not one span.\n"
            "\n"
            "Beside the calls:\n"
            "  model turns     none: no tokens, no turns of the user, no repeated answers\n"
            "  compactions     no signal: amnesia cannot be told; a host can set stall.compaction\n"
        )

    def test_models_without_tools(self) -> None:
        """Where only the model is traced, the answer says what to add."""
        chat = span("chat m", {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"})
        assert render(examine([chat]), Problems()).splitlines()[:2] == [
            "otel-stall cannot judge these traces: no tool call was found in 1 conversation of 1 span.",
            "The models are traced and the tools are not: add an instrumentation of the agent framework.",
        ]

    def test_names_are_safe(self) -> None:
        """No name of scope, span or attribute reaches a terminal as it is."""
        evil = "\x1b[2J\nboo"
        views = [
            replace(tool_view("t", number=1), scope=evil),
            span(evil + " tool", {"gen_ai." + evil: 1}, number=2, scope=evil),
            span("step", {"openinference.span.kind": evil}, number=3, scope=evil),
        ]
        text = render(examine(views), Problems())
        assert "\x1b" not in text
        assert [line for line in text.splitlines() if line.startswith("boo")] == []
        assert "\x1b" not in document(examine(views), Problems())


class TestNumbers:
    def test_a_call_is_counted_with_what_it_has(self) -> None:
        """Arguments, results, exit codes of commands, ids, conversation and agent, each by itself."""
        named = {"gen_ai.conversation.id": "c", "gen_ai.agent.name": "coder", "gen_ai.tool.call.id": "1"}
        views = [
            tool_view("bash", {"command": "make all"}, '{"exit_code": 0, "stdout": "a"}', number=1, attributes=named),
            tool_view("read_file", {"path": "a"}, "text", number=2),
            tool_view("read_file", {"path": "b"}, number=3, attributes={"error.type": "OSError"}),
            tool_view("bash", {"command": "make"}, number=4),
        ]
        assert examine(views).calls == Calls(
            calls=4,
            tools=2,
            arguments=4,
            results=3,
            failures=1,
            call_ids=1,
            named=4,
            agents=1,
            commands=2,
            exit_codes=1,
        )

    @pytest.mark.parametrize(
        ("with_content", "without", "ability"),
        [(9, 1, Ability.YES), (8, 2, Ability.IN_PART), (0, 3, Ability.NO), (0, 0, Ability.NO)],
    )
    def test_nine_of_ten_are_enough(self, with_content: int, without: int, ability: Ability) -> None:
        """Traces can be judged where nine calls of ten have arguments and results, in part where any has."""
        views = [tool_view("t", {"n": n}, f"r{n}", number=n + 1) for n in range(with_content)]
        views += [tool_view("t", number=100 + n) for n in range(without)]
        assert examine(views).ability is ability

    def test_a_failure_alone_is_no_content(self) -> None:
        """Calls of which nothing but failures is known cannot be judged."""
        views = [tool_view("t", number=n, attributes={"error.type": "E"}) for n in (1, 2)]
        assert examine(views).ability is Ability.NO

    def test_advice_is_for_each_instrumentation_and_reason(self) -> None:
        """What is missing names its scope, how many calls lack it, why, and the switch."""
        redacted = tool_view("t", {"a": 1}, "__REDACTED__", number=1)
        cut = tool_view("t", '{"path": "xxxx', "done so far", number=2)
        views = [replace(view, scope="pydantic-ai") for view in (redacted, cut)]
        switch = "InstrumentationSettings(include_content=True)"
        assert examine(views).advice == (
            Advice("pydantic-ai", "arguments", 1, 2, Capture.TRUNCATED, switch),
            Advice("pydantic-ai", "results", 1, 2, Capture.REDACTED, switch),
            Advice("pydantic-ai", "conversation", 2, 2, Capture.ABSENT, "agent.run(..., conversation_id=...)"),
        )
        assert "LENGTH_LIMIT" in render(examine(views), Problems())

    def test_a_call_that_its_double_completes_lacks_nothing(self) -> None:
        """Of two spans of a call one may have no content."""
        found = examined("autogen.openinference")[0]
        outer, inner = "openinference.instrumentation.autogen_agentchat", "autogen-core"
        assert found.doubles == (Double(outer, inner, 4),)
        assert {advice.missing for advice in found.advice} == {"conversation"}

    def test_a_span_counts_once(self) -> None:
        """A span that was delivered twice is one."""
        view = tool_view("t", {"a": 1}, "r")
        assert examine([view, view]) == examine([view])

    def test_incomplete_and_unsampled_traces_are_told(self) -> None:
        """Spans that were not sampled, parents that are missing and verdicts that are there already."""
        views = [
            replace(tool_view("t", {"a": 1}, "r", number=1), sampled=False),
            replace(tool_view("t", {"a": 2}, "r", number=2), parent_id="ff", attributes={"stall.step": 1}),
        ]
        found = examine(views)
        assert (found.unsampled, found.headless, found.judged, found.traces) == (1, 1, 1, 1)


class TestPassedOver:
    @pytest.mark.parametrize(
        ("view", "sort"),
        [
            (
                span("tool failure", {"crewai.event_name": "e"}),
                Sort(Kind.AGAIN, "says again that a call failed", "crewai-echo"),
            ),
            (
                span("execute_tool", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "(merged tools)"}),
                Sort(Kind.AGAIN, "several calls in one span; each has one of its own", "genai"),
            ),
            (
                span("x", {"gen_ai.operation.name": "invoke_workflow"}),
                Sort(Kind.OTHER_WORK, "gen_ai.operation.name is invoke_workflow", "genai"),
            ),
            (
                span("x", {"openinference.span.kind": "CHAIN"}),
                Sort(Kind.OTHER_WORK, "openinference.span.kind is CHAIN"),
            ),
            (
                span("ai.toolCall", {f"ai.{n}": n for n in "abcdef"}),
                Sort(Kind.UNKNOWN, "says of itself only ai.a, ai.b, ai.c, ai.d and 2 more"),
            ),
            (span("run tool bash", {}), Sort(Kind.UNKNOWN, "its name alone looks like it")),
            (span("GET /tool", {"http.request.method": "GET"}), None),
            (span("SELECT", {"db.system": "x"}), None),
        ],
    )
    def test_why_a_span_is_none(self, view: SpanView, sort: Sort | None) -> None:
        """Another span says it, it is other work, nobody knows it, or it has nothing to do with agents."""
        assert sort_of(view) == sort

    def test_they_are_counted_by_sort_with_three_examples(self) -> None:
        """Most first; names are examples only."""
        views = [span(f"tool {n}", {"ai.x": n}, number=n) for n in range(1, 6)]
        sort = Sort(Kind.UNKNOWN, "says of itself only ai.x")
        assert examine(views).left_out == (LeftOut("host", sort, 5, ("tool 1", "tool 2", "tool 3")),)

    def test_sorts_are_bounded(self) -> None:
        """A host that puts ids into names fills no memory."""
        views = [span(f"n{n}", {f"ai.{n}": n}, number=n) for n in range(1, 1_200)]
        assert len(examine(views).left_out) == 1_000


def test_the_document_is_json() -> None:
    """Numbers under the names of the examination; the schema's version first."""
    found, problems = examined("google-adk.v2")
    loaded = json.loads(document(found, problems))
    assert next(iter(loaded)) == "schema"
    assert loaded["scopes"][0]["arguments"] == {"absent": 3}


class TestCommand:
    def run(self, capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["doctor", *map(str, arguments)])
        return int(ended.value.code or 0), *capsys.readouterr()

    def test_prints_the_report(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The report goes to standard output and nothing else; that contents are missing is no failure."""
        run = FIXTURES / "dialects" / "google-adk.v2.json"
        expected = FIXTURES / "doctor" / "google-adk.v2"
        assert self.run(capsys, run) == (0, expected.with_suffix(".v2.txt").read_text(encoding="utf-8"), "")
        status, out, err = self.run(capsys, "--format", "json", run)
        assert (status, out, err) == (0, expected.with_suffix(".v2.json").read_text(encoding="utf-8"), "")

    def test_what_cannot_be_read_is_told(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A file that is no trace is a problem in the report and on standard error; with nothing else, status 1."""
        path = tmp_path / "notes.txt"
        path.write_text("no trace\n", encoding="utf-8")
        status, out, err = self.run(capsys, path)
        assert status == 1
        assert "Problems:\n  " in out
        assert err.endswith("otel-stall: nothing could be read\n")
