"""Rows of the coding agents: how each writes calls, turns, compactions and people into spans and log records.

Most say a call twice, as a span and as a record with other fields; `doubles` makes one call of them.
Names were seen in recordings of the versions that `docs/hosts.md` gives, the others read in their sources.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Final

from otel_stall.dialects.payloads import parse_json
from otel_stall.dialects.sightings import Sighting, first_label, from_event, label, number, plain_text, reads
from otel_stall.dialects.table import Dialect, Model, Role, Says, Tool
from otel_stall.spans import CutText

__all__ = ["CODING_AGENTS"]

_REFUSED: Final = frozenset({"reject", "rejected", "denied", "deny", "abort", "cancel", "cancelled"})


def _named(table: Mapping[str, Role], *, whole: bool = False) -> Callable[[Sighting], Role | None]:
    """Return a role function by the name of span or event.

    Records of other names count for nothing, and where the table is `whole`, spans too.
    """

    def role(seen: Sighting) -> Role | None:
        return table.get(seen.view.name, Role.OTHER if whole or seen.view.log else None)

    return role


@reads("decision")
def _refused(seen: Sighting) -> object:
    return True if label(seen.known.get("decision")).lower() in _REFUSED else None


def _mapping(value: object) -> Mapping[str, object]:
    parsed = parse_json(value)
    return parsed if isinstance(parsed, Mapping) else {}


# Claude Code

_CLAUDE: Final = {
    "tool_result": Role.TOOL,
    "tool_decision": Role.TOOL,
    "user_prompt": Role.USER,
    "compaction": Role.COMPACTION,
    "api_request": Role.MODEL,
    "claude_code.tool": Role.TOOL,
    "claude_code.tool.execution": Role.PART,
    "claude_code.tool.blocked_on_user": Role.PART,
    "claude_code.llm_request": Role.MODEL,
    "claude_code.interaction": Role.OTHER,
}
_CLAUDE_ROLE: Final = _named(_CLAUDE, whole=True)
_SHORTENED: Final = re.compile(r"…\[(?:[0-9]{1,12} chars|truncated)\]")
_COMPLETE: Final = "full_command"
_IN_PART: Final = ("file_path", "skill_name", "subagent_type")


@reads("decision", "query_source_safe", "success")
def _claude(seen: Sighting) -> Role | None:
    role, name = _CLAUDE_ROLE(seen), seen.view.name
    if name in ("tool_decision", "claude_code.tool.blocked_on_user") and _refused(seen) is None:
        return Role.OTHER
    if name == "compaction" and label(seen.known.get("success")).lower() == "false":
        return Role.OTHER
    if role is Role.MODEL and label(seen.known.get("query_source_safe")) == "compact":
        return Role.COMPACTION
    return role


@reads("tool_input", "tool_parameters", _COMPLETE, *_IN_PART)
def _claude_arguments(seen: Sighting) -> object:
    """Return the arguments; of most tools a span tells one of several, and a record shortens long ones."""
    given = seen.known.get("tool_input")
    if isinstance(given, str) and given:
        return CutText(given) if _SHORTENED.search(given) else given
    command = seen.known.get(_COMPLETE) or _mapping(seen.known.get("tool_parameters")).get(_COMPLETE)
    if isinstance(command, str) and command:
        return {"command": command}
    part = {name: seen.known[name] for name in _IN_PART if name in seen.known}
    return CutText(json.dumps(part, default=str)) if part else None


@reads("gen_ai.usage.input_tokens", "input_tokens", "cache_read_tokens", "cache_creation_tokens")
def _claude_tokens(seen: Sighting) -> object:
    """Return all input tokens; without the convention's attribute the cached ones are counted apart."""
    whole = number(seen.known.get("gen_ai.usage.input_tokens"))
    if whole is not None:
        return whole
    apart = [number(seen.known.get(name)) for name in ("input_tokens", "cache_read_tokens", "cache_creation_tokens")]
    return sum(count for count in apart if count is not None) if apart[0] is not None else None


