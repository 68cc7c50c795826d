"""Rules of hosts: what each writes of a call, written here by hand, and what is read of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from otel_stall.analysis import analyze
from otel_stall.calls import Capture, CompactionMark, HostHint, ModelCall, ToolCall, UserMark
from otel_stall.dialects import read
from otel_stall.findings import Analysis
from otel_stall.spans import EventView, SpanView, Status

SECOND = 1_000_000_000
TRACE = "a" * 32
CLAUDE_EVENTS, CLAUDE_SPANS = "com.anthropic.claude_code.events", "com.anthropic.claude_code.tracing"
SESSION: dict[str, Any] = {"session.id": "s-1"}


def log(scope: str, name: str, at: float = 1, parent: str = "", **attributes: object) -> SpanView:
    """Return a log record; underscores of attribute names stand for dots where doubled."""
    time_ns = int(at * SECOND)
    return SpanView(
        trace_id=TRACE,
        span_id=f"log:{name}{at}",
        parent_id=parent,
        name=name,
        start_ns=time_ns,
        end_ns=time_ns,
        attributes=_attributes(attributes),
        scope=scope,
        log=True,
    )


def span(
    scope: str,
    name: str,
    at: tuple[float, float] = (1, 2),
    *,
    ids: tuple[str, str] = ("1" * 16, ""),
    status: Status = Status.UNSET,
    events: tuple[EventView, ...] = (),
    named: Mapping[str, object] | None = None,
    **attributes: object,
) -> SpanView:
    """Return a span that lasted from one second to another."""
    return SpanView(
        trace_id=TRACE,
        span_id=ids[0],
        parent_id=ids[1],
        name=name,
        start_ns=int(at[0] * SECOND),
        end_ns=int(at[1] * SECOND),
        status=status,
        attributes=_attributes(attributes) | dict(named or {}),
        events=events,
        scope=scope,
    )


def _attributes(given: Mapping[str, object]) -> dict[str, object]:
    return {name.replace("__", "."): value for name, value in given.items()}


def called(view: SpanView) -> ToolCall:
    """Return the call that a view is read as."""
    record = read(view).record
    assert isinstance(record, ToolCall)
    return record


def told(call: ToolCall) -> tuple[str, object, object, bool | None, int | None]:
    """Return what a call is about and how it ended."""
    return call.tool, call.arguments.value, call.result.value, call.failed, call.exit_code


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (
            log(CLAUDE_EVENTS, "tool_result", tool_name="Grep", tool_input='{"pattern":"add"}', success="true"),
            ("Grep", {"pattern": "add"}, None, False, None),
        ),
        (
            span(
                CLAUDE_SPANS,
                "claude_code.tool",
                tool_name="Bash",
                full_command="ls",
                events=(EventView("tool.output", 2, {"bash_command": "ls", "output": "a.py"}),),
            ),
            ("Bash", {"command": "ls"}, "a.py", None, None),
        ),
        (
            log(
                "codex_otel.log_only",
                "codex.tool_result",
                tool_name="exec_command",
                arguments='{"cmd": "make"}',
                success="true",
                output="Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nno rule\n",
            ),
            ("exec_command", {"cmd": "make"}, "no rule\n", False, 2),
        ),
        (
            log(
                "codex_otel.log_only",
                "codex.tool_result",
                tool_name="apply_patch",
                arguments="*** Begin Patch\n*** End Patch",
                success="true",
                output="Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.",
            ),
            ("apply_patch", {"patch": "*** Begin Patch\n*** End Patch"}, "Success.", False, 0),
        ),
        (
            log(
                "gemini-cli",
                "gemini_cli.tool_call",
                function_name="run_shell_command",
                function_args='{\n  "command": "exit 3"\n}',
                success=True,
                metadata='{"exitCode": 3, "isError": true}',
            ),
            ("run_shell_command", {"command": "exit 3"}, None, False, 3),
        ),
        (
            span(
                "gemini-cli",
                "tool_call",
                status=Status.OK,
                gen_ai__operation__name="tool_call",
                gen_ai__tool__name="read_file",
                named={
                    "gen_ai.input.messages": '{"callId":"c","name":"read_file","args":{"file_path":"a"}}',
                    "gen_ai.output.messages": json.dumps(
                        {
                            "status": "error",
                            "response": {
                                "responseParts": [{"functionResponse": {"response": {"error": "File not found: a"}}}]
                            },
                        }
                    ),
                },
            ),
            ("read_file", {"file_path": "a"}, "File not found: a", True, None),
        ),
        (
            log("cline", "task.tool_used", tool="read_file", success=False, ulid="t"),
            ("read_file", None, None, True, None),
        ),
        (
            span("goose", "dispatch_tool_call", input='{"tool":"shell","arguments":{"command":"ls"}}', output="a.py"),
            ("shell", {"command": "ls"}, "a.py", None, None),
        ),
        (
            span(
                "openclaw",
                "openclaw.tool.execution",
                openclaw__toolName="exec",
                openclaw__tool__params__command="ls",
                openclaw__errorCategory="timeout",
            ),
            ("exec", {"command": "ls"}, None, True, None),
        ),
        (
            span(
                "opencode",
                "ai.toolCall",
                ai__operationId="ai.toolCall",
                ai__toolCall__name="invalid",
                ai__toolCall__args='{"tool":"lint","error":"no such tool"}',
                ai__toolCall__result='{"title":"Invalid Tool","output":"arguments are invalid","metadata":{}}',
            ),
            ("lint", {"tool": "lint", "error": "no such tool"}, "arguments are invalid", True, None),
        ),
        (
            span(
                "opencode",
                "ai.toolCall",
                ai__toolCall__name="bash",
                ai__toolCall__args='{"command":"make"}',
                ai__toolCall__result='{"title":"make","output":"no rule","metadata":{"output":"no rule","exit":2}}',
            ),
            ("bash", {"command": "make"}, "no rule", None, 2),
        ),
        (
            span(
                "genkit-tracer",
                "shell",
                named={
                    "genkit:metadata:subtype": "tool",
                    "genkit:name": "shell",
                    "genkit:input": '{"cmd":"x"}',
                    "genkit:output": '{"exitCode":3}',
                    "genkit:state": "success",
                },
            ),
            ("shell", {"cmd": "x"}, {"exitCode": 3}, False, 3),
        ),
        (
            span(
                "org.springframework.boot",
                "execute_tool weather",
                gen_ai__operation__name="framework",
                spring__ai__tool__definition__name="weather",
                spring__ai__tool__call__arguments='{"city":"Oslo"}',
                spring__ai__tool__call__result='"rain"',
            ),
            ("weather", {"city": "Oslo"}, "rain", None, None),
        ),
        (
            span(
                "github.copilot",
                "execute_tool bash bash",
                gen_ai__operation__name="execute_tool",
                gen_ai__tool__name="bash",
                gen_ai__tool__call__arguments='{"command":"make"}',
                process__exit__code="2",
            ),
            ("bash", {"command": "make"}, None, None, 2),
        ),
    ],
)
def test_a_call_is_read_as_its_host_writes_it(
    view: SpanView, expected: tuple[str, object, object, bool | None, int | None]
) -> None:
    """Name, arguments, result, failure and exit code, each from where the host puts it."""
    assert told(called(view)) == expected


@pytest.mark.parametrize(
    "view",
    [
        log(
            CLAUDE_EVENTS, "tool_decision", tool_name="Bash", decision="reject", tool_parameters='{"full_command":"rm"}'
        ),
        log("codex_otel.log_only", "codex.tool_decision", tool_name="exec_command", decision="denied"),
        log("gemini-cli", "gemini_cli.tool_call", function_name="write_file", success=False, decision="reject"),
        log("qwen-code", "qwen-code.tool_call", function_name="edit", success=False, status="cancelled"),
        span("openclaw", "openclaw.tool.execution", openclaw__toolName="exec", openclaw__outcome="blocked"),
        span(
            "opencode",
            "ai.toolCall",
            ai__toolCall__name="bash",
            status=Status.ERROR,
            events=(EventView("exception", 1, {"exception.message": "The user rejected permission to use this tool"}),),
        ),
    ],
)
def test_a_refused_call_is_denied_and_failed(view: SpanView) -> None:
    """A person's or a policy's no is told apart from a failure of the tool."""
    call = called(view)

    assert (call.denied, call.failed) == (True, True)


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (log(CLAUDE_EVENTS, "user_prompt"), UserMark()),
        (log("codex_otel.log_only", "codex.user_prompt"), UserMark()),
        (log("cline", "task.conversation_turn", source="user"), UserMark()),
        (log("cline", "task.conversation_turn", source="assistant"), None),
        (
            log(CLAUDE_EVENTS, "compaction", success="true", pre_tokens="3603", post_tokens="2672"),
            CompactionMark("claude-code:compaction", 3603, 2672, certain=True),
        ),
        (log(CLAUDE_EVENTS, "compaction", success="false"), None),
        (
            log("gemini-cli", "gemini_cli.chat_compression", tokens_before=9000, tokens_after=800),
            CompactionMark("gemini-cli:gemini_cli.chat_compression", 9000, 800, certain=True),
        ),
        (span("codex_exec", "codex.compaction"), CompactionMark("codex:codex.compaction", certain=True)),
        (
            span("opencode", "SessionCompaction.process"),
            CompactionMark("opencode:SessionCompaction.process", certain=True),
        ),
        (log("gemini-cli", "loop_detected", loop_type="x"), HostHint("loop_detected")),
        (log("gemini-cli", "gemini_cli.llm_loop_check", flash_confidence=0.2), None),
        (span("openclaw", "openclaw.session.stuck"), HostHint("openclaw.session.stuck")),
        (span("qwen-code", "qwen-code.hook", status=Status.ERROR), None),
        (log(CLAUDE_EVENTS, "tool_decision", tool_name="Bash", decision="accept"), None),
        (log("codex_otel.log_only", "codex.sse_event", event__kind="response.created"), None),
    ],
)
def test_other_signals_are_read_as_what_they_are(view: SpanView, expected: object) -> None:
    """People, compactions, hosts' own signs, and what counts for nothing."""
    assert read(view).record == expected


