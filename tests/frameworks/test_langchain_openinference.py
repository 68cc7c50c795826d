"""langchain with OpenInference."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from langchain_scenes import NEUTRAL, Scenes, stuck_run
from openinference.instrumentation import TraceConfig
from openinference.instrumentation.langchain import LangChainInstrumentor
from traced import Traced


@pytest.fixture(autouse=True)
def _instrumented(traced: Traced) -> Iterator[None]:
    LangChainInstrumentor().instrument(tracer_provider=traced.provider)
    yield
    LangChainInstrumentor().uninstrument()


class TestOpenInference(Scenes):
    """The scenes; and what OpenInference's own switch does."""

    heading = "LangChain and LangGraph with OpenInference"

    # It says nothing of a span before its end: that the caller is an agent is not known while it waits.
    below = "searcher"

    def test_without_content_nothing_is_said(self, traced: Traced) -> None:
        """Every step is neutral, and the switch is the instrumentation's own."""
        LangChainInstrumentor().uninstrument()
        hiding = TraceConfig(hide_inputs=True, hide_outputs=True)
        LangChainInstrumentor().instrument(tracer_provider=traced.provider, config=hiding)
        stuck_run("no content")
        assert traced.judged() == NEUTRAL
        assert traced.switches() == {"OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS not set"}
