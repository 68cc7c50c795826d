"""The code of docs/pressure.md that needs no framework, and that of the decision on acting, run as they stand."""

from __future__ import annotations

import json
import re
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from acts import numbered

from otel_stall import StallConfig, StallSpanProcessor
from otel_stall.analysis import analyze
from otel_stall.pressure import OURS, Abandonment, Ladder
from otel_stall.readers.problems import Problems
from otel_stall.report.json import document
from otel_stall.spans import from_readable_span
from otel_stall.testing import RecordedProvider

DOCS = Path(__file__).parents[2] / "docs"


def block(page: str, holding: str) -> str:
    """Return the Python block of a page that holds a text."""
    blocks = re.findall(r"```python\n(.*?)\n *```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    (found,) = [one for one in blocks if holding in one]
    first = next(line for line in found.splitlines() if line)
    indent = len(first) - len(first.lstrip())
    return "\n".join(line[indent:] for line in found.splitlines())


class Host:
    """A host that has no framework: an agent that reads one file over and over."""

    def __init__(self, acts: list[str], answer: str) -> None:
        self.processor = StallSpanProcessor(StallConfig.create({"detection": {"distance_limit": 10}}))
        self.recorded = RecordedProvider(self.processor)
        self.kept: list[Abandonment] = []
        self.ladder = Ladder(acts, source=self.processor, on_abandon=self.kept.append)
        self.shown: list[str] = []
        self.asked: list[str] = []
        self._answer = answer
        self._numbers = count(1)

    def ask_model(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        self.shown.append(messages[-1]["content"])
        if len(self.shown) > 60:
            return {"role": "assistant", "content": "done"}
        call = {"id": f"call-{next(self._numbers)}"}
        return {"role": "assistant", "content": "", "tool_calls": [call]}

    def call_tool(self, call: dict[str, Any]) -> str:
        self.recorded.tool("read_file", {"path": "a.py"}, numbered("a", count=5))
        return numbered("a", count=5)

    def ask_person(self, text: str) -> str:
        self.asked.append(text)
        return self._answer

    def run(self) -> Any:
        names: dict[str, Any] = {}
        exec(compile(block("pressure.md", "def run("), "pressure.md", "exec"), names)
        with self.recorded.agent("coder", conversation="c-1"):
            return names["run"](
                "fix the test",
                "c-1",
                self.ladder,
                ask_model=self.ask_model,
                call_tool=self.call_tool,
                ask_person=self.ask_person,
            )

    def lines(self) -> list[int]:
        """Return after how many calls the counter was shown."""
        return [calls for calls, text in enumerate(self.shown) if OURS in text]


class TestThirtyLines:
    def test_it_is_thirty_lines(self) -> None:
        """As the heading says."""
        assert len([line for line in block("pressure.md", "def run(").splitlines() if line]) <= 30

    def test_presses_step_by_step(self) -> None:
        """Counter at every turn, one plan, one question, given up with a record."""
        host = Host(["notice", "replan", "ask_user", "abandon"], "go on")
        ended = host.run()

        assert ended is host.kept[0]
        assert [list(dict(ended.actions)), len(host.asked)] == [["replan", "ask_user"], 1]
        assert host.lines()[0] < host.lines()[-1] == len(host.shown) - 1
        assert sum("write a new plan" in text for text in host.shown) == 1

    def test_a_person_stops_it(self) -> None:
        """The answer ends the run; the record is there."""
        host = Host(["ask_user"], "stop")
        assert host.run() is host.kept[0]

    def test_observing_changes_nothing(self) -> None:
        """The model sees what it would see."""
        host = Host([], "")
        assert host.run() == "done"
        assert host.lines() == []
        assert (host.kept, host.asked) == ([], [])


def test_what_would_have_fired(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The snippet of the decision counts levels, the runs that helped themselves, and the steps after."""
    host = Host([], "")
    host.run()
    found = analyze(from_readable_span(span) for span in host.recorded.spans())
    (tmp_path / "found.json").write_text(json.dumps(document(found, Problems())), encoding="utf-8")
    code = block("decisions/0008-nothing-acts-by-default.md", "fired").replace("found.json", f"{tmp_path}/found.json")

    exec(compile(code, "0008", "exec"), {})

    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("notice: 1 times, 0 reached a milestone later, ")
    assert [line.partition(":")[0] for line in said] == ["notice", "replan", "ask_user", "abandon"]