@reads("agent_id")
def _claude_turn(seen: Sighting) -> object:
    """Return the interaction that a span of the main agent lies in."""
    return None if seen.view.log or "agent_id" in seen.known else seen.view.parent_id


CLAUDE_CODE: Final = Dialect(
    name="claude-code",
    marks=(),
    scopes=("com.anthropic.claude_code",),
    role=_claude,
    names=_CLAUDE,
    tool=Tool(
        name=("tool_name", "gen_ai.tool.name"),
        arguments=(_claude_arguments,),
        result=tuple(from_event("tool.output", key) for key in ("output", "content", "diff")),
        call_id=("tool_use_id", "gen_ai.tool.call.id"),
        says=(Says("success", failed=False, succeeded=True),),
        denied=(_refused,),
        message=("error",),
    ),
    model=Model(
        input_tokens=(_claude_tokens,),
        output_tokens=("gen_ai.usage.output_tokens", "output_tokens"),
        finish=("stop_reason", "gen_ai.response.finish_reasons"),
        traced=True,
    ),
    conversation=("session.id",),
    agent=("agent.name",),
    agent_id=("agent_id",),
    turn=(_claude_turn,),
)


# Codex

_CODEX: Final = {
    "codex.tool_result": Role.TOOL,
    "codex.tool_decision": Role.TOOL,
    "codex.user_prompt": Role.USER,
    "codex.sse_event": Role.MODEL,
    "codex.compaction": Role.COMPACTION,
    "run_auto_compact": Role.COMPACTION,
}
_CODEX_ROLE: Final = _named(_CODEX, whole=True)
_CODEX_HEAD: Final = re.compile(r"(?:Process exited with code|Exit code:) (-?[0-9]{1,10})")
_HEADER: Final = 400


@reads("decision", "input_token_count")
def _codex(seen: Sighting) -> Role | None:
    if seen.view.name == "codex.tool_decision" and _refused(seen) is None:
        return Role.OTHER
    if seen.view.name == "codex.sse_event" and "input_token_count" not in seen.known:
        return Role.OTHER
    return _CODEX_ROLE(seen)


@reads("arguments")
def _codex_arguments(seen: Sighting) -> object:
    """Return the arguments; those of `apply_patch` are the bare patch."""
    given = seen.known.get("arguments")
    return {"patch": given} if isinstance(given, str) and given.startswith("*** Begin Patch") else given


@reads("output")
def _codex_output(seen: Sighting) -> object:
    """Return the output without the lines before it, which tell a new id and time at every call."""
    text = seen.known.get("output")
    if not isinstance(text, str):
        return text
    head, found, rest = text[:_HEADER].partition("Output:\n")
    return rest + text[_HEADER:] if found and _CODEX_HEAD.search(head) else text


@reads("output")
def _codex_exit(seen: Sighting) -> object:
    text = seen.known.get("output")
    found = _CODEX_HEAD.search(text[:_HEADER]) if isinstance(text, str) else None
    return found.group(1) if found else None


@reads("agent_name")
def _codex_agent(seen: Sighting) -> object:
    """Return the agent's path below the root, which is the main agent."""
    return ".".join(label(seen.known.get("agent_name")).strip("/").split("/")[1:]) or None


CODEX: Final = Dialect(
    name="codex",
    marks=(),
    scopes=("codex",),
    role=_codex,
    names=_CODEX,
    tool=Tool(
        name=("tool_name",),
        arguments=(_codex_arguments,),
        result=(_codex_output,),
        call_id=("call_id",),
        says=(Says("success", failed=False, succeeded=True),),
        cut=("output_truncated",),
        exit_code=(_codex_exit,),
        denied=(_refused,),
    ),
    model=Model(input_tokens=("input_token_count",), output_tokens=("output_token_count",)),
    conversation=("conversation.id", "thread_id"),
    agent=(_codex_agent,),
)


# Gemini CLI and what grew from it

