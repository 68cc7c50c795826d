"""logfire owns the provider: it stands behind a proxy, and every `configure()` replaces it."""

from __future__ import annotations

from hosts import STEPS, run, steps

SCRIPT = """
import logfire, otel_stall
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

def configure(*before):
    exporter = InMemorySpanExporter()
    additional = [*before, SimpleSpanProcessor(exporter)]
    logfire.configure(send_to_logfire=False, console=False, additional_span_processors=additional)
    return exporter

early = otel_stall.attach() if ATTACHED else None
stall = () if ATTACHED else (otel_stall.StallSpanProcessor(),)
exporters = []
for _ in range(2):
    exporters.append(configure(*stall))
    if ATTACHED:
        assert otel_stall.attach() is otel_stall.attach() is early
    act(trace.get_tracer("agent"))
show([span for exporter in exporters for span in exporter.get_finished_spans()])
"""


def test_attached() -> None:
    """Attached before and after each configuration, one processor goes on counting over all of them."""
    assert steps(run(f"ATTACHED = True{SCRIPT}")) == [*STEPS, *(step + 4 for step in STEPS)]


def test_configured() -> None:
    """Among logfire's additional processors, which pass on no `_on_ending`, it is a processor as any other."""
    spans = run(f"ATTACHED = False{SCRIPT}")

    # The first provider is shut down, and its processor with it.
    assert steps(spans)[: len(STEPS)] == STEPS
    assert spans[5][0] == "invoke_agent coder"
    assert spans[5][1]["stall.detected"] is True


def test_its_own_spans() -> None:
    """A tool call that logfire itself records is a step, and logfire's message stays."""
    script = """
import logfire, otel_stall
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
logfire.configure(send_to_logfire=False, console=False, additional_span_processors=[SimpleSpanProcessor(exporter)])
otel_stall.attach()
given = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read_file"}
with logfire.span("reading {path}", path="a.py", **given):
    pass
show([span for span in exporter.get_finished_spans() if span.attributes["logfire.span_type"] == "span"])
"""
    ((name, attributes),) = run(script)

    assert (name, attributes["logfire.msg"], attributes["stall.step"]) == ("reading {path}", "reading a.py", 1)
