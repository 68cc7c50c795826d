"""How many series a host can make by what it names: no more than the settings say, in processor and gateway."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from downstreams import Kept, assembled_gateway, attributes, run, traces
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider

from otel_stall.config import StallConfig
from otel_stall.exporter import StallSpanExporter
from otel_stall.otlp import Signal
from otel_stall.processor import StallSpanProcessor
from otel_stall.testing import RecordedProvider

VALUES = 6
CONFIG = StallConfig.create({"bounds": {"metric_values": VALUES, "conversations": 50}})
PAIRS = 4 * VALUES + 2 * (VALUES + 1)
"""Pairs of an agent and a task class: those told apart, and those of which one or both are `_other`."""
CLOSED = {"stall.gain.type": 6, "stall.kind": 3, "stall.level": 4, "memory": 10, "signal": 3, "outcome": 3}
"""Attributes with a closed list of values, and how many there are."""

Series = tuple[str, tuple[tuple[str, Any], ...]]


def check(series: Iterable[Series]) -> None:
    """Assert that every metric has few series, and its attributes few values."""
    by_metric: dict[str, set[tuple[tuple[str, Any], ...]]] = {}
    for name, said in series:
        by_metric.setdefault(name, set()).add(said)
    assert by_metric["stall.steps"]
    for name, found in by_metric.items():
        values: dict[str, set[Any]] = {}
        for said in found:
            for key, value in said:
                values.setdefault(key, set()).add(value)
        pairs = {(dict(said).get("gen_ai.agent.name"), dict(said).get("stall.task.class")) for said in found}
        assert len(pairs) <= PAIRS, name
        assert {key for key in values if len(values[key]) > CLOSED.get(key, VALUES + 1)} == set(), name


def name_at_random(recorded: RecordedProvider, seed: int) -> None:
    """Let hundreds of agents with classes of tasks at random work, get stuck and reach milestones."""
    source = Random(seed)
    for number in range(400):
        agent, task_class = f"agent {source.randrange(900)}", f"class {source.randrange(900)}"
        with recorded.agent(agent, conversation=f"{seed}-{number}"):
            for step in range(source.choice((1, 2, 8))):
                said = {"stall.task.class": task_class, "stall.milestone": "m" if step == 7 else ""}
                recorded.tool("read_file", {"path": "a"}, "text", attributes=said)


def live(reader: InMemoryMetricReader) -> Iterable[Series]:
    data = reader.get_metrics_data()
    for metric in (m for r in (data.resource_metrics if data else ()) for s in r.scope_metrics for m in s.metrics):
        for point in metric.data.data_points:
            yield metric.name, tuple(sorted((point.attributes or {}).items()))


def made(kind: str, meters: MeterProvider) -> tuple[RecordedProvider, Callable[[], str], Callable[[str], None]]:
    """Return a host with our processor, or exporter, and how its state is saved and restored."""
    provider = TracerProvider(shutdown_on_exit=False)
    if kind == "processor":
        processor = StallSpanProcessor(CONFIG, meter_provider=meters)
        return RecordedProvider(processor, provider=provider), processor.monitor.snapshot, processor.monitor.restore
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = StallSpanExporter(InMemorySpanExporter(), CONFIG, meter_provider=meters)
    recorded = RecordedProvider(SimpleSpanProcessor(exporter), provider=provider)
    return recorded, exporter.monitor.snapshot, exporter.monitor.restore


@pytest.mark.parametrize("kind", ["processor", "exporter"])
def test_of_a_live_host(kind: str) -> None:
    """However it names agents and tasks, over two lives with one state: each life has the capped series."""
    state = ""
    for life in range(2):
        reader = InMemoryMetricReader()
        meters = MeterProvider([reader], shutdown_on_exit=False)
        recorded, save, restore = made(kind, meters)
        if state:
            restore(state)
        name_at_random(recorded, life)
        check(live(reader))
        state = save()
        meters.shutdown()


def test_of_the_gateway(tmp_path: Path) -> None:
    """The same of a gateway, over restarts with one state file."""
    for life in range(3):
        kept = Kept()
        with assembled_gateway(kept, CONFIG, state={"file": tmp_path / "state", "sync": False}) as parts:
            for number in range(120):
                spans = run(f"{life}-{number}", steps=4, agent=f"agent {life * 200 + number}")
                for span in spans:
                    span._attributes = {**span.attributes, "stall.task.class": f"class {number % 70}"}
                assert parts.gateway.handle(traces(spans)).ok
        check(sent(kept))


def sent(kept: Kept) -> Iterable[Series]:
    for request in kept.of(Signal.METRICS):
        message = MetricsData.FromString(request.body)
        for metric in (m for r in message.resource_metrics for s in r.scope_metrics for m in s.metrics):
            for point in getattr(metric, metric.WhichOneof("data") or "gauge").data_points:
                yield metric.name, tuple(sorted(attributes(point).items()))
