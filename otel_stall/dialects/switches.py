"""How each instrumentation is told to record what a verdict needs: most leave contents out by default."""

from __future__ import annotations

from typing import Final

from otel_stall.dialects.known_hosts import host_of

__all__ = ["content_switch", "conversation_switch"]

# openai-agents can leave contents out before any instrumentation sees them.
_AGENTS_SDK: Final = ", and RunConfig.trace_include_sensitive_data not set to false"
# Instrumentation scope (or its beginning) -> what a user sets; the first that fits. Seen in runs of these emitters.
_SWITCHES: Final[tuple[tuple[str, str], ...]] = (
    (
        "opentelemetry.instrumentation.genai.openai_agents",
        f"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY{_AGENTS_SDK}",
    ),
    ("opentelemetry.instrumentation.openai_agents", f"TRACELOOP_TRACE_CONTENT not set to false{_AGENTS_SDK}"),
    (
        "openinference.instrumentation.openai_agents",
        f"OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS not set{_AGENTS_SDK}",
    ),
    ("opentelemetry.instrumentation.genai.", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"),
    ("gcp.vertex.agent", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"),
    ("agent_framework", "ENABLE_SENSITIVE_DATA=true, with OTEL_SEMCONV_STABILITY_OPT_IN not set to an empty value"),
    ("pydantic-ai", "InstrumentationSettings(include_content=True)"),
    ("haystack", "HAYSTACK_CONTENT_TRACING_ENABLED=true"),
    ("opentelemetry.instrumentation.ag2", "TelemetryMiddleware(capture_content=True)"),
    ("opentelemetry.instrumentation.", "TRACELOOP_TRACE_CONTENT not set to false"),
    ("traceloop.", "TRACELOOP_TRACE_CONTENT not set to false"),
    ("openinference.instrumentation.", "OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS not set"),
    ("autogen-core", "openinference-instrumentation-autogen-agentchat beside it, as it never records content"),
    ("mcp-python-sdk", "an instrumentation of the agent around it, as it never records content"),
    ("semantic_kernel", "SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true"),
)

# Where a host says which conversation a run belongs to, in the same order.
_CONVERSATIONS: Final[tuple[tuple[str, str], ...]] = (
    ("pydantic-ai", "agent.run(..., conversation_id=...)"),
    ("strands.", 'Agent(..., trace_attributes={"session.id": ...})'),
    ("openinference.instrumentation.langchain", 'config={"configurable": {"thread_id": ...}}'),
    ("opentelemetry.instrumentation.langchain", 'config={"configurable": {"thread_id": ...}}'),
    ("opentelemetry.instrumentation.genai.langchain", 'config={"configurable": {"thread_id": ...}}'),
    ("openinference.instrumentation.", "with openinference.instrumentation.using_session(...)"),
    ("opentelemetry.instrumentation.genai.openai_agents", "RunConfig(group_id=...)"),
    ("traceloop.", 'Traceloop.set_association_properties({"session_id": ...})'),
    ("langfuse", "propagate_attributes(session_id=...)"),
)


def content_switch(scope: str) -> str:
    """Return what makes the instrumentation of that scope record content; "" for one that is not known."""
    known = next((switch for begin, switch in _SWITCHES if scope.startswith(begin)), "")
    return known or (host.switch if (host := host_of(scope)) is not None else "")


def conversation_switch(scope: str) -> str:
    """Return how a host names the conversation to the instrumentation of that scope; "" for one that is not known."""
    return next((switch for begin, switch in _CONVERSATIONS if scope.startswith(begin)), "")
