"""otel-stall: finds stalled LLM agents by what their tool calls gained, in the trace pipeline."""

from otel_stall.config import StallConfig
from otel_stall.errors import ConfigError, DecodeError, SnapshotError, StallError

__all__ = [
    "ConfigError",
    "DecodeError",
    "SnapshotError",
    "StallConfig",
    "StallError",
    "__version__",
]

__version__ = "0.1.0"
