"""The whole chain on loopback: an agent that gets stuck, collector, otel-stall inline, Jaeger. `make pipeline-demo`.

It starts the parts, runs the agent, looks for the stall in Jaeger as a person would, and says where to look. Then
it waits for Ctrl-C, or for as many seconds as --seconds says.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

HERE: Final = Path(__file__).parent
WAIT_SECONDS: Final = 60.0
CONVERSATION: Final = "pipeline-demo"
SERVICE: Final = "demo-agent"


def main() -> int:
    """Run the chain and return the exit status: 1 where the stall was not found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, help="End after so many seconds; by default on Ctrl-C.")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    # Ctrl-C at any time takes down what runs.
    with (
        suppress(KeyboardInterrupt),
        tempfile.TemporaryDirectory(prefix="otel-stall-demo-") as folder,
        ExitStack() as stack,
    ):
        ports = addresses()
        stack.enter_context(chain(Path(folder), ports))
        run_agent(ports["OTLP_GRPC"])
        found = wait_for_stall(ports["JAEGER_GRPC"])
        print_found(found, ports)
        if not found:
            return 1
        time.sleep(options.seconds if options.seconds is not None else 3_600 * 24)
    return 0


def addresses() -> dict[str, str]:
    """Return an address for each part: the usual port where it is free, else any."""
    usual = {
        "OTLP_GRPC": 4317, "OTLP_HTTP": 4318, "ADDED_GRPC": 4319, "BACKEND": 4327, "JAEGER_UI": 16686,
        "JAEGER_GRPC": 16685, "HEALTH": 13133, "JAEGER_HEALTH": 13143, "STALL": 14317, "ADMIN": 14319,
    }  # fmt: skip
    return {name: free_address(port) for name, port in usual.items()}


