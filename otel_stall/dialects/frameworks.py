"""Rows of agent frameworks and hosts in TypeScript and Java that write spans in a way of their own.

Those that follow the GenAI convention (Mastra, Copilot, .NET agents, the newer AI SDK) need no row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from otel_stall.dialects.payloads import mapping, parse_json
from otel_stall.dialects.sightings import Sighting, first_label, label, plain_text, reads
from otel_stall.dialects.table import Dialect, Model, Role, Says, Tells, Tool

__all__ = ["FRAMEWORKS", "worktree"]


# The AI SDK up to version 6, and OpenCode and Kilo, which are built on it

_INVALID: Final = "invalid"
_DENIALS: Final = ("user rejected permission", "rejected permission to use", "permission denied by user")
_INNER: Final = frozenset({"ai.streamText.doStream", "ai.generateText.doGenerate"})
_INNER_OBJECT: Final = frozenset({"ai.streamObject.doStream", "ai.generateObject.doGenerate"})


@reads("ai.operationId")
def _ai_sdk(seen: Sighting) -> Role | None:
    operation = first_label(seen, ("ai.operationId",)) or label(seen.view.name)
    if operation == "ai.toolCall" or "ai.toolCall.name" in seen.known:
        return Role.TOOL
    if operation in _INNER or operation in _INNER_OBJECT:
        return Role.MODEL
    return Role.OTHER if operation.startswith("ai.") else None


@reads("ai.toolCall.name", "ai.toolCall.args")
def _ai_tool(seen: Sighting) -> object:
    """Return the tool's name; a host puts a tool of its own in place of one that does not exist."""
    name = seen.known.get("ai.toolCall.name")
    return mapping(seen.known.get("ai.toolCall.args")).get("tool", name) if name == _INVALID else name


@reads("ai.toolCall.name")
def _ai_invalid(seen: Sighting) -> object:
    return True if seen.known.get("ai.toolCall.name") == _INVALID else None


@reads("ai.toolCall.result")
def _ai_result(seen: Sighting) -> object:
    """Return what the model is given; some hosts wrap it with a title and data for their own display."""
    value = seen.known.get("ai.toolCall.result")
    found = mapping(value)
    output = found.get("output")
    wrapped = isinstance(output, str) and isinstance(found.get("metadata"), Mapping)
    return output if wrapped or ("title" in found and isinstance(output, str)) else value


@reads("ai.toolCall.result")
def _ai_exit(seen: Sighting) -> object:
    metadata = mapping(seen.known.get("ai.toolCall.result")).get("metadata")
    return metadata.get("exit") if isinstance(metadata, Mapping) else None


def _ai_denied(seen: Sighting) -> object:
    said = [
        seen.view.status_description,
        *(event.attributes.get("exception.message") for event in seen.view.events[:4]),
    ]
    texts = [plain_text(text)[:400].lower() for text in said if isinstance(text, str)]
    return True if any(word in text for text in texts for word in _DENIALS) else None


@reads("ai.response.text", "ai.response.toolCalls")
def _ai_output(seen: Sighting) -> object:
    text, calls = seen.known.get("ai.response.text"), seen.known.get("ai.response.toolCalls")
    if text is None and calls is None:
        return None
    return {"role": "assistant", "content": text or "", "tool_calls": bool(parse_json(calls))}


AI_SDK: Final = Dialect(
    name="ai-sdk",
    marks=("ai.operationId", "ai.toolCall.name"),
    role=_ai_sdk,
    tool=Tool(
        name=(_ai_tool,),
        arguments=("ai.toolCall.args",),
        result=(_ai_result,),
        call_id=("ai.toolCall.id",),
        exit_code=(_ai_exit,),
        failed=(_ai_invalid,),
        denied=(_ai_denied,),
    ),
    model=Model(
        input=("ai.prompt.messages",),
        output=(_ai_output,),
        input_tokens=("gen_ai.usage.input_tokens", "ai.usage.inputTokens", "ai.usage.promptTokens"),
        output_tokens=("gen_ai.usage.output_tokens", "ai.usage.outputTokens", "ai.usage.completionTokens"),
        finish=("ai.response.finishReason", "gen_ai.response.finish_reasons"),
    ),
    conversation=("session.id", "ai.telemetry.metadata.sessionId", "ai.telemetry.metadata.session_id"),
)


def worktree(seen: Sighting) -> str:
    """Return the digest of the whole work tree that OpenCode writes before and after each step, "" elsewhere."""
    body = seen.view.body
    if not (isinstance(body, (tuple, list)) and len(body) == 2 and body[0] == "tracking"):
        return ""
    return label(mapping(body[1]).get("hash"))


_OPENCODE: Final = {"SessionCompaction.process": Role.COMPACTION}


def _opencode(seen: Sighting) -> Role | None:
    if seen.view.log:
        return Role.HINT if worktree(seen) else Role.OTHER
    return _OPENCODE.get(seen.view.name)


OPENCODE: Final = Dialect(
    name="opencode",
    marks=(),
    scopes=("opencode", "kilo"),
    role=_opencode,
    names=_OPENCODE,
    conversation=("session.id",),
)


# Genkit, Spring AI

_GENKIT: Final = {"tool": Role.TOOL, "model": Role.MODEL}


@reads("genkit:metadata:subtype")
def _genkit(seen: Sighting) -> Role | None:
    return _GENKIT.get(first_label(seen, ("genkit:metadata:subtype",)))


@reads("genkit:input")
def _genkit_input(seen: Sighting) -> object:
    return mapping(seen.known.get("genkit:input")).get("messages")


@reads("genkit:output")
def _genkit_output(seen: Sighting) -> object:
    message = mapping(seen.known.get("genkit:output")).get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    texts = [{"type": "text", "text": part["text"]} for part in parts if "text" in part]
    return {"role": "assistant", "content": texts, "tool_calls": any("toolRequest" in part for part in parts)}


@reads("genkit:output")
def _genkit_input_tokens(seen: Sighting) -> object:
    usage = mapping(seen.known.get("genkit:output")).get("usage")
    return usage.get("inputTokens") if isinstance(usage, Mapping) else None


@reads("genkit:output")
def _genkit_output_tokens(seen: Sighting) -> object:
    usage = mapping(seen.known.get("genkit:output")).get("usage")
    return usage.get("outputTokens") if isinstance(usage, Mapping) else None


GENKIT: Final = Dialect(
    name="genkit",
    marks=("genkit:metadata:subtype",),
    role=_genkit,
    tool=Tool(
        name=("genkit:name",),
        arguments=("genkit:input",),
        result=("genkit:output",),
        says=(Says("genkit:state", failed="error", succeeded="success"),),
        tells=Tells.HOST,
    ),
    model=Model(
        input=(_genkit_input,),
        output=(_genkit_output,),
        input_tokens=(_genkit_input_tokens,),
        output_tokens=(_genkit_output_tokens,),
    ),
)


def _spring(seen: Sighting) -> Role | None:
    return Role.TOOL if "spring.ai.tool.definition.name" in seen.known else None


SPRING_AI: Final = Dialect(
    name="spring-ai",
    marks=("spring.ai.tool.definition.name",),
    role=_spring,
    tool=Tool(
        name=("spring.ai.tool.definition.name",),
        arguments=("spring.ai.tool.call.arguments",),
        result=("spring.ai.tool.call.result",),
        call_id=("spring.ai.tool.call.id",),
    ),
)

FRAMEWORKS: Final[tuple[Dialect, ...]] = (AI_SDK, OPENCODE, GENKIT, SPRING_AI)
