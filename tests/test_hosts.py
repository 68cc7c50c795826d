"""Recordings of hosts, run against a scripted model: calls, outcomes, lanes and stalls, however their data arrives.

The recordings are scrubbed of names, paths and ids of machines, and of what no rule reads.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from otel_stall.analysis import analyze
from otel_stall.findings import Analysis
from otel_stall.judge import Judge
from otel_stall.monitor import Monitor
from otel_stall.otlp import Signal, log_views, signal_of, views
from otel_stall.spans import SpanView

FIXTURES: Final = Path(__file__).parent / "fixtures/hosts"
EXPECTED: Final[dict[str, dict[str, object]]] = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))
ROUND: Final = 2
"""Steps of a round of the ping-pong: an edit and a test."""

Request = dict[str, Any]


def _requests(name: str) -> list[Request]:
    return [json.loads(line) for line in (FIXTURES / name).read_text(encoding="utf-8").splitlines()]


def _views(requests: Iterable[Mapping[str, object]]) -> list[SpanView]:
    problems: list[str] = []
    found: list[SpanView] = []
    for request in requests:
        read = log_views if signal_of(request) is Signal.LOGS else views
        found += read(request, problems.append)
    assert problems == []
    return found


def _analysis(name: str, requests: Iterable[Mapping[str, object]] | None = None) -> Analysis:
    return analyze(_views(_requests(name) if requests is None else requests), details=True)


def _said(found: Analysis) -> list[object]:
    """Return what must not depend on how the data arrives."""
    return [(lane.conversation, lane.lane, lane.compactions, lane.stalls, lane.details) for lane in found.conversations]


@pytest.mark.parametrize("name", EXPECTED)
def test_calls_failures_arguments_and_stalls_are_those_recorded(name: str) -> None:
    """Every call once, by whatever signals; failed is what the host's own way of telling says."""
    found = _analysis(name)
    details = [detail for lane in found.conversations for detail in lane.details]

    assert {
        "calls": len(details),
        "failed": sum(detail.failed for detail in details),
        "with_arguments": sum(detail.arguments == "captured" for detail in details),
        "stalled": any(lane.stalls for lane in found.conversations),
    } == EXPECTED[name]


@pytest.mark.parametrize("name", [name for name in EXPECTED if "pingpong" in name])
def test_a_ping_pong_is_a_stall_by_its_fourth_round(name: str) -> None:
    """Edit A, test, edit B, test, edit A: no call follows itself, and no host's own guard sees it."""
    ((stall,),) = [lane.stalls for lane in _analysis(name).conversations if lane.stalls]

    assert stall.detected_step <= 1 + 4 * ROUND


@pytest.mark.parametrize(
    ("name", "lanes"),
    [
        ("qwen-code.tour.jsonl", [("qwen-code", 8), ("general-purpose-call_e24031034aa84d49a810", 0)]),
        ("gemini-cli.tour.jsonl", [("main", 8), ("2f14ec60-021b-4e69-bed7-a273f1b3b9db", 2)]),
        ("codex.tour.jsonl", [("main", 6)]),
    ],
)
def test_a_sub_agent_has_a_lane_of_its_own(name: str, lanes: list[tuple[str, int]]) -> None:
    """The sub-agent of a session counts by itself, whether its records name it or its prompts do."""
    assert [(lane.lane, lane.steps) for lane in _analysis(name).conversations] == lanes


def _each_dict(value: object, change: Callable[[Request], None]) -> None:
    if isinstance(value, dict):
        change(value)
        for inner in value.values():
            _each_dict(inner, change)
    elif isinstance(value, list):
        for inner in value:
            _each_dict(inner, change)


def _base64_ids(item: Request) -> None:
    for key in ("traceId", "spanId", "parentSpanId"):
        if item.get(key):
            item[key] = base64.b64encode(bytes.fromhex(item[key])).decode()


def _texts(item: Request) -> None:
    value = item.get("value")
    if "key" in item and isinstance(value, dict):
        for kind in ("intValue", "boolValue"):
            if kind in value:
                item["value"] = {"stringValue": str(value[kind]).lower()}


def _no_time(item: Request) -> None:
    if "observedTimeUnixNano" in item:
        item["observedTimeUnixNano"] = (
            item["timeUnixNano"] if item.get("timeUnixNano", "0") != "0" else item["observedTimeUnixNano"]
        )
        item["timeUnixNano"] = "0"


def _empty_values(item: Request) -> None:
    attributes = item.get("attributes")
    if isinstance(attributes, list):
        have = {pair["key"] for pair in attributes}
        empty = ("error", "metadata", "gen_ai.tool.call.result", "decision")
        attributes += [{"key": key, "value": {}} for key in empty if key not in have]


@pytest.mark.parametrize("change", [_base64_ids, _texts, _no_time, _empty_values])
@pytest.mark.parametrize("name", EXPECTED)
def test_the_form_of_values_makes_no_difference(name: str, change: Callable[[Request], None]) -> None:
    """Base64 ids, numbers and truth values as text, times left out and empty values give the same verdicts."""
    changed = _requests(name)
    _each_dict(changed, change)

    assert _said(_analysis(name, changed)) == _said(_analysis(name))


@pytest.mark.parametrize("name", EXPECTED)
def test_order_and_repeats_of_batches_make_no_difference(name: str) -> None:
    """A batch that comes twice, or an export interval late, changes nothing in the analysis."""
    requests = _requests(name)
    shuffled = [*requests, *requests]
    random.Random(7).shuffle(shuffled)

    assert _said(_analysis(name, shuffled)) == _said(_analysis(name))


@dataclass
class _Live:
    judge: Judge
    steps: int = 0

    def take(self, found: Iterable[SpanView]) -> None:
        from otel_stall.dialects import read

        for view in found:
            for judgement in self.judge.ended([read(view)]):
                self.steps += sum(judged.verdict.counted for judged in judgement.judged)


@pytest.mark.parametrize("name", [name for name in EXPECTED if name.startswith(("codex", "gemini-cli", "qwen-code"))])
def test_live_each_call_is_one_step_whichever_signal_comes_first(name: str) -> None:
    """Spans and records of one call come in requests of their own: the later of the two counts for nothing."""
    requests = _requests(name)
    for order in (requests, requests[::-1]):
        live = _Live(Judge(Monitor()))
        for request in order:
            live.take(sorted(_views([request]), key=lambda view: (view.end_ns, view.start_ns)))

        assert live.steps == EXPECTED[name]["calls"]


def test_live_a_late_step_is_counted_and_revises_nothing() -> None:
    """A batch that is an export interval late is judged on arrival, and counted as late."""
    found = sorted(_views(_requests("codex.pingpong.jsonl")), key=lambda view: view.end_ns)
    calls = [view for view in found if view.name == "codex.tool_result"]
    late = calls[2]
    live = _Live(Judge(Monitor()))
    live.take(view for view in found if view is not late)
    live.take([late])

    assert (live.steps, live.judge.monitor.late_steps) == (len(calls), 1)
