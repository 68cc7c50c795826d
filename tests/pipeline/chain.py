"""Real parts on loopback, each a process of its own: the collector, Jaeger, gateways; and what arrived behind them."""

from __future__ import annotations

import csv
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import grpc
import urllib3
import yaml
from jaeger_api import find_traces
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from opentelemetry.sdk.trace.export import SpanExportResult

__all__ = [
    "CONFIGS", "Ports", "collector", "eventually", "export", "haproxy", "jaeger", "json_lines", "program", "prometheus",
    "searched", "started",
]  # fmt: skip

CONFIGS: Final = Path(__file__).parents[2] / "collector-config"
_WAIT_SECONDS: Final = 40.0


def program(name: str) -> str:
    """Return the path of a part; `make parts` builds it, and without it the test fails."""
    folder = os.environ.get("OTEL_STALL_PARTS_BIN", "")
    path = Path(folder) / name
    assert folder, "OTEL_STALL_PARTS_BIN names no folder: run `make test-pipeline`"
    assert path.is_file(), f"{path} is missing: run `make parts`"
    return str(path)


class Ports(dict[str, str]):
    """Addresses on free loopback ports by name, made when first asked for.

    They lie below those that the system gives to outgoing connections: one of these could take a port between here and
    the start of the part that it is meant for.
    """

    def __missing__(self, name: str) -> str:
        address = f"127.0.0.1:{secrets.choice(range(20_000, 32_000))}"
        if address in self.values() or not _is_free(address):
            return self[name]
        self[name] = address
        return address


def _is_free(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with socket.socket() as probe:
        try:
            probe.bind((host, int(port)))
        except OSError:
            return False
    return True


def eventually(look: Callable[[], Any], seconds: float = _WAIT_SECONDS) -> Any:
    """Return what `look` gives once it is something; fails after so many seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := look():
            return found
        time.sleep(0.1)
    raise AssertionError(f"nothing after {seconds} s")


@contextmanager
def started(command: list[str], health: str, folder: Path, **environ: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process while the block runs, from when its health URL answers; it is ended by its id in any case."""
    log = folder / f"{Path(command[0]).name}-{health.rpartition(':')[2].partition('/')[0]}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder, env={**os.environ, **environ})
    try:
        eventually(lambda: _healthy(health) or process.poll() is not None)
        assert process.poll() is None, log.read_text(encoding="utf-8", errors="replace")[-2_000:]
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _healthy(url: str) -> bool:
    try:
        return urllib3.request("GET", url, retries=False, timeout=1).status == 200
    except urllib3.exceptions.HTTPError:
        return False


@contextmanager
def collector(
    config: str, folder: Path, ports: Mapping[str, str], over: str = "", **environ: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a configuration of this project, `over` it another, on those addresses while the block runs."""
    named = ("OTLP_GRPC", "OTLP_HTTP", "ADDED_GRPC", "STALL", "BACKEND", "HEALTH", "PROMETHEUS")
    given = {name: ports[name] for name in (*named, "SHARD_1", "SHARD_2", "SHARD_3")}
    given |= {"EVENTS_FILE": str(folder / "events.jsonl"), "QUEUE_DIR": str(folder / "queue"), **environ}
    command = [program("otelcol-stall"), *(f"--config={CONFIGS / name}" for name in (config, over) if name)]
    with started(command, f"http://{given['HEALTH']}/", folder, **given) as running:
        yield running


@contextmanager
def jaeger(folder: Path, ports: Mapping[str, str]) -> Iterator[str]:
    """Run Jaeger while the block runs, and give the address of its gRPC API."""
    given = {name: ports[name] for name in ("BACKEND", "JAEGER_UI", "JAEGER_GRPC")} | {"HEALTH": ports["JAEGER_HEALTH"]}
    command = [program("jaeger"), "--config", str(CONFIGS / "jaeger/jaeger.yaml")]
    with started(command, f"http://{given['JAEGER_UI']}/api/v3/services", folder, **given):
        yield given["JAEGER_GRPC"]


def searched(api: str, attributes: Mapping[str, str]) -> list[TracesData]:
    """Return the traces of these tests' agents that Jaeger finds by attributes.

    None where it sends one that can't be read, as it does now and then for a trace that is being written.
    """
    try:
        return find_traces(api, "agents", attributes)
    except grpc.RpcError:
        return []


@contextmanager
def haproxy(folder: Path, ports: Mapping[str, str]) -> Iterator[Callable[[str], bool]]:
    """Run HAProxy around a gateway while the block runs; the function given says whether one of its servers is up."""
    given = {name: ports[name] for name in ("AROUND", "AROUND_HEALTH", "GATEWAY", "ADDED_GRPC")}
    given["GATEWAY_ADMIN_PORT"] = ports["ADMIN"].rpartition(":")[2]
    url = f"http://{given['AROUND_HEALTH']}/"

    def is_up(server: str) -> bool:
        page = urllib3.request("GET", f"{url};csv", retries=False, timeout=5).data.decode()
        rows = csv.DictReader(page.removeprefix("# ").splitlines())
        return any(row["svname"] == server and row["status"].startswith("UP") for row in rows)

    command = [_installed("haproxy"), "-db", "-f", str(CONFIGS / "failover/haproxy.cfg")]
    with started(command, f"{url}healthz", folder, **given):
        yield is_up


@contextmanager
def prometheus(folder: Path, ports: Mapping[str, str]) -> Iterator[str]:
    """Run Prometheus with this project's rules, every second, while the block runs, and give the URL of its API."""
    config = yaml.safe_load((CONFIGS / "prometheus/prometheus.yaml").read_text(encoding="utf-8"))
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["rule_files"] = [str(CONFIGS / "prometheus" / name) for name in config["rule_files"]]
    config["scrape_configs"][0]["static_configs"] = [{"targets": [ports["PROMETHEUS"]]}]
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    url = f"http://{ports['PROMETHEUS_API']}"
    options = [f"--storage.tsdb.path={folder / 'tsdb'}", f"--web.listen-address={ports['PROMETHEUS_API']}"]
    command = [_installed("prometheus"), f"--config.file={folder / 'prometheus.yaml'}", *options]
    with started(command, f"{url}/-/ready", folder):
        yield url


def _installed(name: str) -> str:
    path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    assert path, f"{name} is not installed: run `make test-pipeline`"
    return path


def export(address: str, spans: Sequence[Any]) -> None:
    """Send spans as a traced program does, over OTLP/gRPC."""
    exporter = OTLPSpanExporter(endpoint=address, insecure=True)
    assert exporter.export(spans) is SpanExportResult.SUCCESS
    exporter.shutdown()


def json_lines(path: Path) -> list[dict[str, Any]]:
    """Return the requests in a file of the collector's file exporter."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
