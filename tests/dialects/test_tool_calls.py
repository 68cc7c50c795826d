"""Rules by which a span is a tool call, and how its fields are found."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from otel_stall import attributes as names
from otel_stall.calls import Capture, Content, Hints, ToolCall
from otel_stall.dialects import read
from otel_stall.spans import EventView, SpanView, Status

TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash"}


def span(
    attributes: Mapping[str, object],
    name: str = "execute_tool bash",
    events: tuple[EventView, ...] = (),
    scope: str = "",
    kind: str = "INTERNAL",
) -> SpanView:
    return SpanView("t", "s", "", name, 1, 2, kind=kind, attributes=attributes, events=events, scope=scope)


def call_of(view: SpanView) -> ToolCall:
    record = read(view).record
    assert isinstance(record, ToolCall)
    return record


def failing(view: SpanView, description: str = "") -> SpanView:
    return SpanView(
        view.trace_id,
        view.span_id,
        view.parent_id,
        view.name,
        view.start_ns,
        view.end_ns,
        status=Status.ERROR,
        status_description=description,
        attributes=view.attributes,
        events=view.events,
    )


@pytest.mark.parametrize(
    "view",
    [
        span({**TOOL, "logfire.span_type": "pending_span"}),
        span({**TOOL, "gen_ai.tool.name": "(merged tools)"}),
        span({**TOOL, "crewai.event_name": "tool_failed"}, "tool failure"),
        span({**TOOL, "mcp.method.name": "tools/call"}, "tools/call bash", kind="SERVER"),
        span({"mcp.method.name": "tools/list"}, "MCP send tools/list", kind="CLIENT"),
        span({"openinference.span.kind": "TOOL", "traceloop.span.kind": "task"}, "model"),
        span({"openinference.span.kind": "TOOL", "gen_ai.operation.name": "execute_task"}, "execute_task model"),
        span({"lmnr.span.type": "TOOL"}, "MCPToolExecutor.call_tool"),
        span({"gen_ai.operation.name": "await_human_input", "gen_ai.tool.name": "ask"}),
        span({"http.request.method": "GET"}, "GET"),
    ],
    ids=lambda view: view.name,
)
def test_a_span_that_is_no_tool_call_is_none(view: SpanView) -> None:
    """Copies, echoes, the far side of a call, graph nodes and other operations count for nothing."""
    assert (read(view).record, read(view).dialect) == (None, "")


@pytest.mark.parametrize(
    ("view", "tool"),
    [
        (span(TOOL), "bash"),
        (span({"gen_ai.operation.name": "execute_tool"}, "execute_tool bash"), "bash"),
        (span({"openinference.span.kind": "tool", "tool.name": "bash"}, "SimpleTool"), "bash"),
        (span({"openinference.span.kind": "TOOL"}, "bash.__call__"), "bash"),
        (span({"openinference.span.kind": "AGENT", "tool.name": "agent_lookup"}), "agent_lookup"),
        (span({"traceloop.span.kind": "tool", "traceloop.entity.name": "bash"}, "x.tool"), "bash"),
        (span({"traceloop.span.kind": "task", "tool.arguments": "{}", "tool.name": "bash"}), "bash"),
        (span({"langfuse.observation.type": "TOOL"}, "bash"), "bash"),
        (span({"mlflow.spanType": '"TOOL"', "mlflow.spanFunctionName": '"bash"'}, "x"), "bash"),
        (span({"lmnr.span.type": "TOOL"}, "bash"), "bash"),
        (span({"haystack.tool.name": "bash"}, "haystack.agent.step.tool"), "bash"),
        (span({"logfire.msg_template": "Function: {name}", "name": "bash"}, "Function: {name}"), "bash"),
        (span({"langsmith.span.kind": "tool"}, "bash"), "bash"),
        (span({"mcp.method.name": "tools/call"}, "MCP send tools/call bash", kind="CLIENT"), "bash"),
    ],
)
def test_each_dialect_names_the_tool_in_its_way(view: SpanView, tool: str) -> None:
    """The attribute first, the span's name without what the emitter adds where there is none."""
    assert call_of(view).tool == tool


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        ('{"path": "a"}', {"path": "a"}),
        ({"path": ("a", "b")}, {"path": ["a", "b"]}),
        (b'{"path": "a"}', {"path": "a"}),
        ("pytest -q", "pytest -q"),
        ("None", {}),
        ("", {}),
        ('{"input_str": "{\'a\': 1}", "inputs": {"a": 1, "run_manager": "x"}, "metadata": {"t": 1}}', {"a": 1}),
        ('{"input_str": "{\'a\': (1, None), \\"b\\": True}", "tags": []}', {"a": [1, None], "b": True}),
        ('{"tool_name": "bash", "arguments": {"command": "ls"}}', {"command": "ls"}),
        ('{"args": [], "kwargs": {"command": "ls"}}', {"command": "ls"}),
        ('{"args": [{"command": "ls"}], "kwargs": {}}', {"command": "ls"}),
        ('{"args": ["ls"], "kwargs": {"cwd": "/"}, "sanitize_inputs_outputs": true}', {"*": ["ls"], "cwd": "/"}),
        ('"{\\"path\\": \\"a\\"}"', {"path": "a"}),
        ('{\n  "path": "a"\n}', {"path": "a"}),
    ],
)
def test_arguments_come_out_of_their_envelopes(raw: object, arguments: object) -> None:
    """What the model gave, not how a framework packed it."""
    call = call_of(span({**TOOL, "gen_ai.tool.call.arguments": raw}))
    assert call.arguments == Content(arguments, Capture.CAPTURED)