_CUT_MARK: Final = "...[TRUNCATED: original length"
_WRAPPED: Final = re.compile(r"\A<untrusted_context>\n?(?:Output: )?|\n?</untrusted_context>\Z")
_VOLATILE: Final = re.compile(r"^Process Group PGID: .{0,40}\n?|^Directory: .{0,400}\n?", re.MULTILINE)
_PROMPT: Final = re.compile(r'"prompt_id":"([^"]{1,200})"')
_GEMINI: Final = {
    "gemini_cli.tool_call": Role.TOOL,
    "tool_call": Role.TOOL,
    "gemini_cli.user_prompt": Role.USER,
    "gemini_cli.chat_compression": Role.COMPACTION,
    "gemini_cli.api_response": Role.MODEL,
    "llm_call": Role.MODEL,
    "loop_detected": Role.HINT,
    "gemini_cli.loop_detected": Role.HINT,
    "gemini_cli.llm_loop_check": Role.HINT,
    "schedule_tool_calls": Role.OTHER,
    "agent_call": Role.OTHER,
}
_GEMINI_ROLE: Final = _named(_GEMINI)
_SURE: Final = 0.9


@reads("flash_confidence", "main_model_confidence")
def _gemini(seen: Sighting) -> Role | None:
    if seen.view.name == "gemini_cli.llm_loop_check":
        sure = (seen.known.get(name) for name in ("flash_confidence", "main_model_confidence"))
        return Role.HINT if any(isinstance(each, float) and each >= _SURE for each in sure) else Role.OTHER
    return _GEMINI_ROLE(seen)


def _cut(value: object) -> object:
    return CutText(value) if isinstance(value, str) and _CUT_MARK in value[-120:] else value


@reads("function_args", "gen_ai.input.messages")
def _gemini_arguments(seen: Sighting) -> object:
    given = seen.known.get("function_args")
    if given is not None:
        return _cut(given)
    call = seen.known.get("gen_ai.input.messages")
    return _mapping(call).get("args", _cut(call) if isinstance(_cut(call), CutText) else None)


@reads("gen_ai.output.messages")
def _gemini_result(seen: Sighting) -> object:
    """Return what the model is given back, of a span whose output is the whole state of the call."""
    state = seen.known.get("gen_ai.output.messages")
    if isinstance(cut := _cut(state), CutText):
        return cut
    response = _mapping(state).get("response")
    parts = response.get("responseParts") if isinstance(response, Mapping) else None
    for part in parts[:4] if isinstance(parts, list) else ():
        answer = part.get("functionResponse") if isinstance(part, Mapping) else None
        said = answer.get("response") if isinstance(answer, Mapping) else None
        if isinstance(said, Mapping):
            return _bare(said.get("output", said.get("error")))
    return None


@reads("error")
def _gemini_error(seen: Sighting) -> object:
    return _bare(seen.known.get("error"))


def _bare(said: object) -> object:
    return _VOLATILE.sub("", _WRAPPED.sub("", plain_text(said))) if isinstance(said, str) else said


@reads("gen_ai.output.messages")
def _gemini_failed(seen: Sighting) -> object:
    state = seen.known.get("gen_ai.output.messages")
    status = _mapping(state).get("status")
    if status is None and isinstance(state, str):
        status = next((word for word in ("success", "error") if state.startswith(f'{{"status":"{word}"')), None)
    return {"error": True, "cancelled": True, "success": False}.get(label(status))


@reads("gen_ai.output.messages", "status")
def _gemini_cancelled(seen: Sighting) -> object:
    status = seen.known.get("status", _mapping(seen.known.get("gen_ai.output.messages")).get("status"))
    return True if label(status) == "cancelled" else None


@reads("metadata")
def _gemini_exit(seen: Sighting) -> object:
    return _mapping(seen.known.get("metadata")).get("exitCode")


@reads("prompt_id", "gen_ai.input.messages", "session.id", "gen_ai.conversation.id")
def _gemini_agent(seen: Sighting) -> object:
    """Return the id of the sub-agent that a call or turn belongs to: its prompts are numbered behind it."""
    given = label(seen.known.get("prompt_id"))
    call = seen.known.get("gen_ai.input.messages")
    if not given and isinstance(call, str) and (found := _PROMPT.search(call)):
        given = found.group(1)
    agent, numbered, _ = given.partition("#")
    mine = (label(seen.known.get("session.id")), label(seen.known.get("gen_ai.conversation.id")))
    return agent if numbered and agent not in mine else None


