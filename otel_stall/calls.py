"""What a dialect reads from one span or log record: a call, a model turn, a compaction, with raw contents.

These values live only while one span is being read. `steps` turns them into observations that hold
fingerprints alone; nothing in this module is ever kept, logged or exported.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from otel_stall.values import unguarded

__all__ = [
    "ABSENT",
    "Capture",
    "CompactionMark",
    "Content",
    "Hints",
    "HostHint",
    "HostMark",
    "ModelCall",
    "Reading",
    "Record",
    "ToolAnnotations",
    "ToolCall",
    "UserMark",
]


class Capture(StrEnum):
    """Whether the emitter recorded a piece of content; only `CAPTURED` content can be compared."""

    CAPTURED = "captured"
    ABSENT = "absent"
    REDACTED = "redacted"
    TRUNCATED = "truncated"


@unguarded
@dataclass(frozen=True, slots=True)
class Content:
    """Arguments or a result, parsed and unwrapped, and whether they can be relied upon."""

    value: object = None
    capture: Capture = Capture.ABSENT


ABSENT = Content()


@unguarded
@dataclass(frozen=True, slots=True)
class Hints:
    """What only a host can know, as `stall.*` attributes on the tool span; "" and None mean not said.

    `compaction`: the tool itself compacted the context; on any other span that is a `CompactionMark`.
    """

    milestone: str = ""
    evidence: str = ""
    state_before: str = ""
    state_after: str = ""
    content_digest: str = ""
    resource: str = ""
    effect: str = ""
    wait_on: str = ""
    infra: bool = False
    compaction: bool = False


NO_HINTS = Hints()


@dataclass(frozen=True, slots=True)
class ToolAnnotations:
    """What an MCP server says of a tool, where the emitter carries it; None means not said.

    The names are the protocol's `readOnlyHint`, `destructiveHint`, `idempotentHint` and `openWorldHint`. Its
    defaults are not filled in: what a server does not say tells nothing.
    """

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


NO_ANNOTATIONS = ToolAnnotations()


@unguarded
@dataclass(frozen=True, slots=True)
class ToolCall:
    """One executed tool call as its emitter described it.

    `failed` is True or False where the telemetry says so by status, error type, error attribute or the
    result's envelope, and None where it says nothing. `pending` calls wait for an approval or were
    interrupted to ask for one: they are no steps yet. `error_message` is what the exception or the span's
    status says of a failure; many emitters leave the result out then. A `denied` call was refused by a person
    or a policy. A `part` completes the call of the span around it and is no call itself. `settled`: nothing
    but `failed` tells how the call ended, whatever the result reads like. Where not `exit_tells`, an exit code
    in the result makes no failure: the tool is a function that may return what it likes.
    """

    tool: str
    arguments: Content = ABSENT
    result: Content = ABSENT
    failed: bool | None = None
    error_type: str = ""
    error_message: str = ""
    exit_code: int | None = None
    call_id: str = ""
    pending: bool = False
    hints: Hints = NO_HINTS
    denied: bool = False
    part: bool = False
    settled: bool = False
    exit_tells: bool = True
    annotations: ToolAnnotations = NO_ANNOTATIONS


@unguarded
@dataclass(frozen=True, slots=True)
class ModelCall:
    """One model inference: what the assistant said, and what the model's input tells of turns and context.

    `user_messages` counts the input messages in which a person speaks (tool results that travel under
    the user role are left out); None where the input was not recorded. Tokens are None where unknown.
    `traced`: each call the turn asks for shows as a span or record of its own.
    """

    text: str = ""
    calls_tools: bool = False
    user_messages: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    compacted: bool = False
    traced: bool = False


@dataclass(frozen=True, slots=True)
class CompactionMark:
    """The host says that it compacted the context here; the sizes are None where not said.

    `certain`: the host compacts only where it has to, so that one which freed little was in vain, and no
    window that slides with each request.
    """

    source: str
    size_before: int | None = None
    size_after: int | None = None
    certain: bool = False


@dataclass(frozen=True, slots=True)
class UserMark:
    """A person spoke here."""


@dataclass(frozen=True, slots=True)
class HostHint:
    """A host's own sign of a stall, by its name, or else its digest of the whole work."""

    sign: str = ""
    digest: str = ""


Record = ToolCall | ModelCall | CompactionMark | UserMark | HostHint
"""What one span or log record can be."""


@dataclass(frozen=True, slots=True)
class HostMark:
    """A timestamped `stall.*` event by which the host names a milestone outside a tool call.

    `conversation` is whose it is where the event says so; "" = that of its span.
    """

    milestone: str
    evidence: str
    time_ns: int
    conversation: str = ""


@unguarded
@dataclass(frozen=True, slots=True)
class Reading:
    """All that the dialects made of one span.

    `conversation` and `agent` are what this span itself says ("" = nothing); `lineage` completes them
    from baggage, ancestors and the resource. `dialect` names the rule that recognised the span, and is
    "" for a span that is no tool call, model turn, compaction or agent invocation. `is_workflow`: `agent`
    is only the name of a workflow, which stands for an agent where no agent is named below it. `log`: a log
    record, whose parent is the span it was written in. `turn` is the id of the user turn it belongs to.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    scope: str = ""
    dialect: str = ""
    record: Record | None = None
    conversation: str = ""
    agent: str = ""
    agent_id: str = ""
    is_agent: bool = False
    is_workflow: bool = False
    run_id: str = ""
    run_outcome: str = ""
    task_id: str = ""
    task_class: str = ""
    service: str = ""
    resource_conversation: str = ""
    judged: bool = False
    sampled: bool = True
    marks: tuple[HostMark, ...] = field(default=())
    log: bool = False
    turn: str = ""
