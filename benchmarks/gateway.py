"""What the gateway costs beside a collector on the same traffic: `python benchmarks/gateway.py [--collector PATH]`.

Each set-up is one process on loopback between a client and a sink, both of this script: the gateway inline, as a
tap and with a state file, and if given an OpenTelemetry Collector with receive, batch and export. They take
turns. CPU is that of the process under test, user and system, from /proc; latency is that of one request at
a time, added to that of the sink alone. It asserts nothing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import grpc
from traffic import SPANS, requests

_METHOD: Final = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_SERVICES: Final = ("trace.v1.TraceService", "logs.v1.LogsService", "metrics.v1.MetricsService")
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_COLLECTOR: Final = """
receivers: {{otlp: {{protocols: {{grpc: {{endpoint: "{listen}", max_recv_msg_size_mib: 64}}}}}}}}
processors: {{batch: {{}}}}
exporters: {{otlp_grpc: {{endpoint: "{sink}", compression: none, tls: {{insecure: true}}}}}}
service:
  telemetry: {{metrics: {{level: none}}, logs: {{level: error}}}}
  pipelines: {{traces: {{receivers: [otlp], processors: [batch], exporters: [otlp_grpc]}}}}
"""


class Figures(NamedTuple):
    """Of one set-up: CPU per span in us, spans per second of CPU, largest resident set, added latency in ms."""

    cpu_us: float
    per_second: float
    rss_mib: float
    p50_ms: float
    p99_ms: float


@contextmanager
def sink() -> Iterator[str]:
    """Serve a downstream that takes everything, and give its address."""
    server = grpc.server(ThreadPoolExecutor(4), options=[("grpc.max_receive_message_length", 64 << 20)])
    handler = grpc.unary_unary_rpc_method_handler(lambda _body, _context: b"")
    for service in _SERVICES:
        name = f"opentelemetry.proto.collector.{service}"
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(name, {"Export": handler})])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(0).wait()


@contextmanager
def process(command: Sequence[str], address: str) -> Iterator[int]:
    """Run a process until the block ends, and give its id once it listens."""
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        with grpc.insecure_channel(address) as channel:
            grpc.channel_ready_future(channel).result(30)
        yield running.pid
    finally:
        running.terminate()
        running.wait(60)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def peak_mib(pid: int) -> float:
    """Return the largest resident set of a process so far."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1_024


def measured(pid: int, address: str, bodies: Sequence[bytes], base: tuple[float, float]) -> Figures:
    """Send all bodies, one at a time, and return the figures; the first tenth warms up."""
    warm = max(1, len(bodies) // 10)
    latencies = []
    with grpc.insecure_channel(address, options=[("grpc.max_send_message_length", -1)]) as channel:
        call = channel.unary_unary(_METHOD)
        for body in bodies[:warm]:
            call(body, timeout=60)
        before = cpu_seconds(pid)
        for body in bodies[warm:]:
            began = time.perf_counter()
            call(body, timeout=60)
            latencies.append((time.perf_counter() - began) * 1_000)
    time.sleep(0.5)  # what batches sends on after it answered
    spans = len(latencies) * SPANS
    cpu = cpu_seconds(pid) - before
    p50, p99 = quantiles(latencies)
    return Figures(cpu / spans * 1e6, spans / cpu, peak_mib(pid), p50 - base[0], p99 - base[1])


def quantiles(values: Sequence[float]) -> tuple[float, float]:
    """Return median and 99th percentile."""
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return cuts[49], cuts[98]


def direct(address: str, bodies: Sequence[bytes]) -> tuple[float, float]:
    """Return the latency of the sink alone."""
    latencies = []
    with grpc.insecure_channel(address, options=[("grpc.max_send_message_length", -1)]) as channel:
        call = channel.unary_unary(_METHOD)
        for body in bodies:
            began = time.perf_counter()
            call(body, timeout=60)
            latencies.append((time.perf_counter() - began) * 1_000)
    return quantiles(latencies)


def setups(folder: Path, to: str, collector: str | None) -> Iterator[tuple[str, list[str], str]]:
    """Yield name, command and address of each set-up."""
    port = 24_317
    serve = [sys.executable, "-m", "otel_stall", "serve", "--http", "", "--admin", "", "--forward", f"grpc://{to}"]
    for name, more in (
        ("inline", ["--mode", "inline"]),
        ("tap", ["--mode", "tap"]),
        ("inline, state", ["--mode", "inline", "--state", str(folder / "state.db")]),
    ):
        port += 1
        yield name, [*serve, "--grpc", f"127.0.0.1:{port}", *more], f"127.0.0.1:{port}"
    if collector is not None:
        port += 1
        path = folder / "collector.yaml"
        path.write_text(_COLLECTOR.format(listen=f"127.0.0.1:{port}", sink=to), encoding="utf-8")
        yield "collector", [collector, "--config", str(path)], f"127.0.0.1:{port}"


def main() -> None:
    """Print a table per size of spans."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collector", help="Program of a collector with otlp receiver and exporter, and batch.")
    parser.add_argument("--requests", type=int, default=60, help="Requests of 512 spans for each set-up.")
    options = parser.parse_args()
    for size in (1_000, 2_000):
        bodies = list(requests(options.requests, span_bytes=size))
        print(f"\n{size / 1000:g} KB per span, {len(bodies[0]) / SPANS:.0f} bytes measured, {SPANS} a request")
        print(f"{'':16}{'us/span':>9}{'spans/s':>10}{'MiB':>7}{'+p50 ms':>9}{'+p99 ms':>9}")
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            to = stack.enter_context(sink())
            base = direct(to, bodies)
            for name, command, address in setups(folder, to, options.collector):
                with process(command, address) as pid:
                    figures = measured(pid, address, bodies, base)
                print(
                    f"{name:16}{figures.cpu_us:9.1f}{figures.per_second:10,.0f}{figures.rss_mib:7.0f}"
                    f"{figures.p50_ms:9.1f}{figures.p99_ms:9.1f}"
                )


if __name__ == "__main__":
    main()
