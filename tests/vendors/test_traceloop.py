"""traceloop owns the provider: it patches `on_start` of processors it is given."""

from __future__ import annotations

import pytest
from hosts import STEPS, run, steps

SCRIPT = """
import otel_stall
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from traceloop.sdk import Traceloop

exporter = InMemorySpanExporter()
if ATTACHED:
    Traceloop.init(app_name="tests", exporter=exporter, disable_batch=True, instruments=set())
    assert otel_stall.attach() is otel_stall.attach()
else:
    stall = otel_stall.StallSpanProcessor()
    Traceloop.init(app_name="tests", processor=[stall, SimpleSpanProcessor(exporter)], instruments=set())
    assert otel_stall.attach() is stall
act(trace.get_tracer("agent"))
show(exporter.get_finished_spans())
"""


@pytest.mark.parametrize("attached", [True, False])
def test_verdicts_are_exported(attached: bool) -> None:
    """Attached after `init`, or given to it in a list beside the exporting one, it judges; never twice."""
    spans = run(f"ATTACHED = {attached}{SCRIPT}")

    assert steps(spans) == STEPS
    assert [attributes["gen_ai.conversation.id"] for _, attributes in spans] == ["c-1"] * 6
