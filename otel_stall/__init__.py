"""otel-stall: finds stalled LLM agents by what their tool calls gained, in the trace pipeline."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from otel_stall.attachment import attach
    from otel_stall.config import StallConfig
    from otel_stall.errors import ConfigError, DecodeError, SnapshotError, StallError
    from otel_stall.marking import milestone
    from otel_stall.monitor import Monitor
    from otel_stall.processor import StallSpanProcessor
    from otel_stall.verdicts import Gain, Judged, Kind, Level, Stall, Verdict

__all__ = [
    "ConfigError",
    "DecodeError",
    "Gain",
    "Judged",
    "Kind",
    "Level",
    "Monitor",
    "SnapshotError",
    "Stall",
    "StallConfig",
    "StallError",
    "StallSpanProcessor",
    "Verdict",
    "__version__",
    "attach",
    "milestone",
]

__version__ = "0.1.0"

_HOMES: Final = {
    "attachment": ("attach",),
    "config": ("StallConfig",),
    "errors": ("ConfigError", "DecodeError", "SnapshotError", "StallError"),
    "marking": ("milestone",),
    "monitor": ("Monitor",),
    "processor": ("StallSpanProcessor",),
    "verdicts": ("Gain", "Judged", "Kind", "Level", "Stall", "Verdict"),
}
_HOME: Final = {name: home for home, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # a checker that saw it would take every name for one of ours

    def __getattr__(name: str) -> object:
        """Return a public name from its module, loaded when first asked for: a command hook cannot wait for the SDK."""
        home = _HOME.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