def test_a_digest_of_the_work_tree_is_a_hint() -> None:
    """OpenCode writes it as the body of a record, as a list with a word before it."""
    view = SpanView(TRACE, "log:1", "", "", 1, 1, scope="opencode", log=True, body=("tracking", '{"hash":"abc"}'))

    assert read(view).record == HostHint(digest="abc")


def test_shortened_arguments_are_truncated() -> None:
    """What a host shortened equals nothing, though it parses."""
    view = log(CLAUDE_EVENTS, "tool_result", tool_name="Write", tool_input='{"content":"abc…[9000 chars]"}')

    assert called(view).arguments.capture is Capture.TRUNCATED


def test_input_tokens_hold_the_cached_ones() -> None:
    """The record counts them apart, the span's attribute of the convention holds all."""
    parts: dict[str, Any] = {"input_tokens": 1200, "cache_read_tokens": 800, "cache_creation_tokens": 100}
    turns = [
        read(log(CLAUDE_EVENTS, "api_request", **parts)).record,
        read(span(CLAUDE_SPANS, "claude_code.llm_request", gen_ai__usage__input_tokens=2100, **parts)).record,
    ]

    assert [turn.input_tokens for turn in turns if isinstance(turn, ModelCall)] == [2100, 2100]


def claude_call(number: int, *, command: str = "make", success: bool = True, logged: bool = True) -> list[SpanView]:
    """Return what Claude Code writes of one shell call in the second of that number."""
    at, own = float(number), f"{number:016x}"
    call_id: dict[str, Any] = {"tool_use_id": f"toolu_{number}"}
    tool = span(
        CLAUDE_SPANS, "claude_code.tool", (at, at + 0.5), ids=(own, "f" * 16), tool_name="Bash", full_command=command,
        **call_id, session__id="s-1",
    )  # fmt: skip
    run = span(
        CLAUDE_SPANS, "claude_code.tool.execution", (at + 0.1, at + 0.4), ids=(f"e{number:015x}", own),
        success=success, **call_id, session__id="s-1", status=Status.UNSET if success else Status.ERROR,
    )  # fmt: skip
    record = log(
        CLAUDE_EVENTS, "tool_result", at + 0.51, tool_name="Bash", tool_input=json.dumps({"command": command}),
        success=str(success).lower(), **call_id, session__id="s-1",
    )  # fmt: skip
    return [tool, run, *([record] if logged else [])]


