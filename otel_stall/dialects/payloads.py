"""Values as emitters write them: JSON text, Python's `repr`, plain text, or structured attributes.

Parsing never raises and is linear. What cannot be parsed stays the text it is.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from otel_stall.calls import Capture, Content
from otel_stall.dialects.sightings import plain_text
from otel_stall.spans import CutText

__all__ = ["PARSE_LIMIT", "is_marker", "literal_at", "mapping", "parse", "parse_json"]

PARSE_LIMIT: Final = 1 << 20
"""Characters up to which text is parsed (about 10 ms); longer text is kept as text."""

_DEPTH: Final = 200
_DECODER: Final = json.JSONDecoder(parse_constant=str, strict=False)
_MARKERS: Final = frozenset({"__redacted__", "<redacted>", "[redacted]", "redacted"})
_SCRUBBED: Final = "[scrubbed due to"
_UNSAID: Final = frozenset({"<not specified>"})
_TOKEN: Final = re.compile(
    r"""(?P<string>'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")|(?P<word>True|False|None)\b"""
    r"""|(?P<number>-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,3})?)|(?P<mark>[\[\](){},:])|(?P<space>\s+)""",
    re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|.)", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t"}
_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_BRACKETS: Final = {"(": "[", ")": "]"}


def parse(value: object, limit: int = PARSE_LIMIT) -> Content:
    """Return the value as mappings, lists and scalars, and whether all of it was captured.

    JSON text that was cut by a length limit, and text known to have been, is `TRUNCATED` and keeps its text;
    a marker that stands for removed content makes the whole `REDACTED`.
    """
    if value is None:
        return Content()
    if isinstance(value, CutText):
        return Content(plain_text(value), Capture.TRUNCATED)
    if not isinstance(value, (str, bytes)):
        plain = _plain(value)
        return Content(plain, Capture.REDACTED if _redacted(plain) else Capture.CAPTURED)
    text = plain_text(value)
    if text in _UNSAID:
        return Content()
    if is_marker(text):
        return Content(None, Capture.REDACTED)
    parsed, cut = _parse_text(text, limit)
    if cut:
        return Content(text, Capture.TRUNCATED)
    return Content(parsed, Capture.REDACTED if _redacted(parsed) else Capture.CAPTURED)


def parse_json(value: object, limit: int = PARSE_LIMIT) -> object:
    """Return JSON text parsed, anything structured as plain values, None where it is neither."""
    if isinstance(value, (str, bytes)):
        text = plain_text(value)
        if text[:1] not in ("{", "[") or len(text) > limit:
            return None
        try:
            parsed = _DECODER.decode(text)
        except (ValueError, RecursionError):
            return None
        return None if _is_deep(text, parsed) else parsed
    return _plain(value)


def mapping(value: object) -> Mapping[str, object]:
    """Return JSON text or a structured value as a mapping, an empty one where it is none."""
    parsed = parse_json(value)
    return parsed if isinstance(parsed, Mapping) else {}


def is_marker(value: object) -> bool:
    """Return whether an emitter wrote this in place of content that it took out."""
    if not isinstance(value, str) or not value or len(value) > 200:
        return False
    folded = value.strip().lower()
    return folded in _MARKERS or folded.startswith(_SCRUBBED)


def literal_at(text: str, start: int = 0) -> tuple[object, int] | None:
    """Return the Python literal that begins at `start` and where it ends; None if there is none.

    Written out instead of `ast.literal_eval` because that warns about, and may recurse on, foreign text.
    """
    out: list[str] = []
    depth = 0
    at = start
    while match := _TOKEN.match(text, at):
        at = match.end()
        token = _json_token(match)
        if token in "]}" and token and out and out[-1] == ",":
            out.pop()
        if token:
            out.append(token)
        depth += (token in ("[", "{")) - (token in ("]", "}"))
        if token and depth <= 0:
            break
    try:
        return _DECODER.decode("".join(out)), at
    except (ValueError, RecursionError):
        return None


def _json_token(match: re.Match[str]) -> str:
    token = match.group()
    kind = match.lastgroup
    if kind == "string":
        return json.dumps(_ESCAPE.sub(_unescape, token[1:-1]))
    if kind == "word":
        return _WORDS[token]
    if kind == "space":
        return ""
    return _BRACKETS.get(token, token)


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    if code[0] in "xuU" and len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPES.get(code, code)


def _parse_text(text: str, limit: int) -> tuple[object, bool]:
    """Return what the text says, and whether it is JSON that was cut."""
    first = text[:1]
    if first not in ("{", "[", '"') or len(text) > limit:
        return text, False
    try:
        parsed = _DECODER.decode(text)
        return (text if _is_deep(text, parsed) else parsed), False
    except json.JSONDecodeError as error:
        if first != '"' and _is_cut(text, error):
            return text, True
    except (ValueError, RecursionError):
        return text, False
    if text.startswith(("{'", "['", "[{'")) and (found := literal_at(text)) and found[1] >= len(text.rstrip()):
        return found[0], False
    return text, False


def _is_cut(text: str, error: json.JSONDecodeError) -> bool:
    # An emitter's JSON has no line breaks; text that has them is a part of a file that looks like JSON.
    if "\n" in text or text.startswith(("{'", "['", "[{'")):
        return False
    if error.msg.startswith("Unterminated string") or error.msg.startswith("Invalid \\"):
        return error.msg.startswith("Unterminated") or error.pos >= len(text) - 6
    rest = text[error.pos :].rstrip()
    return not rest or (len(rest) < 5 and any(word.startswith(rest) for word in ("true", "false", "null", "-")))


def _is_deep(text: str, parsed: object) -> bool:
    """Return whether the value nests deeper than what structured attributes are read to."""
    if text.count("[") + text.count("{") <= _DEPTH:
        return False
    level: list[object] = [parsed]
    for _ in range(_DEPTH):
        inner: list[object] = []
        for value in level:
            if isinstance(value, dict):
                inner.extend(value.values())
            elif isinstance(value, list):
                inner.extend(value)
        if not inner:
            return False
        level = inner
    return True


def _plain(value: object, depth: int = 0) -> object:
    if isinstance(value, (str, bytes)):
        return plain_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else _constant(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if depth >= _DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return {_key(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_plain(item, depth + 1) for item in value]
    return None


def _constant(value: float) -> str:
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _key(key: object) -> str:
    return plain_text(key) if isinstance(key, (str, bytes)) else str(key) if isinstance(key, int) else ""


def _redacted(value: object) -> bool:
    if isinstance(value, dict):
        return any(is_marker(item) for item in value.values())
    return is_marker(value)
