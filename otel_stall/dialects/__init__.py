"""How agent hosts and instrumentations write tool calls, model turns and compactions into spans."""

from otel_stall.dialects.doubles import Ancestor, Doubles, carriers, merge
from otel_stall.dialects.readings import TOLD_TWICE, passed_over, read
from otel_stall.dialects.switches import content_switch, conversation_switch

__all__ = [
    "TOLD_TWICE",
    "Ancestor",
    "Doubles",
    "carriers",
    "content_switch",
    "conversation_switch",
    "merge",
    "passed_over",
    "read",
]