def free_address(port: int) -> str:
    """Return a loopback address with that port, or with another where it is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of a run before do not hold it
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@contextmanager
def chain(folder: Path, ports: dict[str, str]) -> Iterator[None]:
    """Run Jaeger, the collector and otel-stall while the block runs."""
    parts = Path(os.environ["OTEL_STALL_PARTS_BIN"])
    environ = {**ports, "EVENTS_FILE": str(folder / "events.jsonl"), "QUEUE_DIR": str(folder / "queue")}
    jaeger = [str(parts / "jaeger"), "--config", str(HERE / "jaeger/jaeger.yaml")]
    collector = [str(parts / "otelcol-stall"), "--config", str(HERE / "inline.yaml")]
    forward = f"grpc://{ports['ADDED_GRPC']}"
    gateway = [sys.executable, "-m", "otel_stall", "serve", "--mode", "inline", "--forward", forward]
    gateway += ["--grpc", ports["STALL"], "--http", "", "--admin", ports["ADMIN"], "--state", str(folder / "state")]
    with ExitStack() as stack:
        for name, command, health, own in (
            ("Jaeger", jaeger, f"http://{ports['JAEGER_UI']}/api/v3/services", {"HEALTH": ports["JAEGER_HEALTH"]}),
            ("the collector", collector, f"http://{ports['HEALTH']}/", {}),
            ("otel-stall", gateway, f"http://{ports['ADMIN']}/readyz", {}),
        ):
            print(f"starting {name}", flush=True)
            log = folder / f"{name.split()[-1]}.log"
            stack.enter_context(process(command, health, log, {**environ, **own}))
        yield


@contextmanager
def process(command: list[str], health: str, log: Path, environ: dict[str, str]) -> Iterator[None]:
    """Run one part while the block runs, from when it is healthy."""
    with log.open("wb") as output:
        # In a session of its own, so that Ctrl-C reaches the parts in order, through here.
        running = subprocess.Popen(
            command, stdout=output, stderr=output, env={**os.environ, **environ}, start_new_session=True
        )
    try:
        until = time.monotonic() + WAIT_SECONDS
        while not answers(health):
            if running.poll() is not None or time.monotonic() > until:
                sys.exit(f"{command[0]} did not start:\n{log.read_text(errors='replace')[-2_000:]}")
            time.sleep(0.2)
        yield
    finally:
        running.terminate()
        try:
            running.wait(20)
        except subprocess.TimeoutExpired:
            running.kill()


def answers(url: str) -> bool:
    """Return whether a URL answers with success."""
    try:
        with urllib.request.urlopen(url, timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False


def has_pages(url: str) -> bool:
    """Return whether this Jaeger has its user interface: one built from its Go module has the API alone."""
    with suppress(urllib.error.URLError, OSError), urllib.request.urlopen(url, timeout=2) as page:
        return b"not compiled with the UI" not in page.read()
    return False


def run_agent(address: str) -> None:
    """Export the run of an agent that reads the same two files again and again, to the collector."""
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    print("an agent works, and gets stuck", flush=True)
    provider = TracerProvider(resource=Resource.create({"service.name": SERVICE}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=address, insecure=True)))
    tracer = provider.get_tracer("demo.agent")
    whose = {"gen_ai.conversation.id": CONVERSATION, "gen_ai.agent.name": "coder"}
    with tracer.start_as_current_span(
        "invoke_agent coder", attributes={"gen_ai.operation.name": "invoke_agent", **whose}
    ):
        for number in range(16):
            path = "src/parser.py" if number % 2 else "src/lexer.py"
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "read_file",
                "gen_ai.tool.call.arguments": json.dumps({"path": path}),
                "gen_ai.tool.call.result": f"# {path}\ndef main() -> None: ...",
                **whose,
            }
            with tracer.start_as_current_span("execute_tool read_file", attributes=attributes):
                time.sleep(0.02)
    provider.shutdown()


def wait_for_stall(address: str) -> list[Any]:
    """Return the traces that Jaeger finds by `stall.detected=true`, once there are any."""
    import grpc
    from jaeger_api import find_traces

    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        with suppress(grpc.RpcError):
            if found := find_traces(address, SERVICE, {"stall.detected": "true"}):
                return found
        time.sleep(0.5)
    return []


def print_found(traces: list[Any], ports: dict[str, str]) -> None:
    """Print what was found in Jaeger, where the conversation stands, and where to look."""
    if not traces:
        print("the stall did not arrive in Jaeger")
        return
    spans = [span for trace in traces for group in trace.resource_spans for s in group.scope_spans for span in s.spans]
    said = [{pair.key: pair.value for pair in span.attributes} for span in spans]
    marked = [one for one in said if "stall.detected" in one and one["stall.detected"].bool_value]
    last = max(marked, key=lambda one: one["stall.step"].int_value)
    admin = f"http://{ports['ADMIN']}"
    print(
        f"""
Jaeger has the trace: {len(marked)} of its {len(spans)} spans lie inside a stall,
  {last["stall.kind"].string_value} from step {last["stall.first_step"].int_value}, \
at {last["stall.level"].string_value} by step {last["stall.step"].int_value}.

otel-stall says of the conversation:
""",
        flush=True,
    )
    subprocess.run([sys.executable, "-m", "otel_stall", "status", CONVERSATION, "--admin", admin], check=False)
    print(
        f"""
Look at
  {page_of(spans[0].trace_id.hex(), ports["JAEGER_UI"])}
  otel-stall status {CONVERSATION} --admin {admin}
or send your own spans to {ports["OTLP_GRPC"]} (OTLP/gRPC) or http://{ports["OTLP_HTTP"]} (OTLP/HTTP).
""",
        flush=True,
    )


def page_of(trace_id: str, jaeger: str) -> str:
    """Return Jaeger's search for stalls; the trace from its API, where it was built without its pages."""
    query = urlencode({"service": SERVICE, "tags": json.dumps({"stall.detected": "true"})})
    search = f"http://{jaeger}/search?{query}"
    return search if has_pages(search) else f"http://{jaeger}/api/v3/traces/{trace_id}"


if __name__ == "__main__":
    sys.exit(main())
