"""Rows of Gemini CLI, and of Qwen Code, which grew from it: records beside spans, and states of calls as messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from otel_stall.dialects.payloads import mapping
from otel_stall.dialects.sightings import Sighting, first_label, label, plain_text, reads
from otel_stall.dialects.table import Dialect, Model, Role, Says, Tool, by_name, refused
from otel_stall.spans import CutText

__all__ = ["GEMINI_CLI", "QWEN_CODE"]

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
_GEMINI_ROLE: Final = by_name(_GEMINI)
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
    return mapping(call).get("args", _cut(call) if isinstance(_cut(call), CutText) else None)


@reads("gen_ai.output.messages")
def _gemini_result(seen: Sighting) -> object:
    """Return what the model is given back, of a span whose output is the whole state of the call."""
    state = seen.known.get("gen_ai.output.messages")
    if isinstance(cut := _cut(state), CutText):
        return cut
    response = mapping(state).get("response")
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
    status = mapping(state).get("status")
    if status is None and isinstance(state, str):
        status = next((word for word in ("success", "error") if state.startswith(f'{{"status":"{word}"')), None)
    return {"error": True, "cancelled": True, "success": False}.get(label(status))


@reads("gen_ai.output.messages", "status")
def _gemini_cancelled(seen: Sighting) -> object:
    status = seen.known.get("status", mapping(seen.known.get("gen_ai.output.messages")).get("status"))
    return True if label(status) == "cancelled" else None


@reads("metadata")
def _gemini_exit(seen: Sighting) -> object:
    return mapping(seen.known.get("metadata")).get("exitCode")


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
    told_twice=True,
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
        denied=(refused, _gemini_cancelled),
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
    told_twice=True,
    marks=(),
    scopes=("qwen-code",),
    role=by_name(_QWEN),
    names=_QWEN,
    tool=Tool(
        name=("function_name", "gen_ai.tool.name", "tool_name"),
        arguments=("gen_ai.tool.call.arguments", "function_args"),
        result=("gen_ai.tool.call.result", _gemini_error),
        call_id=("gen_ai.tool.call.id", "call_id", "tool.call_id"),
        says=(Says("success", failed=False, succeeded=True),),
        exit_code=(_gemini_exit,),
        denied=(refused, _gemini_cancelled),
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