GEMINI_CLI: Final = Dialect(
    name="gemini-cli",
    marks=(),
    scopes=("gemini-cli",),
    role=_gemini,
    names=_GEMINI,
    tool=Tool(
        name=("function_name", "gen_ai.tool.name"),
        arguments=(_gemini_arguments,),
        result=(_gemini_result, _gemini_error),
        call_id=("gen_ai.tool.call_id",),
        says=(Says("success", failed=False, succeeded=True),),
        failed=(_gemini_failed,),
        exit_code=(_gemini_exit,),
        denied=(_refused, _gemini_cancelled),
        message=("error.message", "error"),
    ),
    model=Model(
        output=("gen_ai.output.messages",),
        input_tokens=("gen_ai.usage.input_tokens", "input_token_count"),
        output_tokens=("gen_ai.usage.output_tokens", "output_token_count"),
    ),
    conversation=("gen_ai.conversation.id", "session.id"),
    agent_id=(_gemini_agent,),
)

_QWEN: Final = {
    "qwen-code.tool_call": Role.TOOL,
    "qwen-code.tool": Role.TOOL,
    "qwen-code.tool.execution": Role.PART,
    "qwen-code.tool.blocked_on_user": Role.PART,
    "qwen-code.user_prompt": Role.USER,
    "qwen-code.chat_compression": Role.COMPACTION,
    "qwen-code.llm_request": Role.MODEL,
    "qwen-code.api_response": Role.MODEL,
    "qwen-code.interaction": Role.AGENT,
    "qwen-code.subagent": Role.AGENT,
    "qwen-code.hook": Role.OTHER,
    "loop_detected": Role.HINT,
    "qwen-code.loop_detected": Role.HINT,
    "qwen-code.repeated_tool_failure_guard": Role.HINT,
}


@reads("qwen-code.subagent.id", "prompt_id", "qwen-code.prompt_id")
def _qwen_agent(seen: Sighting) -> object:
    """Return the sub-agent's id, which stands in the middle of its prompts' ids."""
    given = label(seen.known.get("qwen-code.subagent.id"))
    prompt = first_label(seen, ("prompt_id", "qwen-code.prompt_id")).split("#")
    return given or (prompt[1] if len(prompt) > 1 else None) or None


@reads("prompt_id", "qwen-code.prompt_id")
def _qwen_main(seen: Sighting) -> object:
    return "qwen-code" if seen.view.log and not _qwen_agent(seen) else None


QWEN_CODE: Final = Dialect(
    name="qwen-code",
    marks=(),
    scopes=("qwen-code",),
    role=_named(_QWEN),
    names=_QWEN,
    tool=Tool(
        name=("function_name", "gen_ai.tool.name", "tool_name"),
        arguments=("gen_ai.tool.call.arguments", "function_args"),
        result=("gen_ai.tool.call.result", _gemini_error),
        call_id=("gen_ai.tool.call.id", "call_id", "tool.call_id"),
        says=(Says("success", failed=False, succeeded=True),),
        exit_code=(_gemini_exit,),
        denied=(_refused, _gemini_cancelled),
        message=("error.message",),
    ),
    model=Model(
        output=("gen_ai.output.messages", "response_text"),
        input_tokens=("gen_ai.usage.input_tokens", "input_token_count"),
        output_tokens=("gen_ai.usage.output_tokens", "output_token_count"),
        finish=("finish_reason", "gen_ai.response.finish_reasons"),
        traced=True,
    ),
    conversation=("session.id", "gen_ai.conversation.id"),
    agent=(_qwen_main,),
    agent_id=(_qwen_agent,),
)


# Cline, whose records are named by their text, and Goose

