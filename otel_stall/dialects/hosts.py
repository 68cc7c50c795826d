"""What the host says by `stall.*`: hints on tool spans, marks in span events, and the run it belongs to."""

from __future__ import annotations

from typing import Final

from otel_stall import attributes as names
from otel_stall.calls import NO_HINTS, Hints, HostMark
from otel_stall.dialects.sightings import Sighting, label, truth
from otel_stall.spans import EventView

__all__ = ["HINT_NAMES", "MARK", "RUN_NAMES", "hints_of", "mark_of", "marks_of", "said_by_host"]

_TEXTS: Final = {
    "milestone": names.MILESTONE_NAME,
    "evidence": names.MILESTONE_EVIDENCE,
    "state_before": names.STATE_BEFORE,
    "state_after": names.STATE_AFTER,
    "content_digest": names.CONTENT_DIGEST,
    "resource": names.RESOURCE,
    "effect": names.EFFECT,
    "wait_on": names.WAIT_ON,
}
HINT_NAMES: Final = frozenset({*_TEXTS.values(), names.INFRA, names.COMPACTION})
"""Attributes that hint at one call."""
RUN_NAMES: Final = (names.RUN_ID, names.RUN_OUTCOME, names.TASK_ID, names.TASK_CLASS)
"""Attributes that tell of the run and its task, in the order of `Reading`'s fields."""

MARK: Final = "stall.milestone"
"""Name of the span event by which a host marks a milestone."""

_CONVERSATION: Final = "gen_ai.conversation.id"
# What otel-stall itself wrote on a span is no word of the host's.
_OWN_EVENTS: Final = frozenset(name.key for name in names.names("event"))
_MARKS: Final = 128


def hints_of(seen: Sighting) -> Hints:
    """Return the hints on the span, completed from the resource."""
    if HINT_NAMES.isdisjoint(seen.known) and HINT_NAMES.isdisjoint(seen.resource):
        return NO_HINTS
    texts = {field: said_by_host(name, seen) for field, name in _TEXTS.items()}
    infra = seen.known.get(names.INFRA, seen.resource.get(names.INFRA))
    compaction = seen.known.get(names.COMPACTION)
    texts["evidence"] = _evidence(texts["evidence"])
    return Hints(**texts, infra=truth(infra) is True, compaction=truth(compaction) is True)


def said_by_host(name: str, seen: Sighting) -> str:
    """Return what span or else resource say under that name; "" where neither does."""
    return label(seen.known.get(name)) or label(seen.resource.get(name))


def marks_of(seen: Sighting) -> tuple[HostMark, ...]:
    """Return the milestones that the host marked by span events, at most 128, in their order."""
    found: list[HostMark] = []
    for event in seen.view.events:
        if event.name in _OWN_EVENTS:
            continue
        if (mark := mark_of(event)) is not None:
            found.append(mark)
    return tuple(found[:_MARKS])


def mark_of(event: EventView) -> HostMark | None:
    """Return the milestone that an event marks, None where it marks none; another conversation's where it says so."""
    milestone = label(event.attributes.get(names.MILESTONE_NAME))
    if not milestone and event.name != MARK:
        return None
    evidence = _evidence(label(event.attributes.get(names.MILESTONE_EVIDENCE)))
    return HostMark(milestone or MARK, evidence, event.time_ns, label(event.attributes.get(_CONVERSATION)))


def _evidence(said: str) -> str:
    """Return the word for how a milestone is known; any word that is none of these verifies nothing."""
    return said if said in ("", "observed", "irreversible") else "declared"
