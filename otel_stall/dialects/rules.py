"""The table of dialects: how each emitter says "tool call", "model turn", "compaction" and "agent".

One row per dialect, in priority order. The first row that knows a span's role names its dialect; all
rows that see the same role are then asked for each field, in order, so that a span which two
instrumentations filled is read from both. A new emitter is a new row.
"""

from __future__ import annotations

from typing import Final

from otel_stall.dialects import coding_agents, frameworks, sources
from otel_stall.dialects.envelopes import openhands_action
from otel_stall.dialects.sightings import Sighting, first_label, from_event, label
from otel_stall.dialects.table import Dialect, Model, Role, Says, Tells, Tool, by_value, names_read

__all__ = ["DIALECTS", "Dialect", "Model", "Role", "Says", "Tool", "names_read"]


# Roles


def _pending_copy(seen: Sighting) -> Role | None:
    return Role.OTHER if seen.known.get("logfire.span_type") == "pending_span" else None


def _crewai_echo(seen: Sighting) -> Role | None:
    return Role.OTHER if seen.view.name == "tool failure" else None


def _mcp(seen: Sighting) -> Role | None:
    if seen.view.kind == "SERVER":
        return Role.OTHER
    return Role.TOOL if seen.known.get("mcp.method.name") == "tools/call" else Role.OTHER


_OPERATIONS: Final = {
    "execute_tool": Role.TOOL,
    "chat": Role.MODEL,
    "generate_content": Role.MODEL,
    "text_completion": Role.MODEL,
    "invoke_agent": Role.AGENT,
}


def _genai(seen: Sighting) -> Role | None:
    if seen.known.get("gen_ai.tool.name") == "(merged tools)":
        return Role.OTHER
    operation = label(seen.known.get("gen_ai.operation.name"))
    return _OPERATIONS.get(operation, Role.OTHER) if operation else None


def _google_adk(seen: Sighting) -> Role | None:
    if label(seen.known.get("gen_ai.operation.name")) == "compact_events":
        return Role.COMPACTION
    return _genai(seen) if seen.view.scope.startswith("gcp.vertex.agent") else None


def _traceloop(seen: Sighting) -> Role | None:
    kind = first_label(seen, ("traceloop.span.kind",)).lower()
    if kind == "task":
        return Role.TOOL if "tool.arguments" in seen.known else Role.OTHER
    if not kind and "llm.request.type" in seen.known:
        return Role.MODEL
    return {"tool": Role.TOOL, "agent": Role.AGENT, "workflow": Role.WORKFLOW}.get(kind)


def _openinference(seen: Sighting) -> Role | None:
    kind = first_label(seen, ("openinference.span.kind",)).upper()
    if kind == "AGENT":
        if "tool.name" in seen.known:
            return Role.TOOL
        # openai-agents' trace is written as an agent, too, under the trace's name.
        return Role.WORKFLOW if "openai_agents" in seen.view.scope and "agent.name" not in seen.known else Role.AGENT
    if seen.view.name.endswith("_prepare_chat_with_tools"):
        return Role.OTHER  # llama-index marks the making of a request as a model call, too
    return {"TOOL": Role.TOOL, "LLM": Role.MODEL}.get(kind)


_LMNR_TYPES: Final = {"TOOL": Role.TOOL, "LLM": Role.MODEL}


def _lmnr(seen: Sighting) -> Role | None:
    if seen.view.name == "MCPToolExecutor.call_tool":
        return Role.OTHER
    if seen.view.name in ("get_condensation", "hard_context_reset"):
        return Role.COMPACTION
    return _LMNR_TYPES.get(first_label(seen, ("lmnr.span.type",)))


def _openhands(seen: Sighting) -> Role | None:
    """Spans of OpenHands are named after the action; what it answers says by itself whether it failed."""
    named = seen.view.name.endswith("Action") or seen.view.name == "InvalidToolCall"
    return Role.TOOL if named and _lmnr(seen) is Role.TOOL else None


def _haystack(seen: Sighting) -> Role | None:
    if seen.view.name.startswith("haystack.agent.step.tool") and "haystack.tool.name" in seen.known:
        return Role.TOOL
    return {"haystack.agent.step.llm": Role.MODEL, "haystack.agent.run": Role.AGENT}.get(seen.view.name)


