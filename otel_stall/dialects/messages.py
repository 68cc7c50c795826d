"""Chat messages in any of the shapes that emitters write: who speaks, what is said, whether tools are asked for.

A message is a mapping with a role and parts; what differs is the names. Lists of parts without a message
around them are taken as one assistant message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from otel_stall.dialects.payloads import parse_json
from otel_stall.dialects.sightings import Sighting, of_events, plain_text
from otel_stall.spans import CutText

__all__ = ["OURS", "Said", "event_input", "event_output", "flattened", "people_speaking", "said"]

OURS: Final = "[otel-stall]"
"""Begins every text that otel-stall itself shows to a model: it is nobody's word, wherever it stands."""

_TEXT_LIMIT: Final = 1 << 18
_NESTING: Final = 8

_PEOPLE: Final = frozenset({"user", "human"})
_TALK: Final = frozenset({"text", "output_text", "input_text"})
_RESULTS: Final = frozenset({"tool_call_response", "tool_result", "function_call_output", "tool-result", "tool"})
_RESULT_KEYS: Final = ("toolResult", "function_response", "functionResponse", "tool_call_result")
_ASKS: Final = frozenset({"tool_call", "tool_use", "function_call", "tool-call"})
_ASK_KEYS: Final = ("toolUse", "function_call", "functionCall", "tool_call")
_BODIES: Final = ("parts", "content", "contents", "blocks")
_LISTS: Final = ("messages", "replies", "choices", "generations", "candidates", "contents", "output", "input")
_WRAPPERS: Final = ("message", "kwargs", "data")


@dataclass(frozen=True, slots=True)
class Said:
    """What an assistant's output holds."""

    text: str = ""
    calls_tools: bool = False
    compacted: bool = False


def people_speaking(value: object) -> int | None:
    """Return in how many input messages a person speaks, None where there are no messages to read.

    A user-role message made of tool results, or of what otel-stall shows to the model, is no person's.
    """
    messages = parse_json(value)
    if not isinstance(messages, (list, dict)):
        return None
    return sum(map(_speaks, _each(messages))) if messages else None


def said(value: object) -> Said:
    """Return what the assistant says in an output, be it text, one message, or a list of messages or parts."""
    if isinstance(value, CutText):
        return Said()
    if isinstance(value, (str, bytes)):
        text = plain_text(value)
        parsed = parse_json(text)
        if parsed is None:
            return Said(text[:_TEXT_LIMIT])
        value = parsed
    texts: list[str] = []
    asks = compacted = False
    for message in _each(value):
        compacted = compacted or message.get("finish_reason") == "compaction"
        asks = asks or bool(message.get("tool_calls"))
        for part in _parts(message):
            asks = asks or _is(part, _ASKS, _ASK_KEYS)
            compacted = compacted or (isinstance(part, Mapping) and part.get("type") == "compaction")
            if text := _text(part):
                texts.append(text)
    return Said("\n".join(texts)[:_TEXT_LIMIT], asks, compacted)


def flattened(seen: Sighting, prefix: str, infix: str = "") -> list[object] | None:
    """Return the messages that are spread over attributes like `{prefix}3.{infix}role`, None if there are none.

    A list whose first message was evicted by the SDK's attribute limit is not one that can be counted.
    """
    messages: dict[int, dict[str, object]] = {}
    for key, value in seen.view.attributes.items():
        if not key.startswith(prefix):
            continue
        index, _, field = plain_text(key)[len(prefix) :].partition(".")
        if not index.isdecimal() or len(index) > 6 or not field.startswith(infix):
            continue
        _put(messages.setdefault(int(index), {}), field[len(infix) :], value)
    return [messages[index] for index in sorted(messages)] if 0 in messages else None