def turn(number: float, stop: str = "tool_use", name: str = "claude_code.llm_request") -> SpanView:
    """Return a model turn of Claude Code."""
    return span(
        CLAUDE_SPANS, name, (number, number + 0.1), ids=(f"c{int(number * 10):015x}", "f" * 16), stop_reason=stop,
        session__id="s-1",
    )  # fmt: skip


def steps(found: Analysis) -> list[tuple[str, int, list[tuple[bool, str]]]]:
    """Return lanes with their steps: failed, and arguments."""
    return [(c.lane, c.steps, [(d.failed, d.arguments.value) for d in c.details]) for c in found.conversations]


def test_span_part_and_record_are_one_call() -> None:
    """The outcome stands in a part, the arguments in the record: one step has both."""
    views = [*claude_call(1), *claude_call(2, success=False)]

    assert steps(analyze(views, details=True)) == [("main", 2, [(False, "captured"), (True, "captured")])]


def test_a_refusal_is_one_call_with_its_span() -> None:
    """The span of a refused call has no word of it; the record of the decision has."""
    views = [
        *claude_call(1, logged=False)[:1],
        log(CLAUDE_EVENTS, "tool_decision", 1.4, tool_name="Bash", decision="reject", tool_use_id="toolu_1", **SESSION),
    ]
    ((lane, count, found),) = steps(analyze(views, details=True))

    assert (lane, count, found) == ("main", 1, [(True, "captured")])


