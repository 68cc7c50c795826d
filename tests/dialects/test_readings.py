"""What every span says of conversation, agent, run and host, and what no attribute value can do."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.util.types import AnyValue

from otel_stall import attributes as names
from otel_stall.calls import Capture, HostMark, ModelCall, Reading, ToolCall
from otel_stall.dialects import read
from otel_stall.dialects.readings import KNOWN
from otel_stall.spans import EventView, SpanView, Status, from_readable_span

TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash"}


def span(attributes: Mapping[str, Any], name: str = "s", resource: Mapping[str, Any] | None = None) -> SpanView:
    return SpanView("t", "s", "p", name, 1, 2, attributes=attributes, resource=resource or {})


def test_a_span_of_nobody_says_who_it_is_and_no_more() -> None:
    """Ids, name, times and scope; whatever is not of ours is left empty."""
    view = SpanView("t", "s", "p", "GET", 1, 2, attributes={"http.request.method": "GET"}, scope="http", sampled=False)
    assert read(view) == Reading("t", "s", "p", "GET", 1, 2, scope="http", sampled=False)


def test_a_span_of_no_dialect_still_names_conversation_agent_and_run() -> None:
    """Ancestors are looked up by what they say of themselves."""
    attributes = {
        "session.id": "c",
        "gen_ai.agent.name": "coder",
        "gen_ai.agent.id": "a-1",
        names.RUN_ID: "r",
        names.RUN_OUTCOME: "success",
        names.TASK_ID: "k",
        names.STEP: 3,
    }
    resource = {"service.name": "svc", "gen_ai.conversation.id": "rc", names.TASK_CLASS: "bugfix", names.RUN_ID: "z"}
    assert read(span(attributes, resource=resource)) == Reading(
        "t",
        "s",
        "p",
        "s",
        1,
        2,
        conversation="c",
        agent="coder",
        agent_id="a-1",
        run_id="r",
        run_outcome="success",
        task_id="k",
        task_class="bugfix",
        service="svc",
        resource_conversation="rc",
        judged=True,
    )


@pytest.mark.parametrize(
    ("attributes", "conversation"),
    [
        ({"session.id": "b", "gen_ai.conversation.id": "a"}, "a"),
        ({"session.id": "b"}, "b"),
        ({"traceloop.association.properties.thread_id": "t", "traceloop.association.properties.session_id": "s"}, "s"),
        ({"langsmith.metadata.thread_id": "t"}, "t"),
        ({"lmnr.association.properties.session_id": "s"}, "s"),
        ({"gen_ai.conversation.id": "", "session.id": 7}, "7"),
        ({"gen_ai.conversation.id": ["a"]}, ""),
    ],
)
def test_the_conversation_is_the_first_id_that_is_there(attributes: dict[str, Any], conversation: str) -> None:
    """The convention's before a vendor's, a session before a thread."""
    assert read(span(attributes)).conversation == conversation


@pytest.mark.parametrize(
    ("attributes", "name", "agent"),
    [
        ({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "coder"}, "invoke_agent coder", "coder"),
        ({"gen_ai.operation.name": "invoke_agent"}, "invoke_agent coder", "coder"),
        ({"openinference.span.kind": "AGENT", "agent.name": "coder"}, "x", "coder"),
        ({"openinference.span.kind": "AGENT"}, "coder.run", "coder"),
        ({"traceloop.span.kind": "agent", "traceloop.entity.name": "coder"}, "coder.agent", "coder"),
        ({"traceloop.span.kind": "workflow", "traceloop.workflow.name": "flow"}, "x", "flow"),
        ({"langfuse.observation.type": "agent"}, "coder", "coder"),
        ({"haystack.agent.max_steps": 5}, "haystack.agent.run", "haystack"),
        ({"logfire.msg_template": "Agent run: {name!r}", "name": "coder"}, "Agent run: {name!r}", "coder"),
    ],
)
def test_an_agents_invocation_says_so(attributes: dict[str, Any], name: str, agent: str) -> None:
    """With the agent's name, from the span's name where no attribute has it."""
    reading = read(span(attributes, name))
    assert (reading.is_agent, reading.agent, reading.record) == (True, agent, None)


def test_a_constant_is_no_agents_name() -> None:
    """One instrumentation puts the same name and id on every span."""
    reading = read(span({**TOOL, "gen_ai.agent.name": "OpenAI Agent", "gen_ai.agent.id": "agent"}))
    assert (reading.agent, reading.agent_id) == ("", "")


def test_milestones_are_marked_by_timestamped_events() -> None:
    """By the event's name or its attribute, on any span; an attribute of a span that is no tool call marks nothing."""
    events = (
        EventView("stall.milestone", 5, {names.MILESTONE_NAME: "built", names.MILESTONE_EVIDENCE: "observed"}),
        EventView("note", 6, {names.MILESTONE_NAME: "tests"}),
        EventView("stall.milestone", 7, {}),
        EventView("exception", 8, {"exception.type": "E"}),
    )
    view = SpanView("t", "s", "", "root", 1, 9, attributes={names.MILESTONE_NAME: "late"}, events=events)
    assert read(view).marks == (
        HostMark("built", "observed", 5),
        HostMark("tests", "", 6),
        HostMark("stall.milestone", "", 7),
    )


