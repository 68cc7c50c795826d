"""What every host of these tests does after its vendor's set-up, and how its exported spans come back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan

TOOL: Final = "execute_tool read_file"
STEPS: Final = [1, 2, 3, 4]

_ROOT: Final = Path(__file__).parents[2]
# Nothing leaves the machine: where a vendor insists on an address, nothing listens there.
_ENVIRON: Final = {
    "LOGFIRE_SEND_TO_LOGFIRE": "false",
    "LANGFUSE_HOST": "http://127.0.0.1:9",
    "TRACELOOP_TELEMETRY": "false",
    "PHOENIX_COLLECTOR_ENDPOINT": "http://127.0.0.1:9",
    "MLFLOW_TRACKING_URI": "http://127.0.0.1:9",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
}


def act(tracer: trace.Tracer) -> None:
    """Make an agent's span with an HTTP request and four tool calls below it, as an instrumentation would."""
    with tracer.start_as_current_span("invoke_agent coder") as agent:
        agent.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "coder"})
        agent.set_attribute("gen_ai.conversation.id", "c-1")
        with tracer.start_as_current_span("GET", attributes={"http.request.method": "GET"}):
            pass
        for _ in STEPS:
            with tracer.start_as_current_span(TOOL) as span:
                span.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read_file"})
                span.set_attribute("gen_ai.tool.call.arguments", '{"path": "a.py"}')
                span.set_attribute("gen_ai.tool.call.result", "print(1)")


def show(spans: Sequence[ReadableSpan]) -> None:
    """Print the exported spans for the test that runs this host."""
    print(json.dumps([[span.name, dict(span.attributes or {})] for span in spans], default=str))


def run(script: str, **environ: str) -> list[tuple[str, dict[str, Any]]]:
    """Return name and attributes of the spans that a host exports, in the order of their export."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"from hosts import *\n{script}"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, **_ENVIRON, "PYTHONPATH": f"{_ROOT}{os.pathsep}{Path(__file__).parent}", **environ},
    )
    assert done.returncode == 0, done.stderr
    return [(name, attributes) for name, attributes in json.loads(done.stdout.splitlines()[-1])]


def steps(spans: list[tuple[str, dict[str, Any]]]) -> list[object]:
    """Return `stall.step` of the tool spans."""
    return [attributes.get("stall.step") for name, attributes in spans if name == TOOL]
