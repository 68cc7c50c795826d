"""What an MCP server says of a tool (`readOnlyHint`, …), where an emitter carries it on the span of the call.

No convention has attributes for it. LangChain does carry it: its MCP adapter puts the annotations into the
tool's metadata, and both instrumentations of LangChain write the metadata of the call on its span.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from otel_stall.calls import NO_ANNOTATIONS, ToolAnnotations
from otel_stall.dialects.identities import METADATA
from otel_stall.dialects.payloads import PARSE_LIMIT, parse_json
from otel_stall.dialects.sightings import Sighting, truth

__all__ = ["ANNOTATION_NAMES", "annotations_of"]

_ENVELOPES: Final = ("gen_ai.tool.call.arguments", "traceloop.entity.input")
ANNOTATION_NAMES: Final = frozenset({METADATA, *_ENVELOPES})
"""Attributes that may hold a tool's annotations."""

_HINTS: Final = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}

_ANY_HINT: Final = 'Hint"'


def annotations_of(seen: Sighting) -> ToolAnnotations:
    """Return what is said of the called tool: by OpenInference in `metadata`, by OpenLLMetry beside the arguments."""
    found = _mapping(seen.known.get(METADATA))
    for name in _ENVELOPES if found is None else ():
        envelope = _mapping(seen.known.get(name))
        # Of a tool's own arguments nothing is believed: the callback's envelope has the call's inputs beside.
        if envelope is not None and "inputs" in envelope and "input_str" in envelope:
            found = _among(envelope.get("metadata"))
            break
    if found is None:
        return NO_ANNOTATIONS
    return ToolAnnotations(**{field: truth(found.get(hint)) for field, hint in _HINTS.items()})


def _mapping(text: object) -> Mapping[str, object] | None:
    """Return the mapping of a JSON text in which some hint is named, None for any other."""
    if not isinstance(text, str) or len(text) > PARSE_LIMIT or _ANY_HINT not in text:
        return None
    if not any(f'"{hint}"' in text for hint in _HINTS.values()):
        return None
    return _among(parse_json(text))


def _among(value: object) -> Mapping[str, object] | None:
    return value if isinstance(value, dict) else None