def test_a_mark_may_be_another_conversations() -> None:
    """The event says so by the attribute by which spans name theirs."""
    attributes = {names.MILESTONE_NAME: "built", "gen_ai.conversation.id": "c-2"}
    view = SpanView("t", "s", "", "root", 1, 9, events=(EventView("stall.milestone", 5, attributes),))

    assert read(view).marks == (HostMark("built", "", 5, "c-2"),)


def test_a_span_of_the_sdk_reads_like_any_other() -> None:
    """Mapping-valued attributes, members of a string enumeration as keys, and a length limit that breaks JSON."""

    class Key(StrEnum):
        OPERATION = "gen_ai.operation.name"
        ARGUMENTS = "gen_ai.tool.call.arguments"

    exporter = InMemorySpanExporter()
    provider = TracerProvider(span_limits=SpanLimits(max_attribute_length=40))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("t")
    structured: dict[str, AnyValue] = {"path": "a", "lines": [1, 2]}
    for arguments in (structured, json.dumps({"path": "x" * 80})):
        with tracer.start_as_current_span("execute_tool bash") as recording:
            recording.set_attribute(Key.OPERATION, "execute_tool")
            recording.set_attribute(Key.ARGUMENTS, arguments)
    calls = [read(from_readable_span(finished)).record for finished in exporter.get_finished_spans()]
    assert [isinstance(call, ToolCall) and (call.tool, call.arguments.capture) for call in calls] == [
        ("bash", Capture.CAPTURED),
        ("bash", Capture.TRUNCATED),
    ]
    assert isinstance(calls[0], ToolCall)
    assert calls[0].arguments.value == {"path": "a", "lines": [1, 2]}


# What no attribute value can do

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
KINDS = ["execute_tool", "chat", "TOOL", "tool", "task", "LLM", "AGENT", '"TOOL"', "generation", "Function: {name}"]
BROKEN = [
    "{",
    "[",
    '{"a',
    "{'a': 'b",
    "null",
    "NaN",
    "\ud800",
    "status='success' result=",
    "status='x' result=[1 error='",
]
ENVELOPES = [
    '{"input_str": "(", "inputs": 3}',
    '{"output": {"content": [{"text": 3}], "type": "tool"}, "kwargs": null}',
    '{"content": [], "isError": 1}',
    '{"args": [1], "kwargs": {"*": 2}}',
    '{"action": {"kind": 1}}',
    '{"raw_output": null, "tool_name": 1}',
    '[{"role": "user", "parts": 3}, [], {"kwargs": {"type": []}}]',
    '{"generations": [[{"message": {"kwargs": {"content": {}}}}]]}',
]
WORDS = st.sampled_from([*KINDS, *BROKEN, *ENVELOPES])
VALUES = st.recursive(
    SCALARS | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=5) | WORDS, inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = st.sampled_from(sorted(KNOWN)) | st.sampled_from(
    ["llm.input_messages.0.message.role", "llm.output_messages.x", "gen_ai.prompt.0.content", "gen_ai.completion.1"]
)
EVENTS = st.builds(
    EventView,
    st.sampled_from(["exception", "gen_ai.choice", "gen_ai.tool.message", "gen_ai.user.message", "stall.milestone"]),
    st.integers(),
    st.dictionaries(st.sampled_from(["content", "message", "id", "exception.type", "gen_ai.input.messages"]), VALUES),
)


