"""`Emitter`: everything a judgement becomes, on its span and beside it, and what went wrong on the way."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from otel_stall.config import StallConfig
from otel_stall.contents import ContentWatch
from otel_stall.emission import Event, EventLog, Value, attributes_of, events_of
from otel_stall.errors import place_of
from otel_stall.judge import Census, Judgement
from otel_stall.metrics import create_stall_metrics

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.metrics import MeterProvider

__all__ = ["Emitter", "OnSpan", "Providers"]

_LOG = logging.getLogger("otel_stall")

_QUIET_SECONDS: Final = 60.0


class Providers(NamedTuple):
    """Where events and metrics go; None = the global provider, set now or later."""

    logger: LoggerProvider | None = None
    meter: MeterProvider | None = None


class OnSpan(NamedTuple):
    """What belongs on the judged span."""

    attributes: dict[str, Value]
    events: list[Event]


class Emitter:
    """Turns judgements into attributes, events and metrics; may be called on any thread, and raises nothing.

    `errors` counts internal errors, `unannotated` the verdicts that a span did not take.
    """

    def __init__(
        self,
        config: StallConfig,
        take_census: Callable[[], Census | None],
        providers: Providers,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.errors = 0
        self.unannotated = 0
        self.metrics = create_stall_metrics(
            providers.meter, take_census, enabled=config.metrics, values=config.bounds.metric_values
        )
        self._config = config
        self._key = config.fingerprint_key.get_secret_value()
        self._log = EventLog(providers.logger)
        self._contents = ContentWatch(config.content_steps)
        self._clock = clock
        self._quiet_until = float("-inf")

    def on_span(self, judgement: Judgement) -> OnSpan:
        """Return the attributes and events that the judged span is to carry, both empty where it is no step."""
        attributes: dict[str, Value] = {}
        events: list[Event] = []
        for judged in judgement.judged:
            if judged.span_id != judgement.reading.span_id:
                continue
            attributes |= attributes_of(judged, self._key, minimal=self._config.preset == "minimal")
            events += events_of(judged) if self._config.span_events else ()
        return OnSpan(attributes, events)

    def beside(self, judgement: Judgement, *, sampled: bool) -> None:
        """Log the events of a judgement, record its metrics, and look whether results are recorded at all.

        `sampled`: whether the judged span is exported.
        """
        self.recorded(judgement)
        self._guarded(self._logged if sampled else self._logged_alone, judgement)

    def recorded(self, judgement: Judgement) -> None:
        """Do the same without logging events: record metrics, and look whether results are recorded at all."""
        self._guarded(self._measured, judgement)
        self._guarded(self._watched, judgement)

    def _guarded(self, part: Callable[[Judgement], None], judgement: Judgement) -> None:
        try:
            part(judgement)
        except Exception as error:
            self.failed(error)

    def say(self, event: Event, *, time_ns: int, body: str | None = None) -> None:
        """Log an event of the host's reaction, in the current context; raises nothing."""
        try:
            self._log.say(event, time_ns=time_ns, body=body)
        except Exception as error:
            self.failed(error)

    def refused(self) -> None:
        """Take note of a span that took no annotation; this is logged once."""
        self.unannotated += 1
        if self.unannotated == 1:
            _LOG.warning("spans of this SDK take no attributes at their end; verdicts go out as events only")

    def failed(self, error: Exception) -> None:
        """Count an error and log where it happened, at most once a minute, without what spans held; raises nothing."""
        # A filter of the host's may raise. Leaving `suppress` takes a frame, and the stack may have none left.
        try:  # noqa: SIM105
            self._told(error)
        except Exception:
            pass

    def _told(self, error: Exception) -> None:
        self.errors += 1
        now = self._clock()
        if now >= self._quiet_until:
            self._quiet_until = now + _QUIET_SECONDS
            _LOG.warning(
                "%s at %s while judging a span, which goes on untouched (%d so far)",
                type(error).__name__,
                place_of(error),
                self.errors,
            )
        # The error may have come from the host's meters.
        with suppress(Exception):
            self.metrics.failed()

    def _measured(self, judgement: Judgement) -> None:
        for judged in judgement.judged:
            self.metrics.judged(judged, judgement.reading.task_class)

    def _watched(self, judgement: Judgement) -> None:
        for judged in judgement.judged:
            self._contents.saw(judged, judgement.reading.scope)

    def _logged(self, judgement: Judgement, sampled: bool = True) -> None:
        for judged in judgement.judged:
            if events := events_of(judged):
                self._log.emit(judged, events, time_ns=judgement.reading.end_ns, sampled=sampled)

    def _logged_alone(self, judgement: Judgement) -> None:
        self._logged(judgement, sampled=False)
