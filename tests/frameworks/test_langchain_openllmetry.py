"""langchain with OpenLLMetry."""

from __future__ import annotations

import pytest
from langchain_scenes import NEUTRAL, Scenes, stuck_run
from opentelemetry.instrumentation.langchain import LangchainInstrumentor
from traced import Traced


@pytest.fixture(autouse=True)
def _instrumented(traced: Traced) -> None:
    if not LangchainInstrumentor().is_instrumented_by_opentelemetry:
        LangchainInstrumentor().instrument(tracer_provider=traced.provider)


class TestOpenLLMetry(Scenes):
    """The scenes; and what OpenLLMetry's own switch does."""

    heading = "LangChain and LangGraph with OpenLLMetry"

    def test_without_content_nothing_is_said(self, traced: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
        """Every step is neutral, and the switch is the instrumentation's own."""
        monkeypatch.setenv("TRACELOOP_TRACE_CONTENT", "false")
        stuck_run("no content")
        assert traced.judged() == NEUTRAL
        assert traced.switches() == {"TRACELOOP_TRACE_CONTENT not set to false"}
