"""From a tool span to `ToolCall`: name, arguments, result, ids, failure and whether it still waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from otel_stall.calls import Capture, Content, ToolCall
from otel_stall.dialects.annotations import ANNOTATION_NAMES, annotations_of
from otel_stall.dialects.envelopes import Unwrapped, unwrap_arguments, unwrap_result
from otel_stall.dialects.hosts import hints_of
from otel_stall.dialects.payloads import parse
from otel_stall.dialects.shapes import ToolPlan
from otel_stall.dialects.sightings import Sighting, Source, first_label, first_value, label, number, truth
from otel_stall.dialects.table import Says
from otel_stall.spans import Status
from otel_stall.values import replace

__all__ = ["TOOL_NAMES", "called_tool", "tool_call"]

_ERROR_TYPE: Final = "error.type"
_DEFERRED: Final = "pydantic_ai.tool.deferral.name"
_EXIT_CODES: Final = ("process.exit.code", "codex.command.exit_code")
TOOL_NAMES: Final = frozenset({_ERROR_TYPE, _DEFERRED, *_EXIT_CODES}) | ANNOTATION_NAMES
"""Attributes read from tool spans whatever their dialect."""

_ERROR_LIMIT: Final = 4_000
_EVENTS: Final = 128
_EXCEPTIONS: Final = ("exception", "gen_ai.client.operation.exception")
_NO_ID: Final = frozenset({"unknown", "<not specified>"})
_NO_TYPE: Final = frozenset({"_OTHER"})
_ASKS: Final = ("GraphInterrupt", "NodeInterrupt", "ApprovalRequired", "CallDeferred")
_STOPS: Final = ("CancelledError",)
_PREFIXES: Final = ("MCP send ", "execute_tool ", "tools/call ", "Function: ", "running tool: ")
_SUFFIXES: Final = (".tool", ".run", ".__call__", ".acall", ".call")


def tool_call(seen: Sighting, plan: ToolPlan, *, part: bool = False) -> ToolCall:
    """Return the call as its emitters described it, read where the plan says."""
    arguments = unwrap_arguments(parse(first_value(seen, plan.arguments)), plan.unwrap)
    found = unwrap_result(first_value(seen, plan.result))
    if any(truth(seen.known.get(name)) for name in plan.cut):
        found = replace(found, content=Content(found.content.value, Capture.TRUNCATED))
    exit_code = _exit_code(seen, plan, found)
    raised, message = _exception(seen)
    error = first_label(seen, (_ERROR_TYPE,), _NO_TYPE) or raised
    pending = _DEFERRED in seen.known or error.endswith(_ASKS) or _waits(plan, found.content)
    failed = None if pending or error.endswith(_STOPS) else _failed(seen, plan, found, bool(raised))
    denied = _first_truth(seen, plan.denied) is True
    # openai-agents closes the span of a call that needs approval without a result and says nothing else.
    unanswered = arguments.capture is Capture.CAPTURED and found.content.capture is Capture.ABSENT
    pending = pending or (failed is None and unanswered and plan.pauses)
    if plan.settled and exit_code and plan.tells_exit:
        failed = True
    return ToolCall(
        tool="" if part else first_label(seen, plan.name) or called_tool(seen.view.name),
        arguments=arguments,
        result=found.content,
        failed=True if denied else failed,
        error_type=error,
        error_message=(message or _message(seen, plan))[:_ERROR_LIMIT] if failed or denied else "",
        exit_code=exit_code,
        call_id=first_label(seen, plan.call_id, _NO_ID) or found.call_id,
        pending=pending,
        hints=hints_of(seen),
        denied=denied,
        part=part,
        settled=plan.settled,
        exit_tells=plan.exit_tells,
        annotations=annotations_of(seen),
    )


def called_tool(span_name: str) -> str:
    """Return the tool's name that a tool span's name holds: the name without what emitters add."""
    name = label(span_name)
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def _exit_code(seen: Sighting, plan: ToolPlan, found: Unwrapped) -> int | None:
    value = first_value(seen, _EXIT_CODES)
    code = number(first_value(seen, plan.exit_code) if value is None else value)
    return found.exit_code if code is None else code


def _message(seen: Sighting, plan: ToolPlan) -> str:
    said = first_value(seen, plan.message)
    return said if isinstance(said, str) and said else seen.view.status_description


def _first_truth(seen: Sighting, sources: Sequence[Source]) -> bool | None:
    values = (truth(first_value(seen, (source,))) for source in sources)
    return next((value for value in values if value is not None), None)


def _exception(seen: Sighting) -> tuple[str, str]:
    """Return type and message of the first exception event, "" and "" where there is none."""
    for event in seen.view.events[:_EVENTS]:
        if event.name in _EXCEPTIONS:
            message = event.attributes.get("exception.message")
            kind = label(event.attributes.get("exception.type")) or "exception"
            return kind, message if isinstance(message, str) else ""
    return "", ""


def _failed(seen: Sighting, plan: ToolPlan, found: Unwrapped, raised: bool) -> bool | None:
    said = [_says(seen, says) for says in plan.says] + [_first_truth(seen, sources) for sources in plan.failed]
    if seen.view.status is Status.ERROR or raised or label(seen.known.get(_ERROR_TYPE)):
        return True
    if True in said or found.failed:
        return True
    return False if False in said or found.failed is False else None


def _says(seen: Sighting, listed: Sequence[Says]) -> bool | None:
    for says in listed:
        value = seen.known.get(says.attribute)
        if value is None:
            continue
        if value == says.failed or (isinstance(says.failed, bool) and truth(value) is says.failed):
            return True
        if says.succeeded is not None and (
            value == says.succeeded or (isinstance(says.succeeded, bool) and truth(value) is says.succeeded)
        ):
            return False
    return None


def _waits(plan: ToolPlan, result: Content) -> bool:
    if not plan.waits:
        return False
    value = result.value
    said = list(value.values()) if isinstance(value, dict) and len(value) == 1 else [value]
    return any(text in plan.waits for text in said if isinstance(text, str))