@settings(max_examples=400, deadline=None)
@given(
    st.dictionaries(KEYS, VALUES, max_size=8), st.lists(EVENTS, max_size=3), st.dictionaries(KEYS, VALUES, max_size=2)
)
def test_no_attribute_value_raises(
    attributes: dict[str, Any], events: list[EventView], resource: dict[str, Any]
) -> None:
    """Whatever stands under whatever known name."""
    view = SpanView(
        "t", "s", "", "n", 0, 1, status=Status.ERROR, attributes=attributes, events=events, resource=resource
    )
    assert read(view).span_id == "s"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4), st.lists(JSON, max_size=4))
def test_json_text_and_structured_attributes_are_the_same_call(arguments: dict[str, Any], result: list[Any]) -> None:
    """The convention allows both, and one process may write both."""
    keys = ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result")
    text = dict(zip(keys, map(json.dumps, (arguments, result)), strict=True))
    structured = dict(zip(keys, (arguments, tuple(result)), strict=True))
    assert read(span({**TOOL, **text})) == read(span({**TOOL, **structured}))


def _deep(levels: int) -> object:
    value: object = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        pytest.param('{"a":' * 100 + "1" + "}" * 100, id="100 levels"),
        pytest.param("[" * 100_000, id="open brackets"),
        pytest.param("[" * 50_000 + "]" * 50_000, id="50,000 levels"),
        pytest.param(_deep(400), id="400 structured levels"),
        pytest.param("{'" * 50_000, id="open literals"),
        pytest.param("{'a': '" + "\\" * 100_000, id="backslashes"),
        pytest.param("status='success' result=" + "[" * 50_000, id="open repr"),
        pytest.param("x" * 10_000_000, id="10 MB of text"),
        pytest.param('{"a": "' + "x" * 10_000_000 + '"}', id="10 MB of JSON"),
        pytest.param('{"a": 1e999, "b": NaN, "c": ' + "9" * 5_000 + "}", id="numbers"),
        pytest.param("\ud800" * 1_000, id="lone surrogates"),
    ],
)
def test_hostile_content_is_content(value: object) -> None:
    """Read in well under a second wherever it stands, and never raised on."""
    keys = ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.input.messages", "gen_ai.output.messages")
    begin = time.perf_counter()
    for operation in ("execute_tool", "chat"):
        reading = read(
            span({"gen_ai.operation.name": operation, "gen_ai.tool.name": "b", **dict.fromkeys(keys, value)})
        )
        assert isinstance(reading.record, (ToolCall, ModelCall))
    assert time.perf_counter() - begin < 2


@pytest.mark.parametrize(
    "unit",
    ["{'a': 1}, ", '{"a": 1}, ', "\\' ", "(", '"', '[{"text": "a"},', "status='a' result='", "-1e"],
)
def test_reading_takes_time_in_proportion(unit: str) -> None:
    """Sixteen times the text takes at most some forty times the time, whatever it repeats."""

    def seconds(times: int) -> float:
        views = [
            span(
                {
                    **TOOL,
                    "gen_ai.tool.call.arguments": head + unit * times,
                    "gen_ai.tool.call.result": head + unit * times,
                }
            )
            for head in ("", "[", "{'k': ")
        ]
        best = 9.0
        for _ in range(3):
            begin = time.process_time()
            for view in views:
                read(view)
            best = min(best, time.process_time() - begin)
        return best

    assert seconds(16_000) < 40 * seconds(1_000) + 0.02
