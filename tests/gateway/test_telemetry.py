"""The gateway's own metrics: what is counted, and that they go where everything goes."""

from __future__ import annotations

from downstreams import Kept
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, MetricsData
from opentelemetry.sdk.metrics import MeterProvider

from otel_stall import attributes as names
from otel_stall.gateway.answers import OK, Answer, Code
from otel_stall.gateway.telemetry import GatewayMetrics, create_provider
from otel_stall.otlp import Signal


def _recorded(kept: Kept) -> MeterProvider:
    provider = create_provider(kept, 3_600)
    metrics = GatewayMetrics(provider, lambda: 4)
    metrics.answered(Signal.TRACES, OK, 12, 0.5)
    metrics.answered(Signal.LOGS, Answer(Code.UNAVAILABLE), 3, 0.5)
    metrics.answered(Signal.TRACES, Answer(Code.INVALID_ARGUMENT), 0, 0.5)
    metrics.unsent(Signal.LOGS)
    return provider


def _sent(kept: Kept) -> dict[str, Metric]:
    messages = [MetricsData.FromString(request.body) for request in kept.of(Signal.METRICS)]
    groups = [group for message in messages for group in message.resource_metrics]
    assert {
        pair.value.string_value for g in groups for pair in g.resource.attributes if pair.key == "service.name"
    } == {"otel-stall"}
    return {metric.name: metric for group in groups for scope in group.scope_metrics for metric in scope.metrics}


def test_requests_are_counted_by_signal_and_outcome() -> None:
    """Accepted, deferred, refused; items of accepted requests alone; and all metrics of the registry are there."""
    kept = Kept()
    provider = _recorded(kept)
    provider.force_flush()
    provider.shutdown()
    sent = _sent(kept)
    assert set(sent) == {name.key for name in names.names("metric") if name.key.startswith("stall.gateway.")}
    counted = {
        tuple(sorted(pair.value.string_value for pair in point.attributes)): point.as_int
        for point in sent["stall.gateway.requests"].sum.data_points
    }
    assert counted == {("accepted", "traces"): 1, ("deferred", "logs"): 1, ("refused", "traces"): 1}
    assert [point.as_int for point in sent["stall.gateway.items"].sum.data_points] == [12]
    assert [point.as_int for point in sent["stall.gateway.unsaved"].sum.data_points] == [4]


def test_a_downstream_without_metrics_is_left_alone() -> None:
    """After one refusal no further are sent."""
    kept = Kept(untaken=frozenset((Signal.METRICS,)))
    provider = _recorded(kept)
    for _ in range(3):
        provider.force_flush()
    provider.shutdown()
    assert kept.attempts == 1
