"""`Shape`: what spans of one scope with the same attributes have in common, found once for all of them.

An instrumentation writes the same few sets of attributes again and again. Which rows of the table may know such a
span, and which of their sources can give a value there, follows from the names alone. A source is left out only
where it can give nothing: an attribute that is not there, an event of a span without events.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from otel_stall.dialects.envelopes import Unwrap
from otel_stall.dialects.identities import agent_id_sources, agent_sources, conversation_sources, invoked_sources
from otel_stall.dialects.sightings import Source, is_of_events
from otel_stall.dialects.table import Dialect, Says, Tells

__all__ = ["ModelPlan", "Plan", "Shape", "ToolPlan"]

_PLANS: Final = 64


@dataclass(frozen=True, slots=True)
class ToolPlan:
    """Where the fields of a tool call stand in spans of one shape, over all rows that see a call there."""

    name: tuple[Source, ...]
    arguments: tuple[Source, ...]
    result: tuple[Source, ...]
    call_id: tuple[Source, ...]
    exit_code: tuple[Source, ...]
    message: tuple[Source, ...]
    denied: tuple[Source, ...]
    failed: tuple[tuple[Source, ...], ...]
    says: tuple[tuple[Says, ...], ...]
    cut: tuple[str, ...]
    unwrap: tuple[Unwrap, ...]
    waits: tuple[str, ...]
    pauses: bool
    settled: bool
    tells_exit: bool
    exit_tells: bool


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """Where the fields of a model turn stand in spans of one shape, over all rows that see a turn there."""

    input: tuple[Source, ...]
    output: tuple[Source, ...]
    input_tokens: tuple[Source, ...]
    output_tokens: tuple[Source, ...]
    uncounted: tuple[str, ...]
    finish: tuple[Source, ...]
    traced: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked of spans of one shape that the same rows know; the first of them is the dialect."""

    conversation: tuple[Source, ...]
    agent: tuple[Source, ...]
    invoked: tuple[Source, ...]
    agent_id: tuple[Source, ...]
    turn: tuple[Source, ...]
    tool: ToolPlan
    model: ModelPlan


class Shape:
    """A set of attribute names in one scope: the rows to be asked, and the plan for those that know the span."""

    def __init__(
        self, scope: str, names: frozenset[str], rows: Iterable[tuple[Dialect, frozenset[str] | None]], *, events: bool
    ) -> None:
        self.rows = tuple(row for row, marks in rows if marks is None or not marks.isdisjoint(names))
        self._scope = scope
        self._names = names
        self._events = events
        self._plans: dict[tuple[str, ...], Plan] = {}

    def plan(self, rows: tuple[Dialect, ...]) -> Plan:
        """Return what is asked of a span that these rows know."""
        key = tuple([row.name for row in rows])
        plan = self._plans.get(key)
        if plan is None:
            plan = self._planned(rows)
            if len(self._plans) < _PLANS:
                self._plans[key] = plan
        return plan

    def _planned(self, rows: tuple[Dialect, ...]) -> Plan:
        dialect = rows[0] if rows else None
        return Plan(
            conversation=self.telling(conversation_sources(dialect)),
            agent=self.telling(agent_sources(dialect)),
            invoked=self.telling(invoked_sources(dialect)),
            agent_id=self.telling(agent_id_sources(dialect)),
            turn=self.telling(dialect.turn if dialect else ()),
            tool=self._tool(rows),
            model=self._model(rows),
        )

    def _tool(self, rows: tuple[Dialect, ...]) -> ToolPlan:
        tools = [row.tool for row in rows]
        says = [tuple(one for one in tool.says if one.attribute in self._names) for tool in tools]
        failed = [self.telling(tool.failed) for tool in tools]
        return ToolPlan(
            name=self.telling(source for tool in tools for source in tool.name),
            arguments=self.telling(source for tool in tools for source in tool.arguments),
            result=self.telling(source for tool in tools for source in tool.result),
            call_id=self.telling(source for tool in tools for source in tool.call_id),
            exit_code=self.telling(source for tool in tools for source in tool.exit_code),
            message=self.telling(source for tool in tools for source in tool.message),
            denied=self.telling(source for tool in tools for source in tool.denied),
            failed=tuple(sources for sources in failed if sources),
            says=tuple(listed for listed in says if listed),
            cut=tuple(name for tool in tools for name in tool.cut if name in self._names),
            unwrap=tuple(rule for tool in tools for rule in tool.unwrap),
            waits=tuple(text for tool in tools for text in tool.waits),
            pauses=any(tool.pausing and tool.pausing in self._scope for tool in tools),
            settled=any(tool.tells is Tells.HOST for tool in tools),
            tells_exit=any(tool.exit_code for tool in tools),
            exit_tells=all(tool.tells is not Tells.TEXT for tool in tools),
        )

    def _model(self, rows: tuple[Dialect, ...]) -> ModelPlan:
        models = [row.model for row in rows]
        return ModelPlan(
            input=self.telling(source for model in models for source in model.input),
            output=self.telling(source for model in models for source in model.output),
            input_tokens=self.telling(source for model in models for source in model.input_tokens),
            output_tokens=self.telling(source for model in models for source in model.output_tokens),
            uncounted=tuple(name for model in models for name in model.uncounted if name in self._names),
            finish=self.telling(source for model in models for source in model.finish),
            traced=any(model.traced for model in models),
        )

    def telling(self, sources: Iterable[Source]) -> tuple[Source, ...]:
        """Return the sources that can give a value in a span of this shape, in their order."""
        return tuple(
            source
            for source in sources
            if (source in self._names if isinstance(source, str) else self._events or not is_of_events(source))
        )
