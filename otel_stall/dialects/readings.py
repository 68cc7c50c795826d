"""`read`: what the dialects make of one span."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from otel_stall import attributes
from otel_stall.calls import CompactionMark, HostHint, Reading, Record, UserMark
from otel_stall.dialects.compactions import COMPACTION_NAMES, compaction_of, host_compaction
from otel_stall.dialects.frameworks import worktree
from otel_stall.dialects.hosts import HINT_NAMES, RUN_NAMES, marks_of, said_by_host
from otel_stall.dialects.identities import (
    AGENT_ID,
    AGENT_NAMES,
    CONVERSATIONS,
    agent_id_of,
    agent_of,
    conversation_of,
    invoked_agent,
    resource_conversation,
    turn_of,
)
from otel_stall.dialects.model_calls import model_call
from otel_stall.dialects.rules import DIALECTS
from otel_stall.dialects.sightings import Sighting, label, names_of, number
from otel_stall.dialects.table import Dialect, Role, names_read
from otel_stall.dialects.tool_calls import TOOL_NAMES, tool_call
from otel_stall.spans import EMPTY, SpanView

__all__ = ["KNOWN", "TOLD_TWICE", "passed_over", "read"]

KNOWN: Final = frozenset(
    {*CONVERSATIONS, AGENT_ID, *names_of(AGENT_NAMES), *RUN_NAMES, attributes.STEP}
    | HINT_NAMES
    | COMPACTION_NAMES
    | TOOL_NAMES
).union(*map(names_read, DIALECTS))
"""Every attribute name that is read by itself; a span without any of them is nobody's."""

TOLD_TWICE: Final = frozenset(row.name for row in DIALECTS if row.told_twice)
"""Dialects of the hosts that tell of each call in a span and in a log record."""

_SERVICE: Final = "service.name"
_DURATION: Final = "duration_ms"
_LONGEST_MS: Final = 86_400_000
_Asked = tuple[bool, tuple[tuple[Dialect, frozenset[str] | None], ...]]
_ASKED: dict[str, _Asked] = {}
_SCOPES: Final = 1_024
_ON_RESOURCE: Final = frozenset({_SERVICE, *CONVERSATIONS, *RUN_NAMES}) | HINT_NAMES


def read(view: SpanView) -> Reading:
    """Return what the span says: a tool call, a model turn, a compaction, an agent, or only whose it is.

    Pure, linear in the size of the span, and never raises, whatever the attributes hold. The result
    refers to the host's contents and must not outlive the hook that reads the span.
    """
    # One pass over the span's names instead of a look-up for each name that any dialect knows.
    seen = Sighting(view, _among(KNOWN, view.attributes), _among(_ON_RESOURCE, view.resource))
    role, rows = _recognise(seen)
    dialect = rows[0] if rows else None
    known = dialect if role is not Role.OTHER else None
    record = _record(seen, role, rows)
    invokes = role in (Role.AGENT, Role.WORKFLOW)
    run_id, outcome, task_id, task_class = (said_by_host(name, seen) for name in RUN_NAMES)
    return Reading(
        trace_id=view.trace_id,
        span_id=view.span_id,
        parent_id=view.parent_id,
        name=view.name,
        start_ns=_start_of(seen) if view.log else view.start_ns,
        end_ns=view.end_ns,
        scope=view.scope,
        dialect=known.name if known else record.source if isinstance(record, CompactionMark) else "",
        record=record,
        conversation=conversation_of(seen, dialect) if seen.known else "",
        agent=invoked_agent(seen, dialect) if dialect and invokes else agent_of(seen, dialect) if seen.known else "",
        agent_id=agent_id_of(seen, dialect) if seen.known else "",
        is_agent=invokes,
        is_workflow=role is Role.WORKFLOW,
        run_id=run_id,
        run_outcome=outcome,
        task_id=task_id,
        task_class=task_class,
        service=label(seen.resource.get(_SERVICE)),
        resource_conversation=resource_conversation(seen.resource),
        judged=attributes.STEP in seen.known,
        sampled=view.sampled,
        marks=marks_of(seen) if view.events else (),
        log=view.log,
        turn=turn_of(seen, known) if record is not None else "",
    )


def passed_over(view: SpanView) -> str:
    """Return the dialect that knows the span and counts it for nothing, "" for any other span.

    Such a span says again what another says, or is work of a kind that is neither a call nor a turn.
    """
    seen = Sighting(view, _among(KNOWN, view.attributes), EMPTY)
    for row, marks in _asked(view.scope)[1]:
        if (marks is None or not marks.isdisjoint(seen.known)) and row.role(seen) is Role.OTHER:
            return row.name
    return ""


def _among(names: frozenset[str], attributes: Mapping[str, object]) -> Mapping[str, object]:
    present = names.intersection(attributes)
    return {name: attributes[name] for name in present} if present else EMPTY


def _start_of(seen: Sighting) -> int:
    """Return when a record's work began: hosts tell how long it took at its end."""
    took = number(seen.view.attributes.get(_DURATION))
    return seen.view.start_ns - took * 1_000_000 if took and 0 < took < _LONGEST_MS else seen.view.start_ns


def _asked(scope: str) -> _Asked:
    """Return the rows that may be asked for a scope, each with the attributes one of which it needs, None for none."""
    asked = _ASKED.get(scope)
    if asked is None:
        own = [bool(row.scopes) and scope.startswith(row.scopes) for row in DIALECTS]
        rows = [(row, None if mine else frozenset(row.marks)) for row, mine in zip(DIALECTS, own, strict=True)]
        asked = any(own), tuple((row, marks) for row, marks in rows if marks is None or marks)
        if len(_ASKED) < _SCOPES:
            _ASKED[scope] = asked
    return asked


def _recognise(seen: Sighting) -> tuple[Role | None, tuple[Dialect, ...]]:
    """Return what the span is and every row that sees the same; the first row to know decides."""
    is_host, asked = _asked(seen.view.scope)
    if not seen.known and not is_host:
        return None, ()
    decided: Role | None = None
    rows: list[Dialect] = []
    for row, marks in asked:
        if (marks is None or not marks.isdisjoint(seen.known)) and (role := row.role(seen)) is not None:
            decided = decided or role
            if decided is Role.OTHER:
                return Role.OTHER, (row,)
            if role is decided:
                rows.append(row)
    return decided, tuple(rows)


def _record(seen: Sighting, role: Role | None, rows: tuple[Dialect, ...]) -> Record | None:
    if role is Role.TOOL or role is Role.PART:
        return tool_call(seen, rows, part=role is Role.PART)
    if role is Role.USER:
        return UserMark()
    if role is Role.HINT:
        return _hint(seen)
    if role is Role.COMPACTION and rows[0].scopes:
        return host_compaction(seen, f"{rows[0].name}:{seen.view.name}")
    if seen.known and (mark := compaction_of(seen, role, rows[0].name if rows else "")):
        return mark
    return model_call(seen, rows) if role is Role.MODEL else None


def _hint(seen: Sighting) -> HostHint:
    digest = worktree(seen)
    return HostHint(digest=digest) if digest else HostHint(sign=label(seen.view.name))