_CLINE: Final = {
    "task.tool_used": Role.TOOL,
    "task.conversation_turn": Role.USER,
    "task.compaction_executed": Role.COMPACTION,
    "task.mistake_limit_reached": Role.HINT,
    "task.terminal_hang": Role.HINT,
}
_CLINE_ROLE: Final = _named(_CLINE)


@reads("source", "role")
def _cline(seen: Sighting) -> Role | None:
    if seen.view.name == "task.conversation_turn" and first_label(seen, ("source", "role")) != "user":
        return Role.OTHER
    return _CLINE_ROLE(seen)


CLINE: Final = Dialect(
    name="cline",
    marks=(),
    scopes=("cline",),
    role=_cline,
    names=_CLINE,
    tool=Tool(name=("tool", "tool_name"), says=(Says("success", failed=False, succeeded=True),)),
    conversation=("ulid", "task_id", "taskId", "conversationId"),
    agent_id=("agentId",),
)


_GOOSE: Final = {"dispatch_tool_call": Role.TOOL}


def _goose(seen: Sighting) -> Role | None:
    return _GOOSE.get(seen.view.name)


@reads("input")
def _goose_tool(seen: Sighting) -> object:
    return _mapping(seen.known.get("input")).get("tool")


@reads("input")
def _goose_arguments(seen: Sighting) -> object:
    return _mapping(seen.known.get("input")).get("arguments")


GOOSE: Final = Dialect(
    name="goose",
    marks=(),
    scopes=("goose",),
    role=_goose,
    names=_GOOSE,
    tool=Tool(
        name=("gen_ai.tool.name", _goose_tool),
        arguments=("gen_ai.tool.call.arguments", _goose_arguments),
        result=("gen_ai.tool.call.result", "output"),
        call_id=("gen_ai.tool.call.id",),
    ),
    conversation=("session.id",),
)


# OpenClaw

_OPENCLAW: Final = {
    "openclaw.tool.execution": Role.TOOL,
    "openclaw.exec": Role.PART,
    "openclaw.tool.loop": Role.HINT,
    "openclaw.session.stuck": Role.HINT,
    "openclaw.message.processed": Role.USER,
}
_OPENCLAW_PARAMETERS: Final = "openclaw.tool.params."


def _openclaw(seen: Sighting) -> Role | None:
    return _OPENCLAW.get(seen.view.name)


@reads("openclaw.content.tool_input")
def _openclaw_arguments(seen: Sighting) -> object:
    given = seen.known.get("openclaw.content.tool_input")
    apart = {
        plain_text(name).removeprefix(_OPENCLAW_PARAMETERS): value
        for name, value in seen.view.attributes.items()
        if name.startswith(_OPENCLAW_PARAMETERS)
    }
    return given if given is not None else apart or None


@reads("openclaw.outcome")
def _openclaw_blocked(seen: Sighting) -> object:
    return True if label(seen.known.get("openclaw.outcome")) == "blocked" else None


@reads("openclaw.errorCategory", "openclaw.errorCode")
def _openclaw_failed(seen: Sighting) -> object:
    return True if first_label(seen, ("openclaw.errorCategory", "openclaw.errorCode")) else None


OPENCLAW: Final = Dialect(
    name="openclaw",
    marks=("openclaw.toolName", "openclaw.exec.exit_code", "openclaw.outcome"),
    scopes=("openclaw",),
    role=_openclaw,
    names=_OPENCLAW,
    tool=Tool(
        name=("gen_ai.tool.name", "openclaw.toolName"),
        arguments=("gen_ai.tool.call.arguments", _openclaw_arguments),
        result=("gen_ai.tool.call.result", "openclaw.content.tool_output"),
        call_id=("gen_ai.tool.call.id",),
        exit_code=("openclaw.exec.exit_code",),
        failed=(_openclaw_failed,),
        denied=(_openclaw_blocked,),
    ),
)

CODING_AGENTS: Final[tuple[Dialect, ...]] = (CLAUDE_CODE, CODEX, GEMINI_CLI, QWEN_CODE, CLINE, GOOSE, OPENCLAW)
