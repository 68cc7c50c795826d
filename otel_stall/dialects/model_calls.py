"""From a model span to `ModelCall`: what the assistant said, who spoke to it, and how much it read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from otel_stall.calls import ModelCall
from otel_stall.dialects.compactions import model_sees_compacted
from otel_stall.dialects.messages import Said, people_speaking, said
from otel_stall.dialects.payloads import parse_json
from otel_stall.dialects.shapes import ModelPlan
from otel_stall.dialects.sightings import Sighting, Source, first_value, label, number

__all__ = ["model_call"]

_TOOLS: Final = frozenset({"tool_use", "tool_calls", "tool-calls", "tool_call"})


def model_call(seen: Sighting, plan: ModelPlan) -> ModelCall:
    """Return the model turn, read where the plan says."""
    output = first_value(seen, plan.output)
    spoken = Said() if output is None else said(output)
    return ModelCall(
        text=spoken.text,
        calls_tools=spoken.calls_tools or _stopped_for_tools(first_value(seen, plan.finish)),
        user_messages=people_speaking(first_value(seen, plan.input)),
        input_tokens=_tokens(seen, plan.input_tokens, plan.uncounted),
        output_tokens=_tokens(seen, plan.output_tokens),
        compacted=spoken.compacted or model_sees_compacted(seen),
        traced=plan.traced,
    )


def _stopped_for_tools(value: object) -> bool:
    reasons = value if isinstance(value, (list, tuple)) else parse_json(value)
    listed = reasons if isinstance(reasons, (list, tuple)) else (value,)
    return any(label(reason) in _TOOLS for reason in listed)


def _tokens(seen: Sighting, sources: Sequence[Source], uncounted: Sequence[str] = ()) -> int | None:
    count = number(first_value(seen, sources))
    if count is None:
        return None
    return count + sum(more for name in uncounted if (more := number(seen.known.get(name))) is not None)
