"""How agent hosts and instrumentations write tool calls, model turns and compactions into spans."""

from otel_stall.dialects.doubles import Ancestor, Doubles, merge
from otel_stall.dialects.readings import read
from otel_stall.dialects.switches import content_switch

__all__ = ["Ancestor", "Doubles", "content_switch", "merge", "read"]
