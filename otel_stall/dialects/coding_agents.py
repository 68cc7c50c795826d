"""Rows of the coding agents: how each writes calls, turns, compactions and people into spans and log records.

Most say a call twice, as a span and as a record with other fields; `doubles` makes one call of them.
Names were seen in recordings of the versions that `docs/hosts.md` gives, the others read in their sources.
"""

from __future__ import annotations

import json
import re
from typing import Final

from otel_stall.dialects.gemini import GEMINI_CLI, QWEN_CODE
from otel_stall.dialects.payloads import mapping
from otel_stall.dialects.sightings import Sighting, first_label, from_event, label, number, plain_text, reads
from otel_stall.dialects.table import Dialect, Model, Role, Says, Tool, by_name, refused
from otel_stall.spans import CutText

__all__ = ["CODING_AGENTS"]


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
_CLAUDE_ROLE: Final = by_name(_CLAUDE, whole=True)
_SHORTENED: Final = re.compile(r"…\[(?:[0-9]{1,12} chars|truncated)\]")
_COMPLETE: Final = "full_command"
_IN_PART: Final = ("file_path", "skill_name", "subagent_type")


@reads("decision", "query_source_safe", "success")
def _claude(seen: Sighting) -> Role | None:
    role, name = _CLAUDE_ROLE(seen), seen.view.name
    if name in ("tool_decision", "claude_code.tool.blocked_on_user") and refused(seen) is None:
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
    command = seen.known.get(_COMPLETE) or mapping(seen.known.get("tool_parameters")).get(_COMPLETE)
    if isinstance(command, str) and command:
        return {"command": command}
    part = {name: label(seen.known[name]) for name in _IN_PART if name in seen.known}
    return CutText(json.dumps(part)) if part else None


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
    told_twice=True,
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
        denied=(refused,),
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
_CODEX_ROLE: Final = by_name(_CODEX, whole=True)
_CODEX_HEAD: Final = re.compile(r"(?:Process exited with code|Exit code:) (-?[0-9]{1,10})")
_HEADER: Final = 400


@reads("decision", "input_token_count")
def _codex(seen: Sighting) -> Role | None:
    if seen.view.name == "codex.tool_decision" and refused(seen) is None:
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
        denied=(refused,),
    ),
    model=Model(input_tokens=("input_token_count",), output_tokens=("output_token_count",)),
    conversation=("conversation.id", "thread_id"),
    agent=(_codex_agent,),
)


# Cline, whose records are named by their text, and Goose

_CLINE: Final = {
    "task.tool_used": Role.TOOL,
    "task.conversation_turn": Role.USER,
    "task.compaction_executed": Role.COMPACTION,
    "task.mistake_limit_reached": Role.HINT,
    "task.terminal_hang": Role.HINT,
}
_CLINE_ROLE: Final = by_name(_CLINE)


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
    return mapping(seen.known.get("input")).get("tool")


@reads("input")
def _goose_arguments(seen: Sighting) -> object:
    return mapping(seen.known.get("input")).get("arguments")


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

CODING_AGENTS: Final[tuple[Dialect, ...]] = (
    CLAUDE_CODE,
    CODEX,
    GEMINI_CLI,
    QWEN_CODE,
    CLINE,
    GOOSE,
    OPENCLAW,
)
