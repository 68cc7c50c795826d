"""Runs of a lane, from readings and verdicts."""

from __future__ import annotations

from dataclasses import replace

from acts import SECOND, Act, Named, feed, green, read, readings, red, write

from otel_stall.analysis import analyze
from otel_stall.monitor import Monitor
from otel_stall.runs import Run, RunCount
from otel_stall.spans import SpanView


def span(number: int, name: str = "tool", **attributes: object) -> SpanView:
    called = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "read_file",
        "gen_ai.tool.call.arguments": f'{{"path": "{number}.py"}}',
        "gen_ai.tool.call.result": f"line {number} of it",
    }
    given = {"gen_ai.conversation.id": "c", **({} if name == "root" else called)}
    return SpanView(
        trace_id=f"{1:032x}",
        span_id=f"{number:016x}",
        parent_id="",
        name=name,
        start_ns=number * SECOND,
        end_ns=number * SECOND + 1,
        attributes={**given, **{key.replace("_", ".", 2): value for key, value in attributes.items()}},
    )


def found(*views: SpanView) -> list[Run]:
    return [run for lane in analyze(views).conversations for run in lane.runs]


def test_a_run_lasts_until_its_id_changes() -> None:
    """Distances start anew with each run; what a span says of a run holds for that run alone."""
    views = [span(n, stall_run_id="first") for n in (1, 2, 3)] + [span(n, stall_run_id="second") for n in (4, 5)]
    root = span(9, "root", stall_run_id="first", stall_run_outcome="success", stall_task_id="t", stall_task_class="k")

    assert found(*views, root) == [
        Run("c", "main", "", "first", "success", "t", "k", steps=3, distance=3, tail=3),
        Run("c", "main", "", "second", steps=2, distance=2, tail=2),
    ]


def test_what_is_said_without_a_run_holds_for_all() -> None:
    """A root that names no run speaks for every run that nothing else was said of."""
    views = [span(1, stall_run_id="first", stall_run_outcome="failure"), span(2, stall_run_id="second")]

    runs = found(*views, span(9, "root", stall_run_outcome="success", stall_task_id="t"))

    assert [(run.outcome, run.task_id) for run in runs] == [("failure", "t"), ("success", "t")]


def test_a_run_without_id_takes_what_any_span_says() -> None:
    """Where steps carry no run id, a root's word counts even if the root carries one."""
    runs = found(span(1), span(2), span(9, "root", stall_run_id="x", stall_run_outcome="success"))

    assert [(run.run_id, run.outcome, run.steps) for run in runs] == [("", "success", 2)]


def test_verified_milestones_close_segments() -> None:
    """A check that turns green after a change closes a segment; what comes after is the tail."""
    run = RunCount()
    acts: list[Act] = [
        red(),
        write("a.py", "x = 1"),
        green(),
        read("b.py", "y = 2"),
        Named("shipped"),
        read("c.py", "z = 3"),
    ]

    for judged in feed(Monitor(), readings(acts)):
        run.take(judged)

    assert run == RunCount(steps=5, distance=2, segments=[3, 1], tail=1)


def test_a_stall_that_a_new_run_ends_is_of_the_run_before() -> None:
    """The verdict on a run boundary still shows the distance of the run it ends, and counts in no new run."""
    stuck = [span(n, stall_run_id="first") for n in range(1, 3)]
    same = [replace(stuck[0], span_id=f"{n:016x}", start_ns=n * SECOND, end_ns=n * SECOND + 1) for n in range(3, 12)]
    new = span(20, stall_run_id="second")

    assert [(run.run_id, run.distance) for run in found(*stuck, *same, new)] == [("first", 11), ("second", 1)]
