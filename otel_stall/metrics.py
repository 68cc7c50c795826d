"""Metrics of stalls and of the processor itself, through the metrics API of OpenTelemetry.

Callers never ask whether metrics are on: `create_stall_metrics` gives either kind. No attribute holds a
conversation id; agents and task classes are capped in number, further ones are `_other`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable
from itertools import count
from typing import TYPE_CHECKING, Final, Protocol

from otel_stall import attributes as names
from otel_stall.bounded import MEMORIES
from otel_stall.emission import AGENT, SCOPE, bounded_text
from otel_stall.judge import Census
from otel_stall.verdicts import Change, Judged, Stall

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Meter, MeterProvider, Observation

__all__ = ["OTHER", "NoOpStallMetrics", "OTelStallMetrics", "StallMetrics", "create_stall_metrics", "described"]

OTHER: Final = "_other"
"""Stands for all agents, or task classes, beyond the number that is told apart."""

_PAIRS: Final = 4
"""Pairs of an agent and a task class that are told apart, times the values of each."""
_SEGMENT_STEPS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500)
_PROCESSOR_SECONDS: Final = (0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.005, 0.02, 0.1, 0.5)

Attributes = dict[str, str | int | bool]
TakeCensus = Callable[[], Census | None]


class StallMetrics(Protocol):
    """What is recorded. May be called on any thread; blocks and raises only as the host's meters do."""

    def judged(self, judged: Judged, task_class: str = "") -> None:
        """Record one verdict."""

    def ran(self, seconds: float) -> None:
        """Record how long it took to judge a span that got a verdict."""

    def failed(self) -> None:
        """Record an internal error."""


class NoOpStallMetrics:
    """Records nothing."""

    def judged(self, judged: Judged, task_class: str = "") -> None:
        """Record nothing."""

    def ran(self, seconds: float) -> None:
        """Record nothing."""

    def failed(self) -> None:
        """Record nothing."""


class OTelStallMetrics:
    """Records through a meter; gauges ask `take_census` when the host's reader collects, on its thread.

    A census taken from a bound method is held weakly, so that a meter keeps no processor alive.
    """

    def __init__(self, meter: Meter, take_census: TakeCensus, values: int) -> None:
        self._agents, self._classes = _Capped(values), _Capped(values)
        self._pairs = _Few(_PAIRS * values)
        self._steps = _counter(meter, names.METRIC_STEPS)
        self._starts = _counter(meter, names.METRIC_STARTS)
        self._stalled_steps = _counter(meter, names.METRIC_STALLED_STEPS)
        self._stalled_tokens = _counter(meter, names.METRIC_STALLED_TOKENS)
        self._segments = _histogram(meter, names.METRIC_SEGMENT_LENGTH, _SEGMENT_STEPS)
        self._durations = _histogram(meter, names.METRIC_DURATION, _SEGMENT_STEPS)
        self._seconds = _histogram(meter, names.METRIC_PROCESSOR_DURATION, _PROCESSOR_SECONDS)
        self._errors = _counter(meter, names.METRIC_PROCESSOR_ERRORS)
        _observe(meter, take_census)

    def judged(self, judged: Judged, task_class: str = "") -> None:
        """Record one verdict: the step, the stall it lies in, and what changed."""
        verdict = judged.verdict
        whose = self._whose(judged.agent, task_class)
        if verdict.counted:
            self._steps.add(1, {**whose, names.GAIN_TYPE: verdict.gain.value})
        if verdict.stall is not None:
            if verdict.counted:
                self._stalled_steps.add(1, {**whose, **_of(verdict.stall)})
            if verdict.stalled_tokens:
                self._stalled_tokens.add(verdict.stalled_tokens, {**whose, **_of(verdict.stall)})
        for changed in verdict.changes:
            if changed.change is Change.STARTED and changed.stall is not None:
                self._starts.add(1, {**whose, names.KIND: changed.stall.kind.value})
            elif changed.change is Change.ENDED and changed.stall is not None:
                steps = changed.stall.last_step - changed.stall.first_step + 1
                self._durations.record(steps, {**whose, **_of(changed.stall)})
            elif changed.milestone is not None and changed.milestone.evidence.verified:
                self._segments.record(changed.milestone.segment, whose)

    def ran(self, seconds: float) -> None:
        """Record the time of one hook; one below zero, of a clock that was set back, as none."""
        self._seconds.record(max(seconds, 0.0))

    def failed(self) -> None:
        """Count an internal error."""
        self._errors.add(1)

    def _whose(self, agent: str, task_class: str) -> Attributes:
        agent = self._agents(agent) if agent else ""
        task_class = self._classes(task_class) if task_class else ""
        # Each alone may be one of few, and the pairs are many series all the same.
        if agent and task_class not in ("", OTHER) and not self._pairs.admits((agent, task_class)):
            task_class = OTHER
        whose: Attributes = {AGENT: agent} if agent else {}
        return {**whose, names.TASK_CLASS: task_class} if task_class else whose


