"""Envelopes that frameworks put around arguments and results, and how they come off.

An envelope rule takes a mapping and returns what is inside, or None where the mapping is not that
envelope. Rules run until none applies; what is left is what the tool was given or gave back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from otel_stall.calls import ABSENT, Capture, Content
from otel_stall.dialects.payloads import is_marker, literal_at, parse
from otel_stall.dialects.sightings import label, number
from otel_stall.values import replace, unguarded

__all__ = [
    "Unwrap",
    "Unwrapped",
    "message_call",
    "message_response",
    "openhands_action",
    "unwrap_arguments",
    "unwrap_result",
]

Unwrap = Callable[[Mapping[str, object]], object | None]

_LAYERS: Final = 6
_NO_ARGUMENTS: Final = frozenset({"", "None", "null"})
_INJECTED: Final = frozenset({"run_manager", "runtime", "callbacks"})
_EXIT_KEYS: Final = ("exit_code", "returncode", "exitCode", "returnCode")
_AGNO_BEGINS: Final = "status='"
_AGNO: Final = re.compile(r"status='(\w{1,20})' result=")
_STATUSES: Final = {"error": True, "failure": True, "failed": True}


@unguarded
@dataclass(frozen=True, slots=True)
class Unwrapped:
    """What a tool gave back, and what its envelopes said of the call."""

    content: Content = ABSENT
    failed: bool | None = None
    call_id: str = ""
    exit_code: int | None = None


def unwrap_arguments(content: Content, extra: Sequence[Unwrap] = ()) -> Content:
    """Return the arguments as the model gave them; a lone value whose parameter name is lost stays a scalar."""
    if content.capture is not Capture.CAPTURED:
        return content
    value = content.value
    for _ in range(_LAYERS):
        inner = _argument_layer(value, (*extra, *_ARGUMENT_ENVELOPES))
        if inner is None:
            break
        value = inner
    return content if value is content.value else _checked(value)


def unwrap_result(value: object) -> Unwrapped:
    """Return what the tool gave back; a mapping that tells an exit code beside the output stays one.

    Text with line breaks that happens to be JSON (the file a tool read) stays text, so that its lines count.
    """
    if type(value) is str and _is_plain(value):
        return Unwrapped(Content(value, Capture.CAPTURED))
    text = isinstance(value, (str, bytes))
    found = Unwrapped(parse(value, limit=0) if text else parse(value))
    if found.content.capture is not Capture.CAPTURED:
        return found
    for _ in range(_LAYERS):
        layer = _result_layer(found)
        if layer is None:
            break
        found = layer
    return replace(found, exit_code=_exit_code(found.content.value))


def _is_plain(text: str) -> bool:
    """Return whether a text is no JSON, no envelope and no marker, as its first characters tell."""
    return text[:1] not in ("{", "[", '"', "<", "_") and not text.startswith(_AGNO_BEGINS) and not is_marker(text)


def message_call(value: object) -> object | None:
    """Return the arguments of the tool call in a list of messages (`gen_ai.input.messages`), None if none."""
    return _message_part(parse(value).value, "tool_call", ("arguments",))


def message_response(value: object) -> object | None:
    """Return the answer to the tool call in a list of messages (`gen_ai.output.messages`), None if none."""
    return _message_part(parse(value).value, "tool_call_response", ("response", "result"))


def openhands_action(value: Mapping[str, object]) -> object | None:
    """Return the action of an OpenHands call without its type's name."""
    action = value.get("action")
    if len(value) != 1 or not isinstance(action, Mapping):
        return None
    return {key: item for key, item in action.items() if key != "kind" and item is not None}


def _checked(value: object) -> Content:
    again = parse(value)
    return Content(value, Capture.REDACTED) if again.capture is Capture.REDACTED else Content(value, Capture.CAPTURED)


