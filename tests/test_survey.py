"""What `doctor --milestones` says: whole outputs over one trace, with and without settings."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from otel_stall import StallConfig
from otel_stall.cli import main
from otel_stall.readers import Problems
from otel_stall.report.survey import document, render
from otel_stall.spans import SpanView, from_readable_span
from otel_stall.survey import Survey, survey
from otel_stall.testing import RecordedProvider

FIXTURES = Path(__file__).parent / "fixtures" / "survey"
REGENERATE = os.environ.get("OTEL_STALL_REGENERATE") == "1"
SETTINGS = """
milestones:
  tools:
    irreversible: [file_claim]
    checks: [ci_status]
    never: [exchange_rate]
  commands:
    irreversible: ["./ship"]
    never: ["git commit"]
"""


def agents() -> list[SpanView]:
    """Return the spans of three agents: the first reaches milestones of every kind, the last none."""
    host = RecordedProvider()
    with host.agent("coder", conversation="c-1") as agent:
        for command, code, text in (
            ("pytest -q", 1, "1 failed"),
            ("sed -i s/a/b/ x.py", 0, ""),
            ("git commit -am x", 0, "[main 1a2b3c] x"),
            ("git push", 1, "error: rejected"),
            ("./ship it", 0, "shipped"),
        ):
            result = {"stdout": text, "exit_code": code}
            host.tool("bash", {"command": command}, result, attributes={"process.exit.code": code})
        host.tool("finish", {}, "ok")
        host.tool("bash", {"command": "pytest -q"}, "1 passed", attributes={"process.exit.code": 0})
        agent.add_event("stall.milestone", {"stall.milestone.name": "staging is up"}, host.clock())
    with host.agent("clerk", conversation="c-2"):
        for currency in ("EUR", "USD"):
            host.tool("exchange_rate", {"of": currency}, f"1 {currency}")
        host.tool("ci_status", {}, "2 failed")
        host.tool("mcp__insurer__file_claim", {"id": 7}, "filed")
        host.tool("ci_status", {}, "all passed")
        host.tool("finish", {}, "ok")
    with host.agent("reader", conversation="c-3"):
        host.tool("read_file", {"path": "a"}, "text")
    return [from_readable_span(span) for span in host.spans()]


def surveyed(settings: str, tmp_path: Path) -> Survey:
    path = tmp_path / "stall.yaml"
    path.write_text(settings, encoding="utf-8")
    return survey(agents(), StallConfig.load(path))


class TestReports:
    @pytest.mark.parametrize(("name", "settings"), [("defaults", ""), ("settings", SETTINGS)])
    @pytest.mark.parametrize("form", ["txt", "json"])
    def test_of_three_agents(self, name: str, settings: str, form: str, tmp_path: Path) -> None:
        """The text and the JSON document, whole: milestones by rule, and each act with both its effects."""
        report = (render if form == "txt" else document)(surveyed(settings, tmp_path), Problems())
        path = FIXTURES / f"{name}.{form}"
        if REGENERATE:
            path.parent.mkdir(exist_ok=True)
            path.write_text(report, encoding="utf-8")
        assert report == path.read_text(encoding="utf-8")

    def test_nothing_there(self) -> None:
        """No span is an answer too."""
        assert render(survey([]), Problems()).splitlines()[0] == "0 verified milestones in 0 conversations of 0 steps."

    def test_names_are_safe(self) -> None:
        """No name of a tool or a milestone reaches a terminal as it is."""
        host = RecordedProvider()
        with host.agent("a", conversation="c"):
            host.tool("deploy\x1b[2J", {}, "ok", attributes={"stall.milestone.name": "\x1b[2J\nboo"})
        found = survey(map(from_readable_span, host.spans()))

        assert "\x1b" not in render(found, Problems()) + document(found, Problems())


class TestNumbers:
    def test_what_is_reached_agrees_with_the_acts(self, tmp_path: Path) -> None:
        """Each verified milestone but the events of the host is one of a step."""
        found = surveyed(SETTINGS, tmp_path)

        assert found.verified == sum(act.milestones for act in found.acts) + 1
        assert found.steps == sum(act.steps for act in found.acts)


class TestCommand:
    def test_takes_settings(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """`--config` is looked at beside the built-in rules."""
        host = RecordedProvider()
        with host.agent("a", conversation="c"):
            host.tool("file_claim", {"id": 1}, "filed")
        trace, config = tmp_path / "spans.jsonl", tmp_path / "stall.yaml"
        trace.write_text("".join(span.to_json(indent=None) + "\n" for span in host.spans()), encoding="utf-8")
        config.write_text(SETTINGS, encoding="utf-8")

        status, out, _ = run(capsys, "--milestones", "--format", "json", "--config", str(config), str(trace))

        assert status == 0
        assert json.loads(out)["acts"] == [
            {
                "name": "file_claim",
                "built_in": "other",
                "configured": "irreversible",
                "steps": 1,
                "failed": 0,
                "milestones": 1,
            }
        ]

    def test_settings_go_with_milestones(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Nothing else of doctor depends on them."""
        status, out, err = run(capsys, "--config", "x.yaml", str(tmp_path))

        assert (status, out) == (2, "")
        assert "--config goes with --milestones" in err

    def test_wrong_settings_are_named(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """As for every command."""
        config = tmp_path / "stall.yaml"
        config.write_text("milestones: {tools: {never: ['*']}}", encoding="utf-8")

        status, _, err = run(capsys, "--milestones", "--config", str(config), str(tmp_path))

        assert status == 2
        assert "milestones.tools.never.0" in err


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["doctor", *arguments])
    return (ended.value.code or 0, *capsys.readouterr())