def test_six_calls_that_leave_no_trace_are_a_stall() -> None:
    """The host refuses the call, the model asks again: nothing but the model's turns shows it."""
    views = [*claude_call(1), *(turn(2 + number) for number in range(7)), turn(9, "end_turn")]
    (lane,) = analyze(views, details=True).conversations

    assert (lane.steps, [stall.kind.value for stall in lane.stalls]) == (1, ["no_gradient"])
    assert "7 times the model asked for a tool and the host ran none" in lane.stalls[0].evidence


def test_a_call_that_ran_while_the_answer_came_in_is_no_ghost() -> None:
    """A tool may start and end before the turn that asked for it has ended."""
    early = span(
        CLAUDE_SPANS, "claude_code.tool", (1.02, 1.05), tool_name="Bash", full_command="ls", tool_use_id="t", **SESSION
    )
    views = [turn(1), early, *(turn(2 + number, "end_turn") for number in range(7))]
    (lane,) = analyze(views, details=True).conversations

    assert lane.counters.steps_since_gain == 0


def test_a_sub_agent_is_told_by_its_id_not_by_its_conversation() -> None:
    """Claude Code gives a sub-agent a conversation id of its own; the session stays."""
    views = claude_call(1, logged=False)[:1]
    views.append(
        span(
            CLAUDE_SPANS, "claude_code.tool", (3, 4), ids=("9" * 16, "8" * 16), tool_name="Bash", full_command="ls",
            tool_use_id="toolu_9", agent_id="sub", session__id="s-1", gen_ai__conversation__id="sub",
        )
    )  # fmt: skip

    assert [(c.conversation, c.lane) for c in analyze(views).conversations] == [("s-1", "main"), ("s-1", "sub")]


def test_a_new_interaction_is_a_turn_of_the_user() -> None:
    """Without records, the span around the calls tells: streaks start anew with the next one."""
    same = [claude_call(number, success=False, logged=False) for number in range(1, 9)]
    other = [
        [
            SpanView(**{f: getattr(v, f) for f in v.__slots__} | {"parent_id": v.parent_id.replace("f", "d")})
            for v in call
        ]
        for call in same[5:]
    ]
    flat = [view for call in (*same[:5], *other) for view in call]
    (lane,) = analyze(flat).conversations
    (alone,) = analyze([view for call in same for view in call]).conversations

    assert (lane.counters.steps_since_gain < alone.counters.steps_since_gain, bool(alone.stalls)) == (True, True)


def test_records_of_a_session_go_on_in_a_resumed_process() -> None:
    """Another process, other traces, counters of events that restart: one conversation."""
    first = claude_call(1)
    second = [SpanView(**{f: getattr(v, f) for f in v.__slots__} | {"trace_id": "b" * 32}) for v in claude_call(2)]

    assert [(c.conversation, c.steps) for c in analyze([*first, *second]).conversations] == [("s-1", 2)]


def test_an_agent_span_of_copilot_is_a_turn_of_the_user() -> None:
    """It starts one for each message, and none of them names the main agent, which keeps its lane."""
    views: list[SpanView] = []
    for number in range(8):
        root = f"{'d' if number < 5 else 'e'}" * 16
        views.append(
            span(
                "github.copilot", "execute_tool view", (number, number + 0.5), ids=(f"{number:016x}", root),
                gen_ai__operation__name="execute_tool", gen_ai__tool__name="view", gen_ai__conversation__id="c",
                gen_ai__tool__call__arguments='{"path":"a"}', gen_ai__tool__call__result="x",
            )
        )  # fmt: skip
    for root, ends in (("d" * 16, 5), ("e" * 16, 9)):
        views.append(
            span("github.copilot", "invoke_agent", (0, ends), ids=(root, ""), gen_ai__operation__name="invoke_agent")
        )
    (lane,) = analyze(views).conversations

    assert (lane.lane, lane.steps, lane.counters.steps_since_gain) == ("main", 8, 3)