_LOGFIRE_TEMPLATES: Final = {
    "Function: {name}": Role.TOOL,
    "Agent run: {name!r}": Role.AGENT,
    "Chat completion with {gen_ai.request.model!r}": Role.MODEL,
    "Responses API with {gen_ai.request.model!r}": Role.MODEL,
}


def _logfire_openai(seen: Sighting) -> Role | None:
    return _LOGFIRE_TEMPLATES.get(first_label(seen, ("logfire.msg_template",)))


# Rows


GENAI: Final = Dialect(
    name="genai",
    marks=("gen_ai.operation.name",),
    role=_genai,
    tool=Tool(
        name=("gen_ai.tool.name",),
        arguments=(
            "gen_ai.tool.call.arguments",
            "tool_arguments",  # pydantic-ai, instrumentation version 2
            from_event("gen_ai.tool.message", "content"),  # strands
            sources.event_call,
            "gen_ai.tool.input",  # openlit before the convention
            "gen_ai.tool.args",
        ),
        result=(
            "gen_ai.tool.call.result",
            "tool_response",
            from_event("gen_ai.choice", "message"),
            sources.event_response,
            "gen_ai.tool.output",
            "gen_ai.tool.result",
        ),
        call_id=("gen_ai.tool.call.id", from_event("gen_ai.tool.message", "id")),
        says=(Says("gen_ai.tool.status", "error", "success"), Says("gen_ai.task.status", "failure")),
        cut=("ag2.tool.call.result.truncated",),
        pausing="openai_agents",
    ),
    model=Model(
        input=("gen_ai.input.messages", sources.event_input, sources.legacy_prompt),
        output=("gen_ai.output.messages", sources.event_output, sources.legacy_completion),
        input_tokens=("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens"),
        output_tokens=(
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.completion_tokens",
            "llm.usage.completion_tokens",
        ),
    ),
    agent=("gen_ai.agent.name",),
)