def test_an_envelope_of_one_dialect_is_not_taken_off_in_another() -> None:
    """`action` is a parameter like any other, except in OpenHands."""
    raw = '{"action": {"kind": "Bash", "command": "ls", "timeout": null}}'
    action = {"action": {"kind": "Bash", "command": "ls", "timeout": None}}
    assert call_of(span({**TOOL, "gen_ai.tool.call.arguments": raw})).arguments.value == action
    lmnr: dict[str, object] = {"lmnr.span.type": "TOOL", "lmnr.span.input": raw}
    assert call_of(span(lmnr)).arguments.value == {"command": "ls"}


def test_tool_parameters_are_arguments_unless_they_are_a_schema() -> None:
    """OpenInference uses one attribute for both."""
    base: dict[str, object] = {"openinference.span.kind": "TOOL", "tool.name": "bash"}
    schema = '{"type": "object", "properties": {"command": {"type": "string"}}}'
    listed = '{"command": {"type": "string", "description": "d"}}'
    read_as = [
        call_of(span({**base, "tool.parameters": raw})).arguments for raw in ('{"command": "ls"}', schema, listed)
    ]
    assert read_as == [Content({"command": "ls"}, Capture.CAPTURED), Content(), Content()]


@pytest.mark.parametrize(
    ("raw", "value", "failed", "exit_code"),
    [
        ("text", "text", None, None),
        ("", "", None, None),
        ('"1 failed"', "1 failed", None, None),
        ('{"stdout": "x", "exit_code": 2}', {"stdout": "x", "exit_code": 2}, None, 2),
        ({"stdout": "x", "returncode": 0}, {"stdout": "x", "returncode": 0}, None, 0),
        ('{"result": "contents"}', "contents", None, None),
        ('{"result": null}', "", None, None),
        ('{"id": "1", "name": "bash", "response": {"result": "x"}}', "x", None, None),
        ('{"result": "bad", "is_error": true}', "bad", True, None),
        (
            '{"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "isError": true}',
            "a\nb",
            True,
            None,
        ),
        ('{"content": [], "isError": false}', "", False, None),
        ('[{"text": "a"}]', "a", None, None),
        ('[{"json": {"n": 1}}]', {"n": 1}, None, None),
        ('["/a.py"]', ["/a.py"], None, None),
        ('{"raw_output": "a", "raw_input": {}, "tool_name": "t", "is_error": false}', "a", False, None),
        ('{"type": "tool", "data": {"content": "a", "tool_call_id": "c", "status": "error"}}', "a", True, None),
        ('{"output": {"lc": 1, "kwargs": {"content": "a", "type": "tool"}}, "kwargs": {"tags": []}}', "a", None, None),
        ('{"output": {"content": "{\\"exit_code\\": 1}", "type": "tool"}}', {"exit_code": 1}, None, 1),
        ("{'stdout': 'it\\'s', 'exit_code': 1}", {"stdout": "it's", "exit_code": 1}, None, 1),
        ("status='success' result='it\\'s' error=None images=None", "it's", None, None),
        ("status='failure' result=None error='kaboom' images=None", "kaboom", True, None),
        ('{"status": "error", "message": "m"}', {"status": "error", "message": "m"}, True, None),
        ('{\n  "name": "package"\n}', '{\n  "name": "package"\n}', None, None),
        ('{\n "exit_code": 3\n}', {"exit_code": 3}, None, 3),
        ("[1/5] Compiling", "[1/5] Compiling", None, None),
        ("{template} text", "{template} text", None, None),
    ],
)
def test_results_come_out_of_their_envelopes(
    raw: object, value: object, failed: bool | None, exit_code: int | None
) -> None:
    """What the tool gave back; a mapping that tells an exit code stays one, a file that is JSON stays text."""
    call = call_of(span({**TOOL, "gen_ai.tool.call.result": raw}))
    assert (call.result, call.failed, call.exit_code) == (Content(value, Capture.CAPTURED), failed, exit_code)


