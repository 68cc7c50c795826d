"""Spans that look like an agent's work and are counted for nothing: of which sort they are, and why."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple

from otel_stall.dialects import passed_over
from otel_stall.spans import SpanView

__all__ = ["Kind", "Sort", "sort_of"]

_NAMES: Final = 4
_CHARS: Final = 80
_LOOKS: Final = re.compile(r"\b(?:tool|tools|llm|agent|function[ _]call|completion|chat)\b|_tool|tool_", re.IGNORECASE)
# Prefixes under which the instrumentations of models and agents write their attributes.
_FAMILIES: Final = (
    "gen_ai.",
    "llm.",
    "ai.",
    "openinference.",
    "traceloop.",
    "langfuse.",
    "langsmith.",
    "mlflow.",
    "lmnr.",
    "haystack.",
    "crewai.",
    "mcp.",
    "tool.",
    "tool_",
    "agent.",
)
# Attributes by which emitters tell what a span is; the first that is there.
_TELLING: Final = (
    "gen_ai.operation.name",
    "openinference.span.kind",
    "traceloop.span.kind",
    "langfuse.observation.type",
    "langsmith.span.kind",
    "mlflow.spanType",
    "lmnr.span.type",
    "mcp.method.name",
)
_AGAIN: Final = {
    "logfire-pending": "a copy of a span that is still open",
    "crewai-echo": "says again that a call failed",
    "mcp": "the other side of a call, or no call of a tool",
    "lmnr": "the inner half of a call",
    "openinference": "the making of a request, no model turn",
}
_BESIDE: Final = "what the host writes beside its calls and turns"
_MERGED: Final = "several calls in one span; each has one of its own"


class Kind(StrEnum):
    """`again`: another span says it; `other_work`: neither call nor turn; `unknown`: no dialect knows it."""

    AGAIN = "again"
    OTHER_WORK = "other_work"
    UNKNOWN = "unknown"


class Sort(NamedTuple):
    """Why spans were passed over, for a person, and the dialect that knows them, "" for none."""

    kind: Kind
    reason: str
    dialect: str = ""


def sort_of(view: SpanView) -> Sort | None:
    """Return the sort of a span without a record; None for one that has nothing of an agent's work."""
    dialect = passed_over(view)
    if view.attributes.get("gen_ai.tool.name") == "(merged tools)":
        return Sort(Kind.AGAIN, _MERGED, dialect)
    if dialect in _AGAIN:
        return Sort(Kind.AGAIN, _AGAIN[dialect], dialect)
    if told := _told(view):
        return Sort(Kind.OTHER_WORK, told, dialect)
    if dialect:
        return Sort(Kind.OTHER_WORK, _BESIDE, dialect)
    if view.log:
        return None
    known = sorted(name for name in map(str, view.attributes) if name.startswith(_FAMILIES))
    if not known:
        looks = not any(map(_is_transport, view.attributes)) and _LOOKS.search(view.name[:_CHARS])
        return Sort(Kind.UNKNOWN, "its name alone looks like it") if looks else None
    more = f" and {len(known) - _NAMES} more" if len(known) > _NAMES else ""
    return Sort(Kind.UNKNOWN, f"says of itself only {', '.join(name[:_CHARS] for name in known[:_NAMES])}{more}")


def _is_transport(name: str) -> bool:
    return name.startswith(("http.", "url.", "db.", "rpc.", "messaging."))


def _told(view: SpanView) -> str:
    for name in _TELLING:
        value = view.attributes.get(name)
        if isinstance(value, str) and value:
            return f"{name} is {value[:_CHARS]}"
    return ""