def _message_part(messages: object, kind: str, keys: Sequence[str]) -> object | None:
    if not isinstance(messages, list):
        return None
    for message in messages[:8]:
        parts = message.get("parts") if isinstance(message, Mapping) else None
        for part in parts[:8] if isinstance(parts, list) else ():
            if isinstance(part, Mapping) and part.get("type") == kind:
                return next((part[key] for key in keys if part.get(key) is not None), None)
    return None


# Arguments


def _argument_layer(value: object, envelopes: Sequence[Unwrap]) -> object | None:
    if isinstance(value, str):
        if value in _NO_ARGUMENTS:
            return {}
        inner = parse(value).value
        return inner if isinstance(inner, (dict, list)) else None
    if isinstance(value, Mapping):
        return next((inner for rule in envelopes if (inner := rule(value)) is not None), None)
    return None


def _langchain_run(value: Mapping[str, object]) -> object | None:
    if "input_str" not in value:
        return None
    inputs = value.get("inputs")
    if isinstance(inputs, Mapping):
        return {key: item for key, item in inputs.items() if key not in _INJECTED}
    text = value.get("input_str")
    if not isinstance(text, str):
        return None
    found = literal_at(text)
    return found[0] if found else text


def _named_call(value: Mapping[str, object]) -> object | None:
    return value["arguments"] if value.keys() == {"tool_name", "arguments"} else None


def _bound_call(value: Mapping[str, object]) -> object | None:
    if not value or not value.keys() <= {"args", "kwargs", "sanitize_inputs_outputs"}:
        return None
    args, kwargs = value.get("args", []), value.get("kwargs", {})
    if not isinstance(args, list) or not isinstance(kwargs, Mapping) or not ("args" in value or "kwargs" in value):
        return None
    if len(args) == 1 and not kwargs and isinstance(args[0], Mapping):
        return args[0]
    return {"*": args, **kwargs} if args else dict(kwargs)


_ARGUMENT_ENVELOPES: Final[tuple[Unwrap, ...]] = (_langchain_run, _named_call, _bound_call)


# Results


def _result_layer(found: Unwrapped) -> Unwrapped | None:
    value = found.content.value
    if isinstance(value, str):
        return _text_layer(found, value)
    if isinstance(value, list):
        return _moved(found, _blocks(value))
    if not isinstance(value, Mapping):
        return None
    said = _said(found, value)
    for rule in _RESULT_ENVELOPES:
        if (inner := rule(value)) is not None:
            return _moved(said, inner)
    return said if said != found else None


def _moved(found: Unwrapped, inner: object | None) -> Unwrapped | None:
    if inner is None:
        return None
    if isinstance(inner, _Nothing):
        return replace(found, content=Content("", Capture.CAPTURED))
    return replace(found, content=_result_content(inner))


def _result_content(value: object) -> Content:
    """Return the inner value; text with line breaks stays text unless it is an envelope itself."""
    if isinstance(value, str):
        return Content(None, Capture.REDACTED) if is_marker(value) else Content(value, Capture.CAPTURED)
    return _checked(value)


def _text_layer(found: Unwrapped, text: str) -> Unwrapped | None:
    if match := _AGNO.match(text):
        return _agno(found, text, match)
    if text[:1] not in ("{", "[") and not (text[:1] == '"' == text[-1:]):
        return None
    content = parse(text)
    if isinstance(content.value, str) and content.value != text:
        return replace(found, content=content)
    if content.capture is Capture.TRUNCATED:
        return replace(found, content=content)
    if not isinstance(content.value, (dict, list)) or ("\n" in text and not _is_envelope(content.value)):
        return None
    return replace(found, content=content)


def _agno(found: Unwrapped, text: str, match: re.Match[str]) -> Unwrapped | None:
    failed = match.group(1) != "success"
    result = literal_at(text, match.end())
    if failed:
        at = text.find(" error=", match.end())
        result = literal_at(text, at + 7) if at >= 0 else result
    if result is None:
        return None
    value = "" if result[0] is None else result[0]
    return replace(found, content=Content(value, Capture.CAPTURED), failed=True if failed else found.failed)


