"""What the dialects make of spans that real instrumentations wrote."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from otel_stall.calls import CompactionMark, ModelCall, Reading, ToolCall
from otel_stall.dialects import merge, read
from otel_stall.spans import EventView, SpanView, Status

FIXTURES = Path(__file__).parents[1] / "fixtures" / "dialects"
SHARED = Path(__file__).parents[3] / "shared" / "data" / "dialects"
EXPECTED: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))

# Calls that wait for an approval: listed as calls there, no steps here.
WAITING = {
    "langchain.genai_content.interrupt_in_tool.first.json",
    "langchain.openinference.interrupt_in_tool.first.json",
    "openai-agents.genai_content.needs_approval.json",
    "openai-agents.logfire.needs_approval.json",
    "openai-agents.openllmetry.needs_approval.json",
    "pydantic-ai.v5.ApprovalRequired_raised.json",
}


def _nanos(time: str) -> int:
    return int(datetime.fromisoformat(time).timestamp() * 1_000_000) * 1_000


def _view(span: dict[str, Any]) -> SpanView:
    return SpanView(
        trace_id=span["context"]["trace_id"][2:],
        span_id=span["context"]["span_id"][2:],
        parent_id=(span["parent_id"] or "0x")[2:],
        name=span["name"],
        start_ns=_nanos(span["start_time"]),
        end_ns=_nanos(span["end_time"]),
        kind=span["kind"].removeprefix("SpanKind."),
        status=Status[span["status"]["status_code"]],
        status_description=span["status"].get("description", ""),
        attributes=span["attributes"],
        events=[EventView(e["name"], _nanos(e["timestamp"]), e["attributes"]) for e in span["events"]],
        scope=span["_scope"] or "",
        resource=span["resource"]["attributes"],
    )


def _readings(path: Path) -> list[Reading]:
    return [read(_view(span)) for span in json.loads(path.read_text(encoding="utf-8"))["spans"]]


def _described(reading: Reading, call: ToolCall) -> dict[str, object]:
    return {
        "tool": call.tool,
        "dialect": reading.dialect,
        "arguments": call.arguments.value,
        "arguments_capture": call.arguments.capture.value,
        "result": call.result.value,
        "result_capture": call.result.capture.value,
        "failed": call.failed,
        "pending": call.pending,
        "error_type": call.error_type,
        "exit_code": call.exit_code,
        "call_id": call.call_id,
        "conversation": reading.conversation,
    }


@pytest.mark.parametrize("run", sorted(EXPECTED))
def test_every_recorded_call_is_read_once_and_whole(run: str) -> None:
    """Tool, arguments, result, captures, failure, ids: all as the tool was really called."""
    merged = merge(_readings(FIXTURES / f"{run}.json"))
    assert [_described(r, r.record) for r in merged if isinstance(r.record, ToolCall)] == EXPECTED[run]


@pytest.mark.parametrize(
    ("run", "texts", "people", "asks", "tokens"),
    [
        ("ag2.native", ["", "", "done"], 1, 2, None),
        ("agent-framework.sensitive_openinference", ["", "", "", "done"], 1, 3, 100),
        ("haystack.content", ["", "", "done"], 1, 2, None),
        ("langchain.openinference", ["", "", "", "", "done"], 1, 4, 100),
        ("langfuse.native", ["x"], 1, 0, 100),
        ("langsmith.otel", ["", "", "done"], 1, 2, 100),
        ("openai-agents.logfire.raising", [""], None, 1, 100),
        ("pydantic-ai.v2", ["", "", "", "", "done"], 1, 4, 300),
        ("strands.latest", ["", "", "", "done"], 1, 3, 100),
        ("strands.openinference", ["", "", "", "done"], 1, 3, 100),
    ],
)
def test_a_model_turn_tells_what_was_said_and_who_spoke(
    run: str, texts: list[str], people: int | None, asks: int, tokens: int | None
) -> None:
    """Tool results that travel under the user role are no user messages, whatever the shape of the messages."""
    turns = [r.record for r in merge(_readings(FIXTURES / f"{run}.json")) if isinstance(r.record, ModelCall)]
    assert [turn.text for turn in turns] == texts
    assert {turn.user_messages for turn in turns} == {people}
    assert sum(turn.calls_tools for turn in turns) == asks
    assert turns[-1].input_tokens == tokens


def test_a_compaction_of_google_adk_is_one_mark() -> None:
    """`compact_events` is a compaction; the model turn below it is a model turn."""
    readings = _readings(FIXTURES / "google-adk.v2_content.compaction.json")
    marks = [r for r in readings if isinstance(r.record, CompactionMark)]
    assert [(r.record, r.conversation) for r in marks] == [(CompactionMark("google-adk"), "sess-77")] * 2


def test_the_agent_is_named_by_its_invocation() -> None:
    """Agent spans say so, with the agent's name, in every dialect that has them."""
    named = {
        run: {(r.dialect, r.agent) for r in _readings(FIXTURES / f"{run}.json") if r.is_agent}
        for run in (
            "agno.openinference",
            "agno.openllmetry",
            "autogen.openinference",
            "langfuse.native",
            "mlflow.shared",
        )
    }
    assert named == {
        "agno.openinference": {("openinference", "coder")},
        "agno.openllmetry": {("traceloop", "coder")},
        "autogen.openinference": {("genai", "coder")},
        "langfuse.native": {("langfuse", "agent")},
        "mlflow.shared": {("mlflow", "agent")},
    }


@pytest.mark.skipif(not SHARED.is_dir(), reason="the full set of recordings is not beside this checkout")
def test_all_recordings_agree_with_what_was_called() -> None:
    """Number of calls, tools and argument values; a call that waits for approval is no call yet."""
    wanted = json.loads((SHARED / "expected.json").read_text(encoding="utf-8"))
    differing = {name for name, calls in wanted.items() if _calls(SHARED / name) != _wanted(calls)}
    assert differing == WAITING


def _calls(path: Path) -> Counter[tuple[str, str]]:
    calls = [r.record for r in merge(_readings(path)) if isinstance(r.record, ToolCall)]
    return Counter((c.tool, json.dumps(c.arguments.value, sort_keys=True)) for c in calls if not c.pending)


def _wanted(calls: dict[str, Any]) -> Counter[tuple[str, str]]:
    pairs = zip(calls["tools"], calls["arguments"], strict=True)
    return Counter((tool.strip('"'), json.dumps(arguments, sort_keys=True)) for tool, arguments in pairs)
