"""Sources that are more than one attribute's name, for the table of `rules`.

Each names in `reads` the attributes it looks at, so that the sighting holds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from otel_stall.dialects.envelopes import message_call, message_response
from otel_stall.dialects.messages import event_input, event_output, flattened
from otel_stall.dialects.payloads import parse_json
from otel_stall.dialects.sightings import Sighting, number, of_events, reads

__all__ = [
    "adk_arguments",
    "adk_result",
    "event_call",
    "event_input",
    "event_output",
    "event_response",
    "haystack_input_tokens",
    "haystack_output_tokens",
    "langfuse_input_tokens",
    "langfuse_output_tokens",
    "legacy_completion",
    "legacy_prompt",
    "logfire_output",
    "mcp_tool",
    "mlflow_input_tokens",
    "mlflow_output_tokens",
    "openhands_exit",
    "openinference_input",
    "openinference_output",
    "span_above",
    "tool_parameters",
]

_ADK_ARGUMENTS: Final = "gcp.vertex.agent.tool_call_args"
_ADK_RESULT: Final = "gcp.vertex.agent.tool_response"


@reads(_ADK_ARGUMENTS, _ADK_RESULT)
def adk_arguments(seen: Sighting) -> object:
    """Return google-adk's arguments of schema 1; with content off both fields read "{}"."""
    return None if _adk_is_off(seen) else seen.known.get(_ADK_ARGUMENTS)


@reads(_ADK_ARGUMENTS, _ADK_RESULT)
def adk_result(seen: Sighting) -> object:
    """Return google-adk's result of schema 1."""
    return None if _adk_is_off(seen) else seen.known.get(_ADK_RESULT)


def _adk_is_off(seen: Sighting) -> bool:
    return seen.known.get(_ADK_ARGUMENTS) == "{}" == seen.known.get(_ADK_RESULT)


@of_events
def event_call(seen: Sighting) -> object:
    """Return the arguments in the messages of an inference-details event (strands)."""
    return next((found for value in _event_messages(seen, "input") if (found := message_call(value)) is not None), None)


@of_events
def event_response(seen: Sighting) -> object:
    """Return the result in the messages of an inference-details event (strands)."""
    return next(
        (found for value in _event_messages(seen, "output") if (found := message_response(value)) is not None), None
    )


def _event_messages(seen: Sighting, side: str) -> list[object]:
    name = f"gen_ai.{side}.messages"
    events = seen.view.events
    return [value for event in events[:16] if (value := event.attributes.get(name)) is not None]


@reads("mcp.method.name")
def mcp_tool(seen: Sighting) -> object:
    """Return the tool named at the end of an MCP span's name."""
    return seen.view.name.rpartition("tools/call ")[2]


@reads("tool.parameters")
def tool_parameters(seen: Sighting) -> object:
    """Return `tool.parameters` where it holds the arguments; some emitters put the tool's schema there."""
    value = seen.known.get("tool.parameters")
    parsed = parse_json(value)
    if isinstance(parsed, dict) and parsed:
        if isinstance(parsed.get("properties"), dict):
            return None
        if all(isinstance(item, dict) and "type" in item for item in parsed.values()):
            return None
    return value


@reads("output")
def logfire_output(seen: Sighting) -> object:
    """Return logfire's output, which reads `null` where there is none."""
    value = seen.known.get("output")
    return None if value == "null" else value


@reads("lmnr.span.output")
def openhands_exit(seen: Sighting) -> object:
    """Return the exit code that an OpenHands terminal tells beside its output."""
    return _json(seen, "lmnr.span.output").get("exit_code")


def span_above(seen: Sighting) -> object:
    """Return the id of the span around this one."""
    return seen.view.parent_id or None


def openinference_input(seen: Sighting) -> object:
    """Return the input messages of OpenInference's flattened attributes."""
    return flattened(seen, "llm.input_messages.", "message.")


def openinference_output(seen: Sighting) -> object:
    """Return the output messages of OpenInference's flattened attributes."""
    return flattened(seen, "llm.output_messages.", "message.")


def legacy_prompt(seen: Sighting) -> object:
    """Return the input messages of `gen_ai.prompt.0.role` and the like."""
    return flattened(seen, "gen_ai.prompt.")


def legacy_completion(seen: Sighting) -> object:
    """Return the output messages of `gen_ai.completion.0.content` and the like."""
    return flattened(seen, "gen_ai.completion.")


@reads("langfuse.observation.usage_details")
def langfuse_input_tokens(seen: Sighting) -> object:
    """Return all input tokens: langfuse counts cached ones under keys of their own."""
    usage = _json(seen, "langfuse.observation.usage_details")
    counts = [number(count) for key, count in usage.items() if "input" in key]
    return sum(count for count in counts if count is not None) if counts else None


@reads("langfuse.observation.usage_details")
def langfuse_output_tokens(seen: Sighting) -> object:
    """Return langfuse's output tokens."""
    return _json(seen, "langfuse.observation.usage_details").get("output")


@reads("mlflow.chat.tokenUsage")
def mlflow_input_tokens(seen: Sighting) -> object:
    """Return mlflow's input tokens."""
    return _json(seen, "mlflow.chat.tokenUsage").get("input_tokens")


@reads("mlflow.chat.tokenUsage")
def mlflow_output_tokens(seen: Sighting) -> object:
    """Return mlflow's output tokens."""
    return _json(seen, "mlflow.chat.tokenUsage").get("output_tokens")


def haystack_input_tokens(seen: Sighting) -> object:
    """Return the prompt tokens that stand in the meta data of haystack's reply."""
    return _haystack_usage(seen).get("prompt_tokens")


def haystack_output_tokens(seen: Sighting) -> object:
    """Return the completion tokens that stand in the meta data of haystack's reply."""
    return _haystack_usage(seen).get("completion_tokens")


def _haystack_usage(seen: Sighting) -> Mapping[str, object]:
    replies = _json(seen, "haystack.agent.step.llm.output").get("replies")
    reply = replies[-1] if isinstance(replies, list) and replies else None
    meta = reply.get("meta") if isinstance(reply, dict) else None
    usage = meta.get("usage") if isinstance(meta, dict) else None
    return usage if isinstance(usage, dict) else {}


def _json(seen: Sighting, name: str) -> Mapping[str, object]:
    value = parse_json(seen.known.get(name))
    return value if isinstance(value, dict) else {}