@of_events
def event_input(seen: Sighting) -> object:
    """Return the input messages that stand in span events, one event each or all in one attribute."""
    found: list[object] = []
    for event in seen.view.events:
        if (messages := event.attributes.get("gen_ai.input.messages")) is not None:
            return messages
        if event.name in ("gen_ai.user.message", "gen_ai.tool.message", "gen_ai.assistant.message"):
            found.append({"role": event.name.split(".")[1], "content": _event_body(event.attributes, "content")})
    return found or None


@of_events
def event_output(seen: Sighting) -> object:
    """Return the output messages that stand in span events."""
    for event in seen.view.events:
        if (messages := event.attributes.get("gen_ai.output.messages")) is not None:
            return messages
    for event in seen.view.events:
        if event.name == "gen_ai.choice":
            return [{"role": "assistant", "content": _event_body(event.attributes, "message")}]
    return None


def _event_body(attributes: Mapping[str, object], key: str) -> object:
    value = attributes.get(key)
    parsed = parse_json(value)
    return value if parsed is None else parsed


def _put(message: dict[str, object], field: str, value: object) -> None:
    if field == "role":
        message["role"] = value
    elif field == "content" or (field.startswith("contents.") and field.endswith(".text")):
        body = message.setdefault("content", [])
        if isinstance(body, list):
            body.append({"type": "text", "text": "" if isinstance(value, CutText) else value})
    elif field.startswith("tool_calls."):
        message["tool_calls"] = True
    elif field.startswith("contents."):
        message.setdefault("content", [])
    elif field == "finish_reason":
        message["finish_reason"] = value


def _each(value: object, depth: int = 0) -> Iterator[Mapping[str, object]]:
    """Yield the messages in a value; parts that stand alone come as one assistant message."""
    if depth > _NESTING:
        return
    if isinstance(value, Mapping):
        yield from _from_mapping(value, depth)
        return
    if not isinstance(value, list):
        return
    if any(isinstance(item, list) for item in value) or any(_is_message(item) for item in value):
        for item in value:
            yield from _each(item, depth + 1)
    elif value:
        yield {"role": "assistant", "content": value}


def _from_mapping(value: Mapping[str, object], depth: int) -> Iterator[Mapping[str, object]]:
    for key in _WRAPPERS:
        inner = value.get(key)
        if isinstance(inner, Mapping):
            yield from _each(inner, depth + 1)
            return
    if "role" in value or value.get("type") in ("human", "ai", "tool", "system"):
        yield value
        return
    for key in _LISTS:
        inner = value.get(key)
        if isinstance(inner, list):
            yield from _each(inner, depth + 1)
            return
    yield {"role": "assistant", "content": [value]}


def _is_message(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    return "role" in value or any(isinstance(value.get(key), Mapping) for key in _WRAPPERS) or "lc" in value


def _parts(message: Mapping[str, object]) -> Sequence[object]:
    for key in _BODIES:
        body = message.get(key)
        if isinstance(body, list):
            return body
        if isinstance(body, str):
            return (body,)
        if isinstance(body, Mapping):
            return _parts(body) or (body,)
    return ()


def _speaks(message: Mapping[str, object]) -> bool:
    role = message.get("role") or message.get("type")
    if not isinstance(role, str) or role.lower() not in _PEOPLE:
        return False
    parts = _parts(message)
    return not parts or any(not _is(part, _RESULTS, _RESULT_KEYS) and not _ours(part) for part in parts)


def _ours(part: object) -> bool:
    return _text(part).startswith(OURS)


def _is(part: object, kinds: frozenset[str], keys: Sequence[str]) -> bool:
    if not isinstance(part, Mapping):
        return False
    kind = part.get("type")
    return (isinstance(kind, str) and kind in kinds) or any(key in part for key in keys)


def _text(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return ""
    kind = part.get("type")
    if kind is None and isinstance(part.get("text"), str):
        return str(part["text"])
    if isinstance(kind, str) and kind in _TALK:
        text = part.get("text", part.get("content"))
        return text if isinstance(text, str) else ""
    if kind == "message":
        return "\n".join(filter(None, map(_text, _parts(part))))
    return ""
