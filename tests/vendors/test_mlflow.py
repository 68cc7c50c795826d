"""mlflow keeps a provider of its own, and its exporter reads spans from mlflow's trace."""

from __future__ import annotations

import pytest
from hosts import STEPS, run

SCRIPT = """
import mlflow, otel_stall
from mlflow.entities.trace_location import MlflowExperimentLocation
from mlflow.tracing.export.mlflow_v3 import MlflowV3SpanExporter

traces = []
MlflowV3SpanExporter._log_trace = lambda self, trace, *rest, **options: traces.append(trace)
mlflow.tracing.set_destination(MlflowExperimentLocation("0"))
assert otel_stall.attach() is otel_stall.attach()
with mlflow.start_span("agent", span_type="AGENT"):
    for _ in range(4):
        with mlflow.start_span("read_file", span_type="TOOL") as span:
            span.set_inputs({"path": "a.py"})
            span.set_outputs("print(1)")
mlflow.flush_trace_async_logging()
show([span for each in traces for span in each.data.spans])
"""


@pytest.mark.parametrize("isolated", ["true", "false"])
def test_its_trace_carries_the_verdicts(isolated: str) -> None:
    """With its own provider or with the global one, the trace that mlflow logs has them."""
    spans = run(SCRIPT, MLFLOW_USE_DEFAULT_TRACER_PROVIDER=isolated, MLFLOW_HTTP_REQUEST_MAX_RETRIES="0")

    assert [name for name, _ in spans] == ["agent"] + ["read_file"] * 4
    assert [attributes.get("stall.step") for _, attributes in spans[1:]] == STEPS
    assert (spans[0][1]["stall.level"], spans[4][1]["stall.kind"]) == ("notice", "loop")
