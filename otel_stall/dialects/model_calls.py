"""From a model span to `ModelCall`: what the assistant said, who spoke to it, and how much it read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from otel_stall.calls import ModelCall
from otel_stall.dialects.compactions import model_sees_compacted
from otel_stall.dialects.messages import Said, people_speaking, said
from otel_stall.dialects.payloads import parse_json
from otel_stall.dialects.sightings import Sighting, Source, first_value, label, number
from otel_stall.dialects.table import Dialect, Model

__all__ = ["model_call"]

_TOOLS: Final = frozenset({"tool_use", "tool_calls", "tool-calls", "tool_call"})


def model_call(seen: Sighting, rows: Sequence[Dialect]) -> ModelCall:
    """Return the model turn; `rows` are all dialects that see one here."""
    models = [row.model for row in rows]
    output = first_value(seen, [source for model in models for source in model.output])
    spoken = Said() if output is None else said(output)
    uncounted = [name for model in models for name in model.uncounted]
    return ModelCall(
        text=spoken.text,
        calls_tools=spoken.calls_tools or _stopped_for_tools(seen, models),
        user_messages=people_speaking(first_value(seen, [source for model in models for source in model.input])),
        input_tokens=_tokens(seen, [source for model in models for source in model.input_tokens], uncounted),
        output_tokens=_tokens(seen, [source for model in models for source in model.output_tokens]),
        compacted=spoken.compacted or model_sees_compacted(seen),
        traced=any(model.traced for model in models),
    )


def _stopped_for_tools(seen: Sighting, models: Sequence[Model]) -> bool:
    value = first_value(seen, [source for model in models for source in model.finish])
    reasons = value if isinstance(value, (list, tuple)) else parse_json(value)
    listed = reasons if isinstance(reasons, (list, tuple)) else (value,)
    return any(label(reason) in _TOOLS for reason in listed)


def _tokens(seen: Sighting, sources: Sequence[Source], uncounted: Sequence[str] = ()) -> int | None:
    count = number(first_value(seen, sources))
    if count is None:
        return None
    return count + sum(more for name in uncounted if (more := number(seen.known.get(name))) is not None)
