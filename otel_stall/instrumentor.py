"""`StallInstrumentor`: the processor without a line of code, by `opentelemetry-instrument` or declarative YAML.

Needs the extra `otel-stall[instrument]`. Found by OpenTelemetry under the entry point `otel_stall`, so that
`OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=otel_stall` leaves it out.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined] # untyped there

from otel_stall.attachment import attach
from otel_stall.config import StallConfig
from otel_stall.errors import ConfigError
from otel_stall.processor import StallSpanProcessor

__all__ = ["StallInstrumentor", "StallOptions"]

_LOG = logging.getLogger("otel_stall")


@dataclass
class StallOptions:
    """Options of `instrumentation/development: {python: {otel_stall: {...}}}`; None leaves a setting as it is.

    They are the fields of `StallConfig` and go before the environment's.
    """

    detection: dict[str, Any] | None = None
    bounds: dict[str, Any] | None = None
    milestones: dict[str, Any] | None = None
    pressure: dict[str, Any] | None = None
    mode: str | None = None
    preset: str | None = None
    stamp: bool | None = None
    agent_summary: bool | None = None
    metrics: bool | None = None
    span_events: bool | None = None
    fingerprint_key: str | None = None
    baseline: str | None = None
    hook_seconds: float | None = None
    content_steps: int | None = None


class StallInstrumentor(BaseInstrumentor):  # type: ignore[misc] # the base is untyped
    """Attaches a processor to the live tracer provider.

    `instrument(**options)` takes the fields of `StallOptions`. Wrong options are logged with the field's
    name and nothing is judged: an exception would keep all instrumentations of the host from loading.
    """

    configuration = StallOptions
    """Read by OpenTelemetry's declarative configuration to check the options of a file."""

    processor: StallSpanProcessor | None = None

    def instrumentation_dependencies(self) -> Collection[str]:
        """Return nothing: spans of any library are judged."""
        return ()

    def _instrument(self, **options: Any) -> None:
        known = asdict(StallOptions())
        given = {name: value for name, value in options.items() if name in known and value is not None}
        try:
            config = StallConfig.from_environ(os.environ, given)
        except ConfigError as error:
            _LOG.error("nothing is judged, as a setting of otel_stall is wrong: %s", error)
            return
        if config.enabled:
            self.processor = attach(config=config)

    def _uninstrument(self, **options: Any) -> None:  # noqa: ARG002 # the base's signature
        """Let spans pass untouched again; a provider gives no processor back."""
        if self.processor is not None:
            self.processor.shutdown()
            self.processor = None
