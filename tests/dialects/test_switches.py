"""The switch that a user is told is the one of their instrumentation."""

from __future__ import annotations

import pytest

from otel_stall.dialects import content_switch, conversation_switch


@pytest.mark.parametrize(
    ("scope", "switch"),
    [
        (
            "opentelemetry.instrumentation.genai.langchain",
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY",
        ),
        ("opentelemetry.instrumentation.langchain", "TRACELOOP_TRACE_CONTENT not set to false"),
        ("opentelemetry.instrumentation.ag2", "TelemetryMiddleware(capture_content=True)"),
        ("pydantic-ai", "InstrumentationSettings(include_content=True)"),
        ("my.tracer", ""),
        ("", ""),
    ],
)
def test_each_scope_has_its_switch(scope: str, switch: str) -> None:
    """The longer beginning before the shorter; nothing is guessed for a scope nobody knows."""
    assert content_switch(scope) == switch


@pytest.mark.parametrize(
    ("scope", "switch"),
    [
        ("pydantic-ai", "agent.run(..., conversation_id=...)"),
        ("openinference.instrumentation.langchain", 'config={"configurable": {"thread_id": ...}}'),
        ("openinference.instrumentation.agno", "with openinference.instrumentation.using_session(...)"),
        ("gcp.vertex.agent", ""),
        ("my.tracer", ""),
    ],
)
def test_each_scope_has_a_way_to_name_the_conversation(scope: str, switch: str) -> None:
    """The longer beginning before the shorter; nothing where the emitter does it by itself or is not known."""
    assert conversation_switch(scope) == switch
