"""Recorded runs and the stalls that readers marked in them, read from files and judged in process.

A run is one JSON object a line, {run_id, outcome, label_detail: {task}, steps: [{tool, args, result, exit_code,
is_error, tokens_in}]}; a folder holds <source>.jsonl or <source>.jsonl.gz. Labels are one object a line,
{source, run_id, readers: [{stalls: [{first, last, notice, kind, confidence}]}]}.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otel_stall import dialects
from otel_stall.calls import Reading
from otel_stall.config import StallConfig
from otel_stall.monitor import Monitor
from otel_stall.observations import Observation, Step
from otel_stall.spans import SpanView, Status
from otel_stall.steps import observation
from otel_stall.verdicts import Level, Stall

__all__ = ["Alarm", "Judgement", "Mark", "Run", "Seen", "judge", "read_marks", "read_runs"]

_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Alarm:
    """An interval of steps that a rule calls stalled, and the step at which it says so; from 1, bounds included."""

    first: int
    detected: int
    last: int


@dataclass(frozen=True, slots=True)
class Mark:
    """An interval that a reader calls stalled; `notice` is the step at which a supervisor should be told."""

    first: int
    last: int
    notice: int
    sure: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """One step as rules over calls and results see it."""

    tool: str
    raw: str
    sorted: str
    result: str
    failed: bool
    looks: bool
    mutates: bool


@dataclass(frozen=True, slots=True)
class Run:
    """One recorded run, read once: as readings with their observations, and as rules over calls see it."""

    source: str
    run_id: str
    task: str
    outcome: str
    readings: Sequence[tuple[Reading, Observation | None]]
    seen: Sequence[Seen]

    @property
    def key(self) -> tuple[str, str]:
        """Source and id, as labels name a run."""
        return self.source, self.run_id


@dataclass(frozen=True, slots=True)
class Judgement:
    """What otel-stall says of a run: stalls, the first step of each level, the largest value of each counter."""

    stalls: tuple[Stall, ...]
    levels: Mapping[Level, int]
    distance: int
    before_milestone: int
    dry: int
    waste: float

    @property
    def alarms(self) -> list[Alarm]:
        """The stalls as intervals."""
        return [Alarm(stall.first_step, stall.detected_step, stall.last_step) for stall in self.stalls]


def read_runs(folder: Path, only: Container[tuple[str, str]] | None = None) -> Iterator[Run]:
    """Yield the runs of every source in a folder that have steps, or `only` those named by source and id."""
    for path in sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")]):
        source = path.name.split(".jsonl")[0]
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for line in filter(str.strip, data.decode("utf-8").split("\n")):
            item = json.loads(line)
            if item["steps"] and (only is None or (source, str(item["run_id"])) in only):
                yield _run(source, item)


def read_marks(path: Path) -> dict[tuple[str, str], list[Mark]]:
    """Return the marks of all readers by source and run."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        stalls = [stall for reader in item["readers"] for stall in reader["stalls"]]
        found[item["source"], str(item["run_id"])] = [
            Mark(one["first"], one["last"], one["notice"], one["confidence"] != "low") for one in stalls
        ]
    return found


def judge(run: Run, config: StallConfig) -> Judgement:
    """Return what otel-stall says of a run, as it would have said it live."""
    monitor, stalls, levels = Monitor(config), dict[int, Stall](), dict[Level, int]()
    distance = dry = before = 0
    waste = 0.0
    for reading, observed in run.readings:
        for judged in monitor.judge(reading, observed, run.run_id, "main", "agent"):
            verdict = judged.verdict
            for stall in (*(c.stall for c in verdict.changes), verdict.stall):
                if stall is not None:
                    stalls[stall.number] = stall
            distance, dry = max(distance, verdict.steps_since_milestone), max(dry, verdict.steps_since_gain)
            before = before if verdict.milestone_count else verdict.step
        lane = monitor.lanes.get((run.run_id, "main"))
        waste = max(waste, lane.counters.waste if lane is not None else 0)
    for stall in stalls.values():
        for level, step in stall.levels:
            levels[level] = min(step, levels.get(level, step))
    return Judgement(tuple(stalls.values()), levels, distance, before, dry, waste)


def _run(source: str, item: Mapping[str, Any]) -> Run:
    detail = item.get("label_detail") or {}
    task = next((detail[key] for key in ("task", "instance", "task_id") if detail.get(key) is not None), item["run_id"])
    readings, seen = [], []
    for index, step in enumerate(item["steps"], 1):
        reading = dialects.read(_span(str(item["run_id"]), index, step))
        observed = observation(reading)
        readings.append((reading, observed))
        seen.append(_seen(step, observed))
    return Run(source, str(item["run_id"]), str(task), str(item.get("outcome") or "unknown"), readings, seen)


def _span(run_id: str, index: int, step: Mapping[str, Any]) -> SpanView:
    """Return a step as the span that the GenAI conventions make of a tool call."""
    attributes: dict[str, object] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.conversation.id": run_id,
        "gen_ai.tool.name": step["tool"],
        "gen_ai.tool.call.id": f"call-{index}",
        "gen_ai.tool.call.arguments": _text(step.get("args") if step.get("args") is not None else {}),
    }
    if step.get("result") is not None:
        attributes["gen_ai.tool.call.result"] = _text(step["result"])
    if step.get("exit_code") is not None:
        attributes["process.exit.code"] = int(step["exit_code"])
    if step.get("is_error"):
        attributes["error.type"] = "tool_error"
    return SpanView(
        trace_id=f"{1:032x}",
        span_id=f"{index:016x}",
        parent_id="",
        name=f"execute_tool {step['tool']}",
        start_ns=(2 * index) * _SECOND,
        end_ns=(2 * index + 1) * _SECOND,
        attributes=attributes,
        scope="recorded",
        resource={},
        status=Status.ERROR if step.get("is_error") else Status.UNSET,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _seen(step: Mapping[str, Any], observed: Observation | None) -> Seen:
    arguments = step.get("args")
    return Seen(
        tool=step["tool"],
        raw=_text(arguments),
        sorted=json.dumps(arguments, sort_keys=True, ensure_ascii=False),
        result=_text(step.get("result") or ""),
        failed=bool(step.get("is_error")) or bool(step.get("exit_code")),
        looks=isinstance(observed, Step) and observed.effect.looks(),
        mutates=isinstance(observed, Step) and observed.mutates and not observed.failed,
    )
