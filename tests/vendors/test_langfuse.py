"""langfuse owns the provider: its exporter takes only spans that look like a model's work."""

from __future__ import annotations

import pytest
from hosts import STEPS, TOOL, run, steps

SCRIPT = """
import otel_stall
from langfuse import Langfuse
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
langfuse = Langfuse(public_key="pk-lf-tests", secret_key="sk-lf-tests", span_exporter=exporter)
assert otel_stall.attach() is otel_stall.attach()
act(trace.get_tracer("agent"))
langfuse.flush()
show(exporter.get_finished_spans())
"""


def test_attached() -> None:
    """Its exporter sends the verdicts, and nothing of the host's that it would not send without us."""
    spans = run(SCRIPT)

    assert steps(spans) == STEPS
    assert [name for name, _ in spans] == [TOOL] * 4 + ["invoke_agent coder"]
    assert spans[-1][1]["stall.level"] == "notice"


@pytest.mark.parametrize(("stamp", "sent"), [("true", True), ("false", False)])
def test_stamps_are_what_it_would_send(stamp: str, sent: bool) -> None:
    """With stamps forced on it sends the host's HTTP spans too: this is why they are off beside it."""
    assert ("GET" in [name for name, _ in run(SCRIPT, OTEL_STALL_STAMP=stamp)]) is sent


def test_its_own_spans() -> None:
    """A tool observation of langfuse's is a step."""
    script = """
import otel_stall
from langfuse import Langfuse
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
langfuse = Langfuse(public_key="pk-lf-tests", secret_key="sk-lf-tests", span_exporter=exporter)
otel_stall.attach()
for _ in range(2):
    with langfuse.start_as_current_observation(name="read_file", as_type="tool", input={"path": "a.py"}) as tool:
        tool.update(output="print(1)")
langfuse.flush()
show(exporter.get_finished_spans())
"""
    assert [attributes.get("stall.step") for _, attributes in run(script)] == [1, 1]
