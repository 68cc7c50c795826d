"""The gateway's own metrics, sent downstream by the same forwarder as everything else."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from typing import Any, Final

from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    MetricExporter,
    MetricExportResult,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import Resource

from otel_stall import __version__
from otel_stall import attributes as names
from otel_stall.emission import SCOPE
from otel_stall.gateway.answers import Answer, Code, Request
from otel_stall.gateway.forwarding import Forwarder
from otel_stall.metrics import described
from otel_stall.otlp import Signal

__all__ = ["SERVICE", "GatewayMetrics", "create_provider"]

_LOG = logging.getLogger("otel_stall")

SERVICE: Final = "otel-stall"
"""Service under which the gateway's own metrics and events stand."""
_SECONDS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 10.0)
_OUTCOMES: Final = {Code.OK: "accepted", Code.UNAVAILABLE: "deferred"}


def create_provider(forwarder: Forwarder, seconds: float) -> MeterProvider:
    """Return a meter provider whose metrics go downstream every `seconds`, under the service `otel-stall`."""
    resource = Resource.create(
        {"service.name": SERVICE, "service.version": __version__, "service.instance.id": str(uuid.uuid4())}
    )
    reader = PeriodicExportingMetricReader(_Exporter(forwarder), export_interval_millis=seconds * 1_000)
    return MeterProvider([reader], resource=resource)


class GatewayMetrics:
    """What is recorded of requests; may be called on any thread."""

    def __init__(self, provider: MeterProvider, unsaved: Callable[[], int]) -> None:
        meter = provider.get_meter(SCOPE)
        self._requests = meter.create_counter(*described(names.METRIC_GATEWAY_REQUESTS))
        self._items = meter.create_counter(*described(names.METRIC_GATEWAY_ITEMS))
        self._unsent = meter.create_counter(*described(names.METRIC_GATEWAY_UNSENT))
        self._duration = meter.create_histogram(
            *described(names.METRIC_GATEWAY_DURATION), explicit_bucket_boundaries_advisory=_SECONDS
        )

        def observe(_options: CallbackOptions) -> list[Observation]:
            return [Observation(unsaved())]

        key, unit, meaning = described(names.METRIC_GATEWAY_UNSAVED)
        meter.create_observable_counter(key, [observe], unit, meaning)

    def answered(self, signal: Signal, answer: Answer, items: int, seconds: float) -> None:
        """Record one request and its answer."""
        whose = {"signal": signal.value}
        self._requests.add(1, {**whose, "outcome": _OUTCOMES.get(answer.code, "refused")})
        if answer.ok and items:
            self._items.add(items, whose)
        self._duration.record(seconds, whose)

    def unsent(self, signal: Signal) -> None:
        """Record a request of our own that the downstream will not take."""
        self._unsent.add(1, {"signal": signal.value})


class _Exporter(MetricExporter):
    def __init__(self, forwarder: Forwarder) -> None:
        super().__init__()
        self._forwarder = forwarder
        self._refused = False

    # The signatures are the SDK's.
    def export(self, metrics_data: MetricsData, timeout_millis: float = 1e4, **_: Any) -> MetricExportResult:  # noqa: ARG002
        if self._refused:
            return MetricExportResult.SUCCESS
        answer = self._forwarder.send(Request(Signal.METRICS, encode_metrics(metrics_data).SerializeToString()))
        if answer.code is Code.UNIMPLEMENTED:
            self._refused = True
            _LOG.warning("the downstream takes no metrics: the gateway's own are not sent")
        return MetricExportResult.SUCCESS if answer.ok or self._refused else MetricExportResult.FAILURE

    def force_flush(self, timeout_millis: float = 1e4) -> bool:  # noqa: ARG002
        return True

    def shutdown(self, timeout_millis: float = 3e4, **_: Any) -> None:
        """Leave the forwarder to its owner."""
