"""Short runs with a known verdict, re-expressed from published detectors' tests and issue threads, in aggregate."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from acts import content, feed

from otel_stall.calls import Hints, ModelCall, Reading, ToolCall
from otel_stall.monitor import Monitor
from otel_stall.verdicts import Level, Stall

SCENARIOS = json.loads((Path(__file__).parent / "fixtures" / "scenarios.json").read_text(encoding="utf-8"))
HALF = 500_000_000
HINTS = {"state": "state_after", "waiting_on": "wait_on", "milestone": "milestone"}


@dataclass
class Conversation:
    """The readings of one scenario, as a host would have traced it: a model turn before each batch of calls."""

    now: int = 0
    run: int = 0
    user_messages: int = 1
    compacted: bool = False
    repeats: bool = False
    call_id: str = ""
    batch: str = ""
    made: list[Reading] = field(default_factory=list)

    def add(self, record: ToolCall | ModelCall, start: int) -> None:
        self.now += 2 * HALF
        number = len(self.made) + 1
        self.made.append(
            Reading(
                trace_id=f"{self.user_messages:032x}",
                span_id=f"{number:016x}",
                parent_id="",
                name="span",
                start_ns=start,
                end_ns=self.now,
                dialect="scenarios",
                record=record,
                run_id=f"run-{self.run}",
            )
        )

    def turn(self, text: str = "", tokens: int | None = None, *, calls_tools: bool) -> None:
        call = ModelCall(text, calls_tools, self.user_messages, tokens, None, self.compacted)
        self.compacted = False
        self.add(call, self.now)

    def event(self, step: Mapping[str, Any]) -> None:
        """Take in what is no tool call; a nudge by the host is nothing the fold sees."""
        match step["tool"]:
            case "@compaction":
                self.compacted = True
            case "@user" | "@run_boundary":
                self.user_messages += 1
                self.run += step["tool"] == "@run_boundary"
            case "@assistant":
                self.turn(step.get("result") or (step.get("args") or {}).get("text") or "", calls_tools=False)
            case "@stream_retry":
                self.repeats = True

    def call(self, step: Mapping[str, Any]) -> None:
        notes = [note for note in (step.get("note") or "").split(";") if note]
        batch = next((note for note in notes if note.startswith("parallel:")), "")
        together = bool(batch) and batch == self.batch
        if not together and not self.repeats:
            self.turn(tokens=step.get("tokens_in"), calls_tools=False)
        if not self.repeats:
            self.call_id = f"call-{len(self.made)}"
        self.repeats, self.batch = False, batch
        arguments = step.get("args") if step.get("args") is not None else {}
        call = ToolCall(
            step["tool"],
            content(arguments),
            content(step.get("result")),
            True if step.get("is_error") else None,
            exit_code=step.get("exit_code"),
            call_id=self.call_id,
            hints=hints_of(notes),
        )
        self.add(call, self.now - HALF if together else self.now)


def hints_of(notes: list[str]) -> Hints:
    """Return what only a host can know, from a step's note."""
    hints = Hints(infra="infra" in notes)
    for note in notes:
        key, _, value = note.partition(":")
        if key in HINTS:
            hints = replace(hints, **{HINTS[key]: value})  # type: ignore[arg-type]  # these three are texts
        if key == "milestone":
            hints = replace(hints, evidence="observed")
    return hints


def stalls_of(steps: list[Mapping[str, Any]]) -> list[Stall]:
    """Return the stalls of a scenario, as they were last said to be."""
    conversation = Conversation()
    for step in steps:
        (conversation.event if step["tool"].startswith("@") else conversation.call)(step)
    found: dict[int, Stall] = {}
    for judged in feed(Monitor(), conversation.made):
        for stall in (judged.verdict.stall, *(change.stall for change in judged.verdict.changes)):
            if stall is not None:
                found[stall.number] = stall
    return list(found.values())


def judged(*, stalled: bool) -> Iterator[tuple[Mapping[str, Any], list[Stall]]]:
    for scenario in SCENARIOS:
        if scenario["expected"]["stalled"] is stalled:
            yield scenario["expected"], stalls_of(scenario["steps"])


class TestScenarios:
    def test_most_stalls_are_found(self) -> None:
        """At least nine of ten stalled scenarios stall, and eight of ten with the kind that people gave them."""
        found = list(judged(stalled=True))
        hits = sum(bool(stalls) for _, stalls in found)
        kinds = sum(expected["kind"] in [stall.kind for stall in stalls] for expected, stalls in found)

        assert len(found) == 45
        assert hits >= 0.9 * len(found)
        assert kinds >= 0.8 * len(found)

    def test_healthy_agents_are_left_alone(self) -> None:
        """At most two healthy scenarios are pushed to plan anew, or harder."""
        found = list(judged(stalled=False))
        pushed = [stalls for _, stalls in found if any(stall.level is not Level.NOTICE for stall in stalls)]

        assert len(found) == 41
        assert len(pushed) <= 2

    def test_stalls_are_found_in_time(self) -> None:
        """At least nine of ten are found no later than two steps after the step at which people would say so."""
        timed = late = 0
        for scenario in SCENARIOS:
            limit = scenario["expected"].get("by_step") if scenario["expected"]["stalled"] else None
            if limit is None:
                continue
            timed += 1
            calls = sum(not step["tool"].startswith("@") for step in scenario["steps"][:limit])
            detected = [stall.detected_step for stall in stalls_of(scenario["steps"])]
            late += min(detected, default=10**9) > calls + 2

        assert timed
        assert late <= 0.1 * timed
