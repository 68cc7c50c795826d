"""What a dialect is: a row that says how one emitter writes "tool call", "model turn", "compaction" and "agent"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final

from otel_stall.dialects.envelopes import Unwrap
from otel_stall.dialects.sightings import Sighting, Source, first_label, label, names_of, reads

__all__ = ["Dialect", "Model", "Role", "Says", "Tells", "Tool", "by_name", "by_value", "names_read", "refused"]


class Role(Enum):
    """What a span is to a dialect.

    `WORKFLOW` is what runs agents, and names one where nothing below it does; `OTHER` is a span that the
    dialect knows and that counts for nothing. A `PART` completes the call of the span around it and is no
    call itself; at a `USER` span a person spoke; a `HINT` is a host's own sign of a stall, or its digest of
    the work.
    """

    TOOL = "tool"
    MODEL = "model"
    COMPACTION = "compaction"
    AGENT = "agent"
    WORKFLOW = "workflow"
    PART = "part"
    USER = "user"
    HINT = "hint"
    OTHER = "other"


class Tells(StrEnum):
    """What tells whether a call failed, beside status, error type and the emitter's own attributes.

    `ALL`: an exit code, and words of failure in the result. `TEXT`: words alone, as the emitter's tools are
    functions whose results mean what they like. `HOST`: nothing, the emitter's word is complete.
    """

    ALL = "all"
    TEXT = "text"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class Says:
    """An attribute by which an emitter says outright how a call ended."""

    attribute: str
    failed: object
    succeeded: object = None


@dataclass(frozen=True, slots=True)
class Tool:
    """Where a tool call's fields stand.

    `pausing` scopes leave the result out of calls that await approval; `waits` are results that say so.
    `failed` and `denied` are asked whether the call failed, and whether a person or a policy refused it; the
    first that gives a truth value decides. `message` is what is said of a failure where no result is.
    """

    name: tuple[Source, ...] = ()
    arguments: tuple[Source, ...] = ()
    result: tuple[Source, ...] = ()
    call_id: tuple[Source, ...] = ()
    says: tuple[Says, ...] = ()
    cut: tuple[str, ...] = ()
    unwrap: tuple[Unwrap, ...] = ()
    pausing: str = ""
    waits: tuple[str, ...] = ()
    exit_code: tuple[Source, ...] = ()
    failed: tuple[Source, ...] = ()
    denied: tuple[Source, ...] = ()
    message: tuple[Source, ...] = ()
    tells: Tells = Tells.ALL


@dataclass(frozen=True, slots=True)
class Model:
    """Where a model turn's fields stand; `uncounted` are tokens that the input count leaves out.

    `finish` gives the reason why the model stopped. `traced`: each call that a turn asks for shows as a span
    or record of its own, so that one without any asked for what the host refused to run.
    """

    input: tuple[Source, ...] = ()
    output: tuple[Source, ...] = ()
    input_tokens: tuple[Source, ...] = ()
    output_tokens: tuple[Source, ...] = ()
    uncounted: tuple[str, ...] = ()
    finish: tuple[Source, ...] = ()
    traced: bool = False


@dataclass(frozen=True, slots=True)
class Dialect:
    """One row: its name, the attributes one of which it needs to be asked, and what it knows.

    A row with `scopes` is asked for every span and log record of the scopes that begin so, whatever their
    attributes; one `within` scopes is asked in those that begin so and nowhere else. `turn` gives the id of the
    user turn that a call or model turn belongs to. `names` are the spans and events that the row knows by their
    name. `told_twice`: the host tells of each call in a span and in a log record, which each hold a part of it and
    arrive apart.
    """

    name: str
    marks: tuple[str, ...]
    role: Callable[[Sighting], Role | None]
    tool: Tool = Tool()
    model: Model = Model()
    agent: tuple[Source, ...] = ()
    conversation: tuple[Source, ...] = ()
    scopes: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    agent_id: tuple[Source, ...] = ()
    turn: tuple[Source, ...] = ()
    names: Mapping[str, Role] = field(default_factory=dict)
    told_twice: bool = False


def names_read(dialect: Dialect) -> frozenset[str]:
    """Return every attribute name that a row reads."""
    tool, model = dialect.tool, dialect.model
    called = (tool.name, tool.arguments, tool.result, tool.call_id, tool.exit_code, tool.failed, tool.denied)
    said = (tool.message, model.input, model.output, model.input_tokens, model.output_tokens, model.finish)
    whose = (dialect.agent, dialect.agent_id, dialect.conversation, dialect.turn)
    read = [source for field in (*called, *said, *whose) for source in field]
    says = [each.attribute for each in tool.says]
    return names_of([*read, dialect.role]) | {*dialect.marks, *says, *tool.cut, *model.uncounted}


def by_name(names: Mapping[str, Role], *, whole: bool = False) -> Callable[[Sighting], Role | None]:
    """Return a role function by the name of span or event.

    Records of other names count for nothing, and where the table is `whole`, spans too.
    """

    def role(seen: Sighting) -> Role | None:
        return names.get(seen.view.name, Role.OTHER if whole or seen.view.log else None)

    return role


_REFUSED: Final = frozenset({"reject", "rejected", "denied", "deny", "abort", "cancel", "cancelled"})


@reads("decision")
def refused(seen: Sighting) -> object:
    """Return True where a host says that a person or a policy decided against the call, else None."""
    return True if label(seen.known.get("decision")).lower() in _REFUSED else None


def by_value(attribute: str, **roles: tuple[str, ...]) -> Callable[[Sighting], Role | None]:
    """Return a role function that compares one attribute, without case, to the words of each role."""
    table = {word: Role(role) for role, words in roles.items() for word in words}

    def role(seen: Sighting) -> Role | None:
        return table.get(first_label(seen, (attribute,)).lower())

    return role
