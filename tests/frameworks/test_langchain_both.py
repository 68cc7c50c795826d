"""langchain with OpenInference and OpenLLMetry at once: two spans for every call, one step."""

from __future__ import annotations

import pytest
from langchain_scenes import Scenes, stuck_run
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.instrumentation.langchain import LangchainInstrumentor
from traced import Traced

from otel_stall.calls import ToolCall
from otel_stall.dialects import read
from otel_stall.spans import from_readable_span


@pytest.fixture(autouse=True)
def _instrumented(traced: Traced) -> None:
    if not LangchainInstrumentor().is_instrumented_by_opentelemetry:
        LangchainInstrumentor().instrument(tracer_provider=traced.provider)
        LangChainInstrumentor().instrument(tracer_provider=traced.provider)


class TestBoth(Scenes):
    """The scenes; and that there are two spans indeed."""

    heading = "LangChain and LangGraph with OpenLLMetry"

    def test_there_are_two_spans_for_every_call(self, traced: Traced) -> None:
        """Of the two spans of a call one carries the verdict."""
        stuck_run("doubles")
        calls = [read(from_readable_span(span)) for span in traced.spans()]
        assert len([call for call in calls if isinstance(call.record, ToolCall)]) == 18
        assert len(traced.steps()) == 9
