"""Who a span speaks for: the conversation and the agent that it names itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from otel_stall.dialects.payloads import parse_json
from otel_stall.dialects.sightings import Sighting, Source, first_label, label
from otel_stall.dialects.table import Dialect

__all__ = [
    "AGENT_ID",
    "AGENT_NAMES",
    "CONVERSATIONS",
    "METADATA",
    "agent_id_in",
    "agent_id_sources",
    "agent_in",
    "agent_sources",
    "conversation_sources",
    "invoked_agent",
    "invoked_sources",
    "resource_conversation",
]

METADATA: Final = "metadata"
AGENT_ID: Final = "gen_ai.agent.id"

CONVERSATIONS: Final[tuple[str, ...]] = (
    "gen_ai.conversation.id",
    "session.id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "traceloop.association.properties.conversation_id",
    "langsmith.metadata.session_id",
    "langsmith.metadata.thread_id",
    "lmnr.association.properties.session_id",
    "langfuse.session.id",
    "gcp.vertex.agent.session_id",
    "ai.telemetry.metadata.sessionId",
    "ai.telemetry.metadata.session_id",
    "copilot_chat.chat_session_id",
    "mastra.metadata.threadId",
    "mastra.metadata.runId",
    "genkit:sessionId",
)

# openai-agents-v2 and Gemini CLI put these on every span, whatever the agent is called.
_CONSTANT_AGENTS: Final = frozenset({"OpenAI Agent", "gemini-cli"})
_CONSTANT_IDS: Final = frozenset({"agent"})
_PREFIXES: Final = ("invoke_agent ", "agent_run ")
_UNNAMED: Final = "invoke_agent"
_SUFFIXES: Final = (".run", ".agent", ".workflow")


def _langchain_agent(seen: Sighting) -> object:
    text = seen.known.get(METADATA)
    if not isinstance(text, str) or '"lc_agent_name"' not in text[:4096]:
        return None
    metadata = parse_json(text)
    return metadata.get("lc_agent_name") if isinstance(metadata, dict) else None


AGENT_NAMES: Final[tuple[Source, ...]] = (
    "gen_ai.agent.name",
    "agent.name",
    "tool.agent_role",
    "traceloop.association.properties.lc_agent_name",
    "langsmith.metadata.lc_agent_name",
    _langchain_agent,
)


def conversation_sources(dialect: Dialect | None) -> tuple[Source, ...]:
    """Return where a span names its conversation, in the dialect's own order first."""
    return (*(dialect.conversation if dialect else ()), *CONVERSATIONS)


def resource_conversation(resource: Mapping[str, object]) -> str:
    """Return the conversation id on the resource, "" where none."""
    for name in CONVERSATIONS:
        if name in resource and (found := label(resource[name])):
            return found
    return ""


def agent_sources(dialect: Dialect | None) -> tuple[Source, ...]:
    """Return where a span names its agent."""
    return (*(dialect.agent if dialect and dialect.scopes else ()), *AGENT_NAMES)


def invoked_sources(dialect: Dialect | None) -> tuple[Source, ...]:
    """Return where the span of an agent's invocation names that agent."""
    return (*AGENT_NAMES, *(dialect.agent if dialect else ()))


def agent_id_sources(dialect: Dialect | None) -> tuple[Source, ...]:
    """Return where a span names its agent's id, in the dialect's own order first."""
    return (*(dialect.agent_id if dialect else ()), AGENT_ID)


def agent_in(seen: Sighting, sources: Sequence[Source]) -> str:
    """Return the agent that the span names, "" where none."""
    return first_label(seen, sources, _CONSTANT_AGENTS)


def invoked_agent(seen: Sighting, sources: Sequence[Source]) -> str:
    """Return the name of the agent whose invocation the span is; the span's own name where nothing else."""
    named = first_label(seen, sources, _CONSTANT_AGENTS)
    if named:
        return named
    name = label(seen.view.name)
    if name == _UNNAMED:
        return ""
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def agent_id_in(seen: Sighting, sources: Sequence[Source]) -> str:
    """Return the agent's id on the span, "" where none."""
    return first_label(seen, sources, _CONSTANT_IDS)
