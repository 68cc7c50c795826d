"""Signals by which emitters say that the context was compacted or summarised."""

from __future__ import annotations

from typing import Final

from otel_stall import attributes
from otel_stall.calls import CompactionMark
from otel_stall.dialects.identities import METADATA
from otel_stall.dialects.payloads import parse_json
from otel_stall.dialects.sightings import Sighting, first_value, label, number, truth
from otel_stall.dialects.table import Role

__all__ = ["COMPACTED", "COMPACTION_NAMES", "compaction_of", "host_compaction", "model_sees_compacted"]

COMPACTED: Final = "gen_ai.conversation.compacted"
_COLLAPSED: Final = "pydantic_ai.cache.collapse_reason"
_STRATEGY: Final = "compaction.strategy"
_SOURCES_OF_LANGCHAIN: Final = (
    "traceloop.association.properties.lc_source",
    "langsmith.metadata.lc_source",
)
_SIZES: Final = (
    ("compaction.tokens_before", "compaction.tokens_after"),
    ("compaction.messages_before", "compaction.messages_after"),
)
# What coding agents call the size of the context before and after.
_HOST_SIZES: Final = (
    ("pre_tokens", "post_tokens"),
    ("tokens_before", "tokens_after"),
    ("tokensBefore", "tokensAfter"),
)
_SAYS: Final = (
    (attributes.COMPACTION, "true", "host"),
    ("ag2.usage.kind", "compaction", "ag2"),
    ("haystack.agent.hook.compaction.compacted", "true", "haystack"),
)

COMPACTION_NAMES: Final = frozenset(
    {COMPACTED, _COLLAPSED, _STRATEGY, METADATA, *_SOURCES_OF_LANGCHAIN, *(say[0] for say in _SAYS)}
    | {name for pair in (*_SIZES, *_HOST_SIZES) for name in pair}
)
"""Attributes that this module reads."""


def compaction_of(seen: Sighting, role: Role | None, dialect: str) -> CompactionMark | None:
    """Return the compaction that this span is or reports, None for any other span."""
    for name, word, source in _SAYS:
        value = seen.known.get(name)
        if truth(value) is True if word == "true" else label(value) == word:
            return CompactionMark(source)
    if role is Role.COMPACTION:
        return CompactionMark(dialect)
    if _STRATEGY in seen.known or (role is None and truth(seen.known.get(COMPACTED))):
        return _sized(seen)
    if role is Role.MODEL and _summarises(seen):
        return CompactionMark("langchain")
    return None


def host_compaction(seen: Sighting, source: str) -> CompactionMark:
    """Return the compaction that a host reports with the sizes it gives."""
    for before, after in _HOST_SIZES:
        sizes = number(seen.known.get(before)), number(seen.known.get(after))
        if None not in sizes:
            return CompactionMark(source, *sizes, certain=True)
    return CompactionMark(source, certain=True)


def model_sees_compacted(seen: Sighting) -> bool:
    """Return whether the model turn says that the context it was sent had been compacted."""
    return truth(seen.known.get(COMPACTED)) is True or label(seen.known.get(_COLLAPSED)) == "compacted"


def _sized(seen: Sighting) -> CompactionMark:
    for before, after in _SIZES:
        sizes = number(seen.known.get(before)), number(seen.known.get(after))
        if None not in sizes:
            return CompactionMark("pydantic-ai", *sizes)
    return CompactionMark("pydantic-ai")


def _summarises(seen: Sighting) -> bool:
    if label(first_value(seen, _SOURCES_OF_LANGCHAIN)) == "summarization":
        return True
    text = seen.known.get(METADATA)
    if not isinstance(text, str) or '"lc_source"' not in text:
        return False
    metadata = parse_json(text)
    return isinstance(metadata, dict) and metadata.get("lc_source") == "summarization"
