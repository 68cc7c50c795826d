"""otel-stall: finds stalled LLM agents by what their tool calls gained, in the trace pipeline."""

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