DIALECTS: Final[tuple[Dialect, ...]] = (
    *coding_agents.CODING_AGENTS,
    *frameworks.FRAMEWORKS,
    Dialect("logfire-pending", ("logfire.span_type",), _pending_copy),
    Dialect("crewai-echo", ("crewai.event_name",), _crewai_echo),
    Dialect(
        name="langsmith",
        marks=("langsmith.span.kind",),
        role=by_value("langsmith.span.kind", tool=("tool",), model=("llm",)),
        tool=Tool(arguments=("gen_ai.prompt",), result=("gen_ai.completion",)),
        model=Model(input=("gen_ai.prompt",), output=("gen_ai.completion",)),
    ),
    Dialect(
        name="mcp",
        marks=("mcp.method.name",),
        role=_mcp,
        tool=Tool(name=(sources.mcp_tool,)),
    ),
    Dialect(
        name="google-adk",
        marks=("gen_ai.operation.name",),
        role=_google_adk,
        tool=Tool(
            arguments=(sources.adk_arguments,),
            result=(sources.adk_result,),
            waits=("This tool call requires confirmation, please approve or reject.",),
        ),
    ),
    Dialect(
        # Bedrock counts cached input apart; every other emitter's input count holds it.
        name="strands",
        marks=("gen_ai.operation.name",),
        role=_genai,
        within=("strands.",),
        model=Model(uncounted=("gen_ai.usage.cache_read_input_tokens", "gen_ai.usage.cache_write_input_tokens")),
    ),
    # Copilot CLI has an agent span for each turn of the user, with the calls right below it.
    Dialect(
        name="copilot",
        marks=("gen_ai.operation.name",),
        role=_genai,
        within=("github.copilot",),
        turn=(sources.span_above,),
    ),
    GENAI,
    Dialect(
        name="traceloop",
        marks=("traceloop.span.kind", "llm.request.type"),
        role=_traceloop,
        tool=Tool(
            name=("tool.name", "traceloop.entity.name"),
            arguments=("tool.arguments", "traceloop.entity.input"),
            result=("traceloop.entity.output",),
            says=(Says("gen_ai.task.status", "failure"),),
        ),
        model=GENAI.model,
        agent=("traceloop.entity.name", "traceloop.workflow.name"),
    ),
    Dialect(
        name="openinference",
        marks=("openinference.span.kind",),
        role=_openinference,
        tool=Tool(
            name=("tool.name", "tool_call.function.name"),
            arguments=("tool_call.function.arguments", "input.value", sources.tool_parameters),
            result=("output.value",),
            call_id=("tool_call.id", "tool.call_id", "tool.id"),
            pausing="openai_agents",
        ),
        model=Model(
            input=(sources.openinference_input,),
            output=(sources.openinference_output, "output.value"),
            input_tokens=("llm.token_count.prompt",),
            output_tokens=("llm.token_count.completion",),
        ),
        agent=("agent.name", "graph.node.name"),
    ),
    Dialect(
        name="langfuse",
        marks=("langfuse.observation.type",),
        role=by_value("langfuse.observation.type", tool=("tool",), model=("generation",), agent=("agent",)),
        tool=Tool(
            arguments=("langfuse.observation.input",),
            result=("langfuse.observation.output",),
            says=(Says("langfuse.observation.level", "ERROR"),),
            message=("langfuse.observation.status_message",),
            tells=Tells.TEXT,
        ),
        model=Model(
            input=("langfuse.observation.input",),
            output=("langfuse.observation.output",),
            input_tokens=(sources.langfuse_input_tokens,),
            output_tokens=(sources.langfuse_output_tokens,),
        ),
    ),
    Dialect(
        name="mlflow",
        marks=("mlflow.spanType",),
        role=by_value("mlflow.spanType", tool=("tool",), model=("llm", "chat_model"), agent=("agent",)),
        tool=Tool(name=("mlflow.spanFunctionName",), arguments=("mlflow.spanInputs",), result=("mlflow.spanOutputs",)),
        model=Model(
            input=("mlflow.spanInputs",),
            output=("mlflow.spanOutputs",),
            input_tokens=(sources.mlflow_input_tokens,),
            output_tokens=(sources.mlflow_output_tokens,),
        ),
    ),
    Dialect(
        name="openhands",
        marks=("lmnr.span.type",),
        role=_openhands,
        tool=Tool(exit_code=(sources.openhands_exit,), tells=Tells.HOST),
    ),
    Dialect(
        name="lmnr",
        marks=("lmnr.span.type", "lmnr.span.path"),
        role=_lmnr,
        tool=Tool(
            arguments=("lmnr.span.input",),
            result=("lmnr.span.output",),
            call_id=("lmnr.association.properties.metadata.tool_call_id",),
            unwrap=(openhands_action,),
        ),
        model=Model(
            input=(*GENAI.model.input, "lmnr.span.input"),
            output=(*GENAI.model.output, "lmnr.span.output"),
            input_tokens=GENAI.model.input_tokens,
            output_tokens=GENAI.model.output_tokens,
        ),
    ),
    Dialect(
        name="haystack",
        marks=("haystack.tool.name", "haystack.agent.step.llm.output", "haystack.agent.max_steps"),
        role=_haystack,
        tool=Tool(
            name=("haystack.tool.name",),
            arguments=("haystack.agent.step.tool.input",),
            result=("haystack.agent.step.tool.output",),
            call_id=("haystack.tool.call.id",),
            says=(Says("haystack.tool.error", failed=True, succeeded=False),),
        ),
        model=Model(
            input=("haystack.agent.step.llm.input",),
            output=("haystack.agent.step.llm.output",),
            input_tokens=(sources.haystack_input_tokens,),
            output_tokens=(sources.haystack_output_tokens,),
        ),
    ),
    Dialect(
        name="logfire-openai-agents",
        marks=("logfire.msg_template",),
        role=_logfire_openai,
        tool=Tool(name=("name",), arguments=("input",), result=(sources.logfire_output,), pausing="openai_agents"),
        model=Model(
            input=("input",),
            output=("output",),
            input_tokens=GENAI.model.input_tokens,
            output_tokens=GENAI.model.output_tokens,
        ),
        agent=("name",),
    ),
)
