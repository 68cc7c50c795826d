"""`read`: what the dialects make of one span."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    agent_id_in,
    agent_in,
    invoked_agent,
    resource_conversation,
)
from otel_stall.dialects.model_calls import model_call
from otel_stall.dialects.rules import DIALECTS
from otel_stall.dialects.shapes import Plan, Shape
from otel_stall.dialects.sightings import Sighting, first_label, label, names_of, number
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
_Asked = tuple[tuple[Dialect, frozenset[str] | None], ...]
_ASKED: dict[str, _Asked] = {}
_SCOPES: Final = 1_024
_SHAPES: dict[tuple[str, frozenset[str], bool], Shape] = {}
_MOST_SHAPES: Final = 1_024
_RUNS: Final = frozenset(RUN_NAMES)
_NO_RUN: Final = ("",) * len(RUN_NAMES)
_ON_RESOURCE: Final = frozenset({_SERVICE, *CONVERSATIONS, *RUN_NAMES}) | HINT_NAMES


def read(view: SpanView) -> Reading:
    """Return what the span says: a tool call, a model turn, a compaction, an agent, or only whose it is.

    Pure, linear in the size of the span, and never raises, whatever the attributes hold. The result
    refers to the host's contents and must not outlive the hook that reads the span.
    """
    # One pass over the span's names instead of a look-up for each name that any dialect knows.
    names = KNOWN.intersection(view.attributes)
    shape = _shape(view.scope, names, bool(view.events))
    seen = Sighting(view, _among(names, view.attributes), _among(_ON_RESOURCE, view.resource))
    role, rows = _recognise(seen, shape)
    plan = shape.plan(rows)
    known = rows[0] if rows and role is not Role.OTHER else None
    record = _record(seen, role, rows, plan)
    invokes = role is Role.AGENT or role is Role.WORKFLOW
    run_id, outcome, task_id, task_class = _run(seen)
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
        conversation=first_label(seen, plan.conversation) if names else "",
        agent=invoked_agent(seen, plan.invoked) if rows and invokes else agent_in(seen, plan.agent) if names else "",
        agent_id=agent_id_in(seen, plan.agent_id) if names else "",
        is_agent=invokes,
        is_workflow=role is Role.WORKFLOW,
        run_id=run_id,
        run_outcome=outcome,
        task_id=task_id,
        task_class=task_class,
        service=label(seen.resource.get(_SERVICE)),
        resource_conversation=resource_conversation(seen.resource),
        judged=attributes.STEP in names,
        sampled=view.sampled,
        marks=marks_of(seen) if view.events else (),
        log=view.log,
        turn=first_label(seen, plan.turn) if known is not None and record is not None else "",
    )


def passed_over(view: SpanView) -> str:
    """Return the dialect that knows the span and counts it for nothing, "" for any other span.

    Such a span says again what another says, or is work of a kind that is neither a call nor a turn.
    """
    seen = Sighting(view, _among(KNOWN, view.attributes), EMPTY)
    for row in _shape(view.scope, frozenset(seen.known), bool(view.events)).rows:
        if row.role(seen) is Role.OTHER:
            return row.name
    return ""


def _among(names: frozenset[str], attributes: Mapping[str, object]) -> Mapping[str, object]:
    present = names.intersection(attributes)
    return {name: attributes[name] for name in present} if present else EMPTY


def _run(seen: Sighting) -> tuple[str, ...]:
    """Return what span and resource say of run and task, in the order of `RUN_NAMES`."""
    if _RUNS.isdisjoint(seen.known) and _RUNS.isdisjoint(seen.resource):
        return _NO_RUN
    return tuple([said_by_host(name, seen) for name in RUN_NAMES])


def _start_of(seen: Sighting) -> int:
    """Return when a record's work began: hosts tell how long it took at its end."""
    took = number(seen.view.attributes.get(_DURATION))
    return seen.view.start_ns - took * 1_000_000 if took and 0 < took < _LONGEST_MS else seen.view.start_ns


def _asked(scope: str) -> _Asked:
    """Return the rows that may be asked for a scope, each with the attributes one of which it needs, None for none."""
    asked = _ASKED.get(scope)
    if asked is None:
        asked = tuple(_wanted(scope))
        if len(_ASKED) < _SCOPES:
            _ASKED[scope] = asked
    return asked


def _wanted(scope: str) -> Iterator[tuple[Dialect, frozenset[str] | None]]:
    for row in DIALECTS:
        if row.scopes and scope.startswith(row.scopes):
            yield row, None
        elif row.marks and (not row.within or scope.startswith(row.within)):
            yield row, frozenset(row.marks)


def _shape(scope: str, names: frozenset[str], events: bool) -> Shape:
    """Return what all spans with these attributes have in common."""
    key = (scope, names, events)
    shape = _SHAPES.get(key)
    if shape is None:
        shape = Shape(scope, names, _asked(scope), events=events)
        if len(_SHAPES) >= _MOST_SHAPES:
            _SHAPES.clear()
        _SHAPES[key] = shape
    return shape


def _recognise(seen: Sighting, shape: Shape) -> tuple[Role | None, tuple[Dialect, ...]]:
    """Return what the span is and every row that sees the same; the first row to know decides."""
    decided: Role | None = None
    rows: list[Dialect] = []
    for row in shape.rows:
        if (role := row.role(seen)) is not None:
            decided = decided or role
            if decided is Role.OTHER:
                return Role.OTHER, (row,)
            if role is decided:
                rows.append(row)
    return decided, tuple(rows)


def _record(seen: Sighting, role: Role | None, rows: tuple[Dialect, ...], plan: Plan) -> Record | None:
    if role is Role.TOOL or role is Role.PART:
        return tool_call(seen, plan.tool, part=role is Role.PART)
    if role is Role.USER:
        return UserMark()
    if role is Role.HINT:
        return _hint(seen)
    if role is Role.COMPACTION and rows[0].scopes:
        return host_compaction(seen, f"{rows[0].name}:{seen.view.name}")
    if seen.known and (mark := compaction_of(seen, role, rows[0].name if rows else "")):
        return mark
    return model_call(seen, plan.model) if role is Role.MODEL else None


def _hint(seen: Sighting) -> HostHint:
    digest = worktree(seen)
    return HostHint(digest=digest) if digest else HostHint(sign=label(seen.view.name))
