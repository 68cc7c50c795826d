"""`otel-stall calibrate` and what `analyze` does with its file, from outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from otel_stall.baseline import Baseline
from otel_stall.cli import main


def attribute(key: str, value: str) -> dict[str, object]:
    return {"key": key, "value": {"stringValue": value}}


def span(conversation: int, number: int, name: str, **attributes: str) -> dict[str, object]:
    named = {
        "gen_ai.conversation.id": f"c{conversation}",
        "gen_ai.agent.name": "coder",
        **{key.replace("__", "."): value for key, value in attributes.items()},
    }
    return {
        "traceId": f"{conversation + 1:032x}",
        "spanId": f"{conversation * 1000 + number + 1:016x}",
        "name": name,
        "startTimeUnixNano": str(number * 10**9),
        "endTimeUnixNano": str(number * 10**9 + 1),
        "attributes": [attribute(key, value) for key, value in named.items()],
    }


def conversation(number: int, steps: int, outcome: str = "success", task: str = "") -> str:
    """Return one request: calls that read one file over and over, then what the host says of the run."""
    calls = [
        span(
            number,
            index,
            "execute_tool read_file",
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name="read_file",
            gen_ai__tool__call__arguments='{"path": "a.py"}',
            gen_ai__tool__call__result="x = 1",
        )
        for index in range(steps)
    ]
    told = {"stall__run__outcome": outcome, "stall__task__id": task or f"t{number}"} if outcome else {}
    root = span(number, steps, "the run", **told)
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [*calls, root]}]}]})


def traces(folder: Path, *requests: str) -> str:
    path = folder / "traces.jsonl"
    path.write_text("\n".join(requests) + "\n", encoding="utf-8")
    return str(path)


def status(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def test_from_traces_to_the_level(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Twenty good runs of up to 20 steps set the limit, and a run of 25 goes further up than the default lets it."""
    good, out = [conversation(n, n + 1) for n in range(20)], tmp_path / "baseline.json"
    stuck = traces(tmp_path, conversation(50, 25, outcome=""))

    def level(*options: str) -> str:
        assert status("analyze", "--format", "json", *options, stuck) == 0
        (lane,) = json.loads(capsys.readouterr().out)["conversations"]
        return str(lane["stalls"][0]["level"])

    before = level()
    (tmp_path / "good").mkdir()
    assert status("calibrate", traces(tmp_path / "good", *good), "-o", str(out)) == 0
    told = capsys.readouterr().out

    assert told.splitlines()[:4] == [
        "20 of 20 runs are known to have succeeded.",
        "",
        "agent  task class  successful runs  tasks  limit",
        "coder  (all)                    20     20     20",
    ]
    assert "in 20 of 20 successful runs no milestone was verified" in told
    assert (before, level("--baseline", str(out))) == ("replan", "ask_user")


def test_outcomes_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A CSV says what the spans do not, and rows without a conversation in the traces are told."""
    labels, out = tmp_path / "outcomes.csv", tmp_path / "baseline.json"
    labels.write_text("conversation,outcome,task\nc0,success,a\nc1,success,a\nc9,success,b\n", encoding="utf-8")
    path = traces(tmp_path, *(conversation(n, 40 + n, outcome="") for n in range(3)))

    assert status("calibrate", path, "--outcomes", str(labels), "-o", str(out)) == 0

    (group,) = Baseline.load(out).groups
    assert (group.runs, group.tasks, group.limit, group.provisional) == (2, 1, 41, True)
    told = capsys.readouterr().out
    assert "41 provisional" in told
    assert "1 run without an outcome" in told
    assert "1 labelled conversation not found" in told


def test_without_a_success_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Runs whose outcome nobody knows calibrate nothing, and the command says which words it needs."""
    out = tmp_path / "baseline.json"

    assert status("calibrate", traces(tmp_path, conversation(1, 9, outcome="")), "-o", str(out)) == 1
    assert "no run is known to have succeeded (stall.run.outcome, or --outcomes)" in capsys.readouterr().err
    assert not out.exists()


def test_a_damaged_baseline_stops_the_analysis(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is refused before a span is read, with the name of the setting."""
    wrong = tmp_path / "baseline.json"
    wrong.write_text("{", encoding="utf-8")

    assert status("analyze", "--baseline", str(wrong), traces(tmp_path, conversation(1, 3))) == 2
    assert capsys.readouterr().err == f"otel-stall: wrong setting baseline: {wrong} is damaged: it is no JSON\n"


def test_credit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--credit adds the segments to both reports; against the baseline of the very same run the advantage is 0."""
    path, out = traces(tmp_path, conversation(1, 3)), tmp_path / "baseline.json"
    assert status("calibrate", path, "-o", str(out)) == 0
    capsys.readouterr()

    assert status("analyze", "--credit", "--baseline", str(out), "--format", "json", path) == 0
    (lane,) = json.loads(capsys.readouterr().out)["conversations"]
    assert status("analyze", "--credit", path) == 0
    text = capsys.readouterr().out

    assert lane["credit"] == [{"run": "", "segment": 1, "closed": False, "steps": 3, "return": 0.0, "advantage": 0.0}]
    assert text.split("\n\n")[2] == (
        "Credit of the segments between milestones:\n"
        "  conversation  segment  steps  return  advantage\n"
        "  c1             1 open      3   0.000          -\n"
        "  advantages are told against a baseline: --baseline FILE"
    )