def _is_envelope(value: object) -> bool:
    if isinstance(value, list):
        return _blocks(value) is not None
    if not isinstance(value, Mapping):
        return False
    return any(key in value for key in _EXIT_KEYS) or any(rule(value) is not None for rule in _RESULT_ENVELOPES)


def _said(found: Unwrapped, value: Mapping[str, object]) -> Unwrapped:
    """Return `found` with what the mapping itself says of failure and call id; the outermost word counts."""
    failed = found.failed
    for key in ("is_error", "isError"):
        if failed is None and isinstance(value.get(key), bool):
            failed = bool(value[key])
    status = value.get("status")
    if isinstance(status, str):
        failed = _STATUSES.get(status, failed)
    call_id = found.call_id
    if not call_id and "content" in value:
        call_id = label(value.get("tool_call_id"))
    return replace(found, failed=failed, call_id=call_id)


@dataclass(frozen=True, slots=True)
class _Nothing:
    """The answer is there and it is empty, where None would mean that a rule does not apply."""


def _inside(value: Mapping[str, object], key: str) -> object | None:
    if key not in value:
        return None
    inner = value[key]
    return _Nothing() if inner is None else inner


def _langchain_constructor(value: Mapping[str, object]) -> object | None:
    kwargs = value.get("kwargs")
    return kwargs if "lc" in value and isinstance(kwargs, Mapping) else None


def _langchain_output(value: Mapping[str, object]) -> object | None:
    output = value.get("output")
    if value.keys() == {"output", "kwargs"} or (value.keys() == {"output"} and isinstance(output, Mapping)):
        return _inside(value, "output")
    return None


def _langchain_data(value: Mapping[str, object]) -> object | None:
    return value.get("data") if value.get("type") == "tool" and isinstance(value.get("data"), Mapping) else None


def _tool_message(value: Mapping[str, object]) -> object | None:
    if "content" in value and ("tool_call_id" in value or value.get("type") == "tool"):
        return _inside(value, "content")
    return None


def _content_blocks(value: Mapping[str, object]) -> object | None:
    content = value.get("content")
    allowed = {"content", "isError", "is_error", "status", "toolUseId", "structuredContent", "_meta", "meta"}
    if isinstance(content, list) and value.keys() <= allowed:
        return _blocks(content) if content else _Nothing()
    return None


def _single_result(value: Mapping[str, object]) -> object | None:
    return _inside(value, "result") if value.keys() <= {"result", "is_error"} else None


def _adk_response(value: Mapping[str, object]) -> object | None:
    return _inside(value, "response") if value.keys() == {"id", "name", "response"} else None


def _llama_index(value: Mapping[str, object]) -> object | None:
    if "raw_output" in value and "tool_name" in value:
        return _inside(value, "raw_output")
    if "tool_output" in value and "tool_name" in value:
        return _inside(value, "tool_output")
    return None


_RESULT_ENVELOPES: Final[tuple[Unwrap, ...]] = (
    _langchain_constructor,
    _langchain_output,
    _langchain_data,
    _tool_message,
    _content_blocks,
    _single_result,
    _adk_response,
    _llama_index,
)


def _blocks(value: Sequence[object]) -> object | None:
    """Return the text of content blocks, or the one JSON block's value; None if these are not blocks."""
    texts: list[str] = []
    for block in value:
        if not isinstance(block, Mapping) or not block.keys() <= {"type", "text", "json", "annotations", "_meta", "id"}:
            return None
        if "json" in block and len(value) == 1:
            return _inside(block, "json")
        if not isinstance(block.get("text"), str):
            return None
        texts.append(str(block["text"]))
    return "\n".join(texts) if texts else None


def _exit_code(value: object) -> int | None:
    if not isinstance(value, Mapping):
        return None
    return next((code for key in _EXIT_KEYS if (code := number(value.get(key))) is not None), None)