@pytest.mark.parametrize(
    ("raw", "capture"),
    [
        (None, Capture.ABSENT),
        ("__REDACTED__", Capture.REDACTED),
        ("<REDACTED>", Capture.REDACTED),
        ("[Scrubbed due to 'password']", Capture.REDACTED),
        ('{"user": "a", "password": "[Scrubbed due to \'password\']"}', Capture.REDACTED),
        ({"user": "a", "key": "__REDACTED__"}, Capture.REDACTED),
        ('{"path": "xxxxxxxxx', Capture.TRUNCATED),
        ('{"path": "x", "n": tr', Capture.TRUNCATED),
        ('[{"text": "a"}', Capture.TRUNCATED),
        ('{"path":', Capture.TRUNCATED),
    ],
)
def test_content_that_is_not_all_there_is_never_captured(raw: object, capture: Capture) -> None:
    """Cut by a length limit or taken out, in arguments and in results alike."""
    call = call_of(span({**TOOL, "gen_ai.tool.call.arguments": raw, "gen_ai.tool.call.result": raw}))
    assert (call.arguments.capture, call.result.capture) == (capture, capture)


def test_a_result_that_is_marked_as_cut_is_truncated() -> None:
    """ag2 cuts at 8,192 characters and says so."""
    cut: Mapping[str, object] = {**TOOL, "gen_ai.tool.call.result": "abc", "ag2.tool.call.result.truncated": True}
    assert call_of(span(cut)).result == Content("abc", Capture.TRUNCATED)


def test_google_adk_with_content_off_has_none() -> None:
    """Schema 1 writes "{}" into both fields; "{}" beside a real result is a call without arguments."""
    keys = ("gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.tool_response")
    off = call_of(span({**TOOL, **dict.fromkeys(keys, "{}")}, scope="gcp.vertex.agent"))
    on = call_of(span({**TOOL, keys[0]: "{}", keys[1]: '{"result": 1}'}, scope="gcp.vertex.agent"))
    assert (off.arguments, off.result) == (Content(), Content())
    assert (on.arguments, on.result) == (Content({}, Capture.CAPTURED), Content(1, Capture.CAPTURED))


def test_strands_puts_content_into_span_events() -> None:
    """Arguments, call id and result stand in events, before and after the convention changed."""
    old = (
        EventView("gen_ai.tool.message", 1, {"role": "tool", "content": '{"command": "ls"}', "id": "tu_1"}),
        EventView("gen_ai.choice", 2, {"message": '[{"text": "a.py"}]', "id": "tu_1"}),
    )
    part = {"type": "tool_call", "name": "bash", "id": "tu_1", "arguments": {"command": "ls"}}
    answer = {"type": "tool_call_response", "id": "tu_1", "response": [{"text": "a.py"}]}
    new = tuple(
        EventView(
            "gen_ai.client.inference.operation.details", 1, {key: json.dumps([{"role": "tool", "parts": [each]}])}
        )
        for key, each in (("gen_ai.input.messages", part), ("gen_ai.output.messages", answer))
    )
    for events, call_id in ((old, "tu_1"), (new, "")):
        call = call_of(span(TOOL, events=events, scope="strands.telemetry.tracer"))
        assert (call.arguments.value, call.result.value, call.call_id) == ({"command": "ls"}, "a.py", call_id)


@pytest.mark.parametrize(
    ("extra", "failed"),
    [
        ({}, None),
        ({"gen_ai.tool.call.result": "Error: not found"}, None),
        ({"error.type": "ValueError"}, True),
        ({"gen_ai.tool.status": "error"}, True),
        ({"gen_ai.tool.status": "success"}, False),
        ({"gen_ai.task.status": "failure"}, True),
        ({"gen_ai.task.status": "success"}, None),
        (
            {
                "gen_ai.tool.status": "success",
                "gen_ai.tool.call.result": '{"content": [{"text": "x"}], "isError": true}',
            },
            True,
        ),
    ],
)
def test_failure_is_said_by_telemetry_or_not_at_all(extra: dict[str, object], failed: bool | None) -> None:
    """Nothing said is None: whether the text of a result is an error is not for the dialect to say."""
    assert call_of(span({**TOOL, **extra})).failed is failed


