"""How each instrumentation is told to record arguments and results: most leave them out by default."""

from __future__ import annotations

from typing import Final

__all__ = ["content_switch"]

# Instrumentation scope (or its beginning) -> what a user sets; the first that fits. Seen in runs of these emitters.
_SWITCHES: Final[tuple[tuple[str, str], ...]] = (
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


def content_switch(scope: str) -> str:
    """Return what makes the instrumentation of that scope record content; "" for one that is not known.

    With openai-agents, `RunConfig.trace_include_sensitive_data` must not be false either.
    """
    return next((switch for begin, switch in _SWITCHES if scope.startswith(begin)), "")
