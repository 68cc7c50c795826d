"""How agent hosts and instrumentations write tool calls, model turns and compactions into spans."""

from otel_stall.dialects.doubles import Ancestor, Doubles, carriers, merge
from otel_stall.dialects.readings import passed_over, read
from otel_stall.dialects.switches import content_switch, conversation_switch

__all__ = ["Ancestor", "Doubles", "carriers", "content_switch", "conversation_switch", "merge", "passed_over", "read"]
