"""`attach`: the processor on whatever tracer provider is live, past the traps of those who own it."""

from __future__ import annotations

import inspect
import logging
import sys
import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from opentelemetry import trace

from otel_stall import sdk
from otel_stall.config import StallConfig
from otel_stall.forks import renew_in_children
from otel_stall.processor import StallSpanProcessor

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

__all__ = ["attach", "attached"]

_LOG = logging.getLogger("otel_stall")

_MLFLOW: Final = "mlflow.tracing.provider"
_UNSET: Final = (
    "no tracer provider is set yet: call otel_stall.attach() after set_tracer_provider(), or after the configure() or "
    "init() of what sets it up for you (logfire, langfuse, traceloop, phoenix, mlflow, ...)"
)

_lock = threading.RLock()
_attached: dict[int, tuple[weakref.ref[object], StallSpanProcessor]] = {}
_unattached: list[StallSpanProcessor] = []
_said: set[str] = set()


def _renew() -> None:
    global _lock  # noqa: PLW0603
    _lock = threading.RLock()


renew_in_children(_renew)


def attach(
    provider: TracerProvider | None = None,
    *,
    config: StallConfig | None = None,
    processor: StallSpanProcessor | None = None,
) -> StallSpanProcessor:
    """Return the processor that judges the spans of a provider, after adding it where it is not there yet.

    `provider` defaults to the one that is live: the global one, or mlflow's own where mlflow keeps it apart and
    no other is set. Call it once the provider is set up; called again it adds nothing to a provider that has
    a processor (settings given then are not looked at), and puts the same one on a provider that took the
    place of another. Where nothing can be added, this is logged once with what to do, and the processor
    returned sees no span until a later call can add it. Raises ConfigError for wrong settings.
    """
    with _lock:
        found = provider if provider is not None else _live()
        known = _known(found)
        chosen = known or processor or _earlier(found, config) or StallSpanProcessor(config)
        if not chosen.config.enabled:
            return chosen
        chosen.reopen()
        problem = _added(found, chosen) if known is None else None
        if problem is not None:
            _say(problem)
        if problem is None or provider is not None:
            _remember(found, chosen)
        else:
            _unattached[:] = [chosen]
        return chosen


def attached(span: object = None) -> StallSpanProcessor | None:
    """Return the processor that an open span will end in, or else one of the live provider's; None where there is none.

    Adds nothing and sets nothing up.
    """
    for each in sdk.processors_above(span):
        if isinstance(each, StallSpanProcessor):
            return each
    found = _known(trace.get_tracer_provider())
    return found or next((chosen for held, chosen in list(_attached.values()) if held() is not None), None)


def _live() -> TracerProvider:
    found = trace.get_tracer_provider()
    mlflow = sys.modules.get(_MLFLOW)
    if mlflow is None or _takes(found):
        return found
    # mlflow keeps a provider of its own and makes it when it is first used.
    mlflow.provider.get_or_init_tracer(__name__)
    own: TracerProvider | None = mlflow.provider.get()
    return own if own is not None else found


def _innermost(provider: object) -> object:
    """Return the provider that keeps the processors: some put a replaceable one behind a proxy."""
    inner = getattr(provider, "provider", None)
    return inner if inner is not None and hasattr(inner, "get_tracer") else provider


def _takes(provider: object) -> bool:
    return hasattr(_innermost(provider), "add_span_processor")


def _known(provider: object) -> StallSpanProcessor | None:
    """Return the processor that a provider has already, however it came there."""
    processors = sdk.processors_of(_innermost(provider))
    return next((each for each in processors if isinstance(each, StallSpanProcessor)), None)


def _earlier(provider: object, config: StallConfig | None) -> StallSpanProcessor | None:
    """Return the processor that was for this provider before, or else the one that found no provider to live on."""
    held, chosen = _attached.get(id(provider), (None, None))
    if held is not None and held() is provider:
        return chosen
    return _unattached.pop() if _unattached and config is None else None


def _added(provider: object, processor: StallSpanProcessor) -> str | None:
    """Add a processor; return what stands in the way, None where nothing did."""
    if not _takes(provider):
        kind = f"{type(provider).__module__}.{type(provider).__qualname__}"
        unset = kind.startswith("opentelemetry.trace.") or hasattr(provider, "provider")
        return _UNSET if unset else f"a tracer provider of type {kind} takes no span processors; nothing is judged"
    add = provider.add_span_processor  # type: ignore[attr-defined] # as `_takes` found
    try:
        # A provider of phoenix takes its exporter away when a processor is added, unless told not to.
        if "replace_default_processor" in inspect.signature(add).parameters:
            add(processor, replace_default_processor=False)
        else:
            add(processor)
    except Exception as error:
        return f"adding the span processor failed with {type(error).__name__}; nothing is judged"
    return None


def _remember(provider: object, processor: StallSpanProcessor) -> None:
    # What takes no weak reference is looked through for its processors at every call, no more.
    with suppress(TypeError):
        _attached[id(provider)] = (weakref.ref(provider, _forget), processor)


def _say(problem: str) -> None:
    if problem not in _said:
        _said.add(problem)
        _LOG.warning("%s", problem)


def _forget(held: weakref.ref[object]) -> None:
    for key in [key for key, (known, _) in list(_attached.items()) if known is held]:
        _attached.pop(key, None)
