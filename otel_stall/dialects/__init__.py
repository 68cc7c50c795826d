"""How agent hosts and instrumentations write tool calls, model turns and compactions into spans."""

from otel_stall.dialects.readings import read

__all__ = ["read"]
