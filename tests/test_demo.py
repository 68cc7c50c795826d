"""The demo: what a new user sees first."""

from __future__ import annotations

import io
import json
from pathlib import Path

from otel_stall import demo
from otel_stall.demo.script import SCENES
from otel_stall.demo.workspace import Workspace


def _run(folder: Path) -> tuple[str, list[dict[str, object]]]:
    path, stream = folder / "spans.jsonl", io.StringIO()
    assert demo.run(path, pause=0, stream=stream) == 0
    return stream.getvalue(), [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class TestRun:
    def test_shows_each_level_and_both_kinds(self, tmp_path: Path) -> None:
        """The run climbs from notice over replan to ask_user, then shows amnesia, then recovers."""
        shown, _ = _run(tmp_path)

        pushes = [
            line.strip().split("   ")[0] for line in shown.splitlines() if line.strip().startswith(("no_", "amn"))
        ]

        assert pushes[:4] == ["no_gradient: notice", "no_gradient: replan", "no_gradient: ask_user", "amnesia: notice"]
        assert "milestone: git commit" in shown

    def test_says_that_the_input_side_rules_stayed_silent(self, tmp_path: Path) -> None:
        """The point of the demo: rules over calls alone see nothing in it."""
        shown, _ = _run(tmp_path)

        assert "2 stalls, the hardest push was ask_user." in shown
        assert "stayed silent" in shown

    def test_ends_with_the_analysis_of_the_file_it_wrote(self, tmp_path: Path) -> None:
        """The last part is what `otel-stall analyze` prints for the spans just written."""
        shown, requests = _run(tmp_path)

        assert "1 of 1 conversation stalled: 1 amnesia, 1 no_gradient." in shown
        assert len(requests) == 2 * sum(len(scene.calls) for scene in SCENES) + 1

    def test_is_the_same_each_time(self, tmp_path: Path) -> None:
        """Time and answers are simulated, so two runs print the same but for the ids."""
        first, _ = _run(tmp_path)
        second, _ = _run(tmp_path)

        assert first == second

    def test_draws_a_picture_that_loads_nothing(self, tmp_path: Path) -> None:
        """The picture is one SVG file without fonts or images from elsewhere."""
        picture = tmp_path / "demo.svg"
        demo.run(tmp_path / "spans.jsonl", pause=0, picture=picture, stream=io.StringIO())

        drawn = picture.read_text(encoding="utf-8")

        assert drawn.startswith("<svg")
        assert "url(http" not in drawn
        assert "ask_user" in drawn


class TestScript:
    def test_no_call_between_milestone_and_guess_comes_twice(self) -> None:
        """In the stretch without gain every call is another one, so rules over calls have nothing to see."""
        calls = [call for scene in SCENES[1:3] for call in scene.calls]

        assert len({(call.tool, str(call.arguments)) for call in calls}) == len(calls)


class TestWorkspace:
    def test_tests_turn_green_when_the_causes_are_mended(self) -> None:
        """The answers come from the files: rounding and the Swiss rate decide."""
        workspace = Workspace()
        assert workspace.bash("pytest -q") == (
            "FAILED tests/test_invoice.py::test_total_switzerland - assert 10770 == 10810\n"
            "FAILED tests/test_money.py::test_rounds_to_the_nearest_cent - assert 1999 == 2000\n"
            "2 failed, 1 passed",
            1,
        )

        workspace.edit_file("billing/money.py", "int(", "int(round(")
        workspace.edit_file("billing/rates.csv", "CH,7.7", "CH,8.1")

        assert workspace.bash("pytest -q") == ("3 passed", 0)

    def test_an_edit_of_text_that_is_not_there_fails(self) -> None:
        """The edit tool answers as real ones do."""
        answer = Workspace().edit_file("billing/money.py", "absent", "x")

        assert answer == "Error: no replacement was performed, the text does not occur"
