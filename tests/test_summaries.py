"""Rules of `summaries`: what an agent's span says of its invocation."""

from __future__ import annotations

from dataclasses import replace

from otel_stall.observations import Compaction
from otel_stall.summaries import Summary
from otel_stall.verdicts import Gain, Judged, Kind, Level, Stall, Verdict


def judged(*levels: Level, kind: Kind = Kind.LOOP, counted: bool = True, milestones: int = 0) -> Judged:
    """Return the verdict on a step, inside a stall that reached these levels."""
    stall = Stall(1, kind, 1, 1, 1, tuple((level, 1) for level in levels)) if levels else None
    verdict = Verdict(7, counted, Gain.NONE, "", 0, 7, 7, milestones, 0, 0, stall=stall)
    return Judged("c", "main", "", "", "", "", Compaction(""), verdict)


def summary(*each: Judged) -> Summary:
    found = Summary()
    for one in each:
        found = found.after(one)
    return found


def test_without_a_stall() -> None:
    """Steps of this invocation and the milestones of its lane; nothing was detected."""
    assert summary(judged(), judged(milestones=2)).attributes() == {
        "stall.detected": False,
        "stall.milestone.count": 2,
        "stall.steps": 2,
    }


def test_the_worst_stall_stays() -> None:
    """A stall stays on the span after it ended, and a milder one after it changes neither level nor kind."""
    after = summary(judged(Level.NOTICE, Level.REPLAN), judged(), judged(Level.NOTICE, kind=Kind.AMNESIA))
    assert after == Summary(3, 0, Kind.LOOP, Level.REPLAN)
    assert after.attributes() | {"stall.steps": 3} == {
        "stall.detected": True,
        "stall.milestone.count": 0,
        "stall.steps": 3,
        "stall.kind": "loop",
        "stall.level": "replan",
    }


def test_a_later_one_of_the_same_level() -> None:
    """Of two stalls of one level the later gives the kind, as the kind of one may sharpen while it lasts."""
    assert summary(judged(Level.NOTICE), judged(Level.NOTICE, kind=Kind.AMNESIA)).kind is Kind.AMNESIA


def test_what_is_no_step() -> None:
    """A stall that a compaction opens counts, and is no step."""
    opened = judged(Level.NOTICE, counted=False)
    assert summary(opened, replace(opened)) == Summary(0, 0, Kind.LOOP, Level.NOTICE)