def test_an_error_tells_its_type_and_message() -> None:
    """The exception event before the status, whose text may hold a whole traceback."""
    event = EventView("exception", 1, {"exception.type": "ValueError", "exception.message": "kaboom"})
    raised = call_of(failing(span(TOOL, events=(event,)), "ValueError('kaboom')Traceback"))
    told = call_of(failing(span({**TOOL, "error.type": "_OTHER"}), "kaboom"))
    assert (raised.failed, raised.error_type, raised.error_message) == (True, "ValueError", "kaboom")
    assert (told.failed, told.error_type, told.error_message) == (True, "", "kaboom")


@pytest.mark.parametrize(
    ("extra", "events", "pending"),
    [
        ({"error.type": "langgraph.errors.GraphInterrupt"}, (), True),
        ({}, (EventView("exception", 1, {"exception.type": "langgraph.errors.GraphInterrupt"}),), True),
        ({"pydantic_ai.tool.deferral.name": "ApprovalRequired"}, (), True),
        ({"error.type": "asyncio.exceptions.CancelledError"}, (), False),
    ],
)
def test_a_call_that_waits_has_not_failed(
    extra: dict[str, object], events: tuple[EventView, ...], pending: bool
) -> None:
    """An interrupt to ask for approval is pending; a cancelled call is a call of unknown outcome."""
    call = call_of(failing(span({**TOOL, **extra}, events=events)))
    assert (call.pending, call.failed) == (pending, None)


def test_openai_agents_leaves_the_result_out_while_it_waits() -> None:
    """Only there: elsewhere a call without a result is a call whose result was not captured."""
    known: Mapping[str, object] = {**TOOL, "gen_ai.tool.call.arguments": "{}"}
    scope = "opentelemetry.instrumentation.genai.openai_agents"
    waits = [call_of(span(known, scope=scope)), call_of(span(known)), call_of(span(TOOL, scope=scope))]
    assert [call.pending for call in waits] == [True, False, False]


@pytest.mark.parametrize("unknown", ["unknown", "<not specified>", "", None])
def test_an_id_that_says_nothing_is_none(unknown: object) -> None:
    """Two calls with the id "unknown" are not one call."""
    assert call_of(span({**TOOL, "gen_ai.tool.call.id": unknown})).call_id == ""


def test_exit_codes_come_from_attributes_first() -> None:
    """`process.exit.code` is what the process said; truth values are no codes."""
    result: Mapping[str, object] = {**TOOL, "gen_ai.tool.call.result": '{"exit_code": 1}'}
    codes = [
        call_of(span({**result, "process.exit.code": 3})).exit_code,
        call_of(span({**TOOL, "codex.command.exit_code": "127"})).exit_code,
        call_of(span({**TOOL, "gen_ai.tool.call.result": '{"exit_code": true}'})).exit_code,
    ]
    assert codes == [3, 127, None]


def test_hints_of_the_host_come_from_the_span_and_else_from_the_resource() -> None:
    """All that only a host can know, on the tool span; the resource where the span is silent."""
    said = {
        names.MILESTONE_NAME: "tests",
        names.MILESTONE_EVIDENCE: "observed",
        names.STATE_BEFORE: "a",
        names.STATE_AFTER: "b",
        names.CONTENT_DIGEST: "c",
        names.RESOURCE: "r",
        names.EFFECT: "read",
        names.WAIT_ON: "ci",
        names.INFRA: True,
        names.COMPACTION: True,
    }
    view = SpanView(
        "t", "s", "", "x", 1, 2, attributes={**TOOL, **said}, resource={names.EFFECT: "write", names.RESOURCE: "z"}
    )
    bare = SpanView("t", "s", "", "x", 1, 2, attributes=TOOL, resource={names.EFFECT: "write"})
    assert call_of(view).hints == Hints(
        "tests", "observed", "a", "b", "c", "r", "read", "ci", infra=True, compaction=True
    )
    assert call_of(bare).hints == Hints(effect="write")


@pytest.mark.parametrize("result", ["gen_ai.tool.call.result", "gcp.vertex.agent.tool_response"])
def test_a_call_that_google_adk_holds_back_is_pending(result: str) -> None:
    """The placeholder that google-adk answers until a person confirms is no result; another error is one."""
    asks = '{"error": "This tool call requires confirmation, please approve or reject."}'
    readings = [
        read(
            SpanView(
                "1",
                "2",
                "",
                "execute_tool deploy",
                1,
                2,
                attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "deploy", result: answer},
                scope="gcp.vertex.agent",
            )
        )
        for answer in (asks, '{"error": "This tool call is rejected."}')
    ]
    calls = [reading.record for reading in readings]
    assert [call.pending for call in calls if isinstance(call, ToolCall)] == [True, False]