def create_stall_metrics(
    provider: MeterProvider | None, take_census: TakeCensus, *, enabled: bool = True, values: int = 100
) -> StallMetrics:
    """Return metrics that record in that provider, None = the global one, set now or later.

    Without `enabled` they record nothing. `values` agents and as many task classes are told apart.
    """
    if not enabled:
        return NoOpStallMetrics()
    from opentelemetry.metrics import get_meter

    return OTelStallMetrics(get_meter(SCOPE, meter_provider=provider), take_census, values)


class _Few:
    """The first so many different keys; may be asked on any thread."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._places = count()
        self._known: set[Hashable] = set()

    def admits(self, key: Hashable) -> bool:
        """Return whether the key is one of them."""
        if key in self._known:
            return True
        # Threads that come at once each take a place of their own: there are never more keys than places.
        if len(self._known) >= self._limit or next(self._places) >= self._limit:
            return False
        self._known.add(key)
        return True


class _Capped:
    """The first so many different values as they are, all others as one."""

    def __init__(self, limit: int) -> None:
        self._few = _Few(limit)

    def __call__(self, value: str) -> str:
        value = bounded_text(value)
        return value if self._few.admits(value) else OTHER


class _Adding(Protocol):
    def add(self, amount: int, attributes: Attributes | None = None) -> None: ...


class _Recording(Protocol):
    def record(self, amount: float, attributes: Attributes | None = None) -> None: ...


_METRICS: Final = {name.key: name for name in names.names("metric")}


def described(key: str) -> tuple[str, str, str]:
    """Return name, unit and description of a metric, as the registry has them."""
    return key, _METRICS[key].type.rpartition(", ")[2], _METRICS[key].meaning


def _counter(meter: Meter, name: str) -> _Adding:
    return meter.create_counter(*described(name))


def _histogram(meter: Meter, name: str, bounds: tuple[float, ...]) -> _Recording:
    return meter.create_histogram(
        *described(name), explicit_bucket_boundaries_advisory=[float(bound) for bound in bounds]
    )


def _observe(meter: Meter, take_census: TakeCensus) -> None:
    take = _weakly(take_census)
    gauges: tuple[tuple[str, Callable[[Census], int]], ...] = (
        (names.METRIC_ACTIVE, lambda census: census.active),
        (names.METRIC_CONVERSATIONS, lambda census: census.conversations),
    )
    counters: tuple[tuple[str, Callable[[Census], int]], ...] = (
        (names.METRIC_EVICTIONS, lambda census: census.evictions),
        (names.METRIC_LATE_STEPS, lambda census: census.late_steps),
        (names.METRIC_PROCESSOR_SKIPPED, lambda census: census.skipped),
    )
    for name, figure in gauges:
        meter.create_observable_gauge(name, [_callback(take, _alone(figure))], *described(name)[1:])
    for name, figure in counters:
        meter.create_observable_counter(name, [_callback(take, _alone(figure))], *described(name)[1:])
    name = names.METRIC_PROCESSOR_FORGOTTEN
    meter.create_observable_counter(name, [_callback(take, _forgotten)], *described(name)[1:])


_Figures = Callable[[Census], Iterable[tuple[int, Attributes]]]


def _alone(figure: Callable[[Census], int]) -> _Figures:
    return lambda census: [(figure(census), {})]


def _forgotten(census: Census) -> Iterable[tuple[int, Attributes]]:
    return [(census.forgotten.get(memory, 0), {"memory": memory}) for memory in MEMORIES]


def _callback(
    take: Callable[[], Census | None], figures: _Figures
) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def observe(_options: CallbackOptions) -> Iterable[Observation]:
        from opentelemetry.metrics import Observation

        census = take()
        return [] if census is None else [Observation(value, attributes) for value, attributes in figures(census)]

    return observe


def _weakly(take_census: TakeCensus) -> Callable[[], Census | None]:
    if not hasattr(take_census, "__self__"):
        return take_census
    held = weakref.WeakMethod(take_census)

    def take() -> Census | None:
        method = held()
        return method() if method is not None else None

    return take


def _of(stall: Stall) -> Attributes:
    return {names.KIND: stall.kind.value, names.LEVEL: stall.level.value}
