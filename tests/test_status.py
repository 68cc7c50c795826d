"""Rules of `status`: where a lane stands, for whoever asks."""

from __future__ import annotations

import json
from collections.abc import Iterable

from acts import Act, Named, NewRun, bash, edit, feed, green, numbered, read, readings, red

from otel_stall.monitor import Monitor
from otel_stall.observations import Effect
from otel_stall.reasons import Reason
from otel_stall.status import Status
from otel_stall.verdicts import Evidence, Level

FIXED: list[Act] = [red(), edit("a.py", "1", "2"), green()]
LOOKS: list[Act] = [read("a.py", numbered("a")), *[read("a.py", numbered("a"))] * 20]


def status(acts: Iterable[Act]) -> Status:
    monitor = Monitor()
    feed(monitor, readings(acts, trace=7))
    (found,) = monitor.status("c")
    return found


def test_the_milestones_of_a_run_with_fingerprint_and_trace() -> None:
    """What was reached can be returned to: step, evidence, the outcome's fingerprint, the trace."""
    found = status([*FIXED, Named("invoice 17 sent", "irreversible")]).milestones

    assert [(one.step, one.evidence, one.stands, one.trace_id) for one in found] == [
        (3, Evidence.OBSERVED, True, f"{7:032x}"),
        (3, Evidence.IRREVERSIBLE, True, f"{7:032x}"),
    ]
    assert [one.fingerprint is None for one in found] == [False, True]


def test_a_milestone_is_lost_while_its_check_is_red() -> None:
    """A check that turned green and is red again stands no longer; green again, it stands again."""
    (lost,) = status([*FIXED, edit("a.py", "2", "3"), red()]).milestones
    assert (lost.stands, lost.lost_at) == (False, 5)

    (other,) = status([*FIXED, edit("a.py", "2", "3"), red(command="ruff check")]).milestones
    assert other.stands

    again = status([*FIXED, edit("a.py", "2", "3"), red(), edit("a.py", "3", "4"), green(text="4 passed again")])
    assert again.milestones[0].stands


def test_a_declared_milestone_never_stands() -> None:
    """What the model says is recorded, and not what a host returns to."""
    (declared,) = status([Named("part one", "declared")]).milestones
    assert not declared.stands


def test_a_new_run_has_no_milestones() -> None:
    """Milestones are those of the run."""
    assert status([*FIXED, NewRun(), bash("ls", "a")]).milestones == ()


def test_what_was_tried_inside_a_stall() -> None:
    """By effect and by reason with counts; nothing of it outside a stall."""
    inside = status(LOOKS)

    assert inside.stall is not None
    assert inside.pressing is inside.stall.level is Level.REPLAN
    assert inside.tried == ((Effect.READ, 20),)
    assert inside.fruitless == ((Reason.LONG_REREAD_UNCHANGED, 20),)
    assert (status(FIXED).tried, status(FIXED).fruitless) == ((), ())
    assert status(FIXED).changed_step == 2


def test_a_relapse_presses_anew_while_the_stall_keeps_its_level() -> None:
    """The stall resumes its level; what the counters speak for now is less."""
    greps = [bash(f"grep -n {'x' * number} a.py", "a line 3 of the file") for number in range(1, 14)]
    relapse = status([read("a.py", numbered("a")), *greps, Named("part one"), *greps[7:]])

    assert relapse.stall is not None
    assert (relapse.stall.number, relapse.stall.level, relapse.pressing) == (1, Level.REPLAN, Level.NOTICE)


def test_a_state_saved_before_it_knew_this_is_read() -> None:
    """A snapshot without the newer fields loads; what it does not hold is empty."""
    monitor = Monitor()
    feed(monitor, readings([*FIXED, *LOOKS]))
    state = json.loads(monitor.snapshot())
    lane = state["lanes"][0][2]
    del lane["open"]["pressing"]
    for entry in lane["recent"]:
        del entry["effect"]
    for one in lane["reached"]:
        for name in ("fingerprint", "trace_id", "check", "lost_at"):
            del one[name]
    old = Monitor()
    old.restore(json.dumps(state))

    (found,) = old.status("c")
    assert found.pressing is Level.NOTICE
    assert {effect for effect, _ in found.tried} == {Effect.OTHER}
    assert [(one.step, one.trace_id) for one in found.milestones] == [(3, "")]


def test_the_document_is_plain_json() -> None:
    """Any reader of JSON reads it."""
    document = json.loads(json.dumps(status([*FIXED, *LOOKS]).document()))

    assert document["milestones"] == [
        {
            "step": 3,
            "name": "pytest",
            "evidence": "observed",
            "verified": True,
            "stands": True,
            "trace_id": f"{7:032x}",
        }
    ]
    assert document["stall"]["level"] == "replan"
