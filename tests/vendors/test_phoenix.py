"""phoenix owns the provider: adding a processor takes its default exporter away, unless told not to."""

from __future__ import annotations

from hosts import STEPS, run, steps

SCRIPT = """
import otel_stall
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from phoenix.otel import register

provider = register(endpoint="http://127.0.0.1:9/v1/traces", protocol="http/protobuf", verbose=False)
default = provider._default_processor
default.span_exporter = exporter = InMemorySpanExporter()
assert otel_stall.attach() is otel_stall.attach()
assert provider._default_processor is default
act(trace.get_tracer("agent"))
show(exporter.get_finished_spans())
"""


def test_its_default_exporter_stays() -> None:
    """The exporter that `register()` set up is still there, and exports the verdicts."""
    assert steps(run(SCRIPT)) == STEPS
