"""Values of the OTLP/JSON encoding: ids, times, enumerations and AnyValues, both ways.

Reading is lenient, as files come from many writers: ids in hex of either case, with `0x`, or in base64;
integers and booleans as strings; enumerations as numbers or names. Writing follows the specification
(hex ids, 64-bit integers as strings, bytes in base64).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "MAX_DEPTH",
    "any_value",
    "attributes_from",
    "boolean",
    "hex_id",
    "key_values",
    "number",
    "python_value",
]

MAX_DEPTH = 128
"""Levels of nesting that are read; what lies deeper becomes None."""

_HEX = frozenset("0123456789abcdef")


def hex_id(value: object, size: int) -> str:
    """Return an id of `size` bytes as lower-case hex, "" where it is missing, all zero or no id."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << (8 * size):
        text = f"{value:0{2 * size}x}"
    elif isinstance(value, str):
        text = _hex_text(value.strip(), size)
    else:
        return ""
    return text if text.strip("0") else ""


def _hex_text(text: str, size: int) -> str:
    lowered = text.lower().removeprefix("0x").replace("-", "")
    if len(lowered) <= 2 * size and _HEX.issuperset(lowered) and not text.endswith("="):
        return lowered.zfill(2 * size)
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return ""
    return raw.hex() if len(raw) == size else ""


def number(value: object) -> int:
    """Return an integer that may have come as a string or a float; 0 where there is none."""
    if isinstance(value, int):
        return int(value)
    try:
        return int(value)  # type: ignore[call-overload,no-any-return]  # anything else raises TypeError
    except (TypeError, ValueError, OverflowError):
        return 0


def boolean(value: object) -> bool:
    """Return a boolean that may have come as a string or a number."""
    return value.strip().lower() in ("true", "1") if isinstance(value, str) else bool(value)


def python_value(value: object, depth: int = 0) -> object:
    """Return what an OTLP/JSON AnyValue holds; {} and null are None, arrays tuples, kvlists dicts."""
    if not isinstance(value, (dict, Mapping)):
        return None if isinstance(value, list) else value
    if depth > MAX_DEPTH:
        return None
    for kind, held in value.items():
        if kind == "stringValue" and type(held) is str:
            return held
        if convert := _SCALARS.get(kind):
            return None if held is None else convert(held)
        if kind in ("arrayValue", "array_value"):
            return tuple(python_value(item, depth + 1) for item in _items(held))
        if kind in ("kvlistValue", "kvlist_value"):
            return attributes_from(_items(held), depth + 1)
    return None


def attributes_from(pairs: object, depth: int = 0) -> dict[str, object]:
    """Return the mapping that a list of KeyValue stands for; entries without a key are left out."""
    if isinstance(pairs, Mapping):  # some writers give the mapping itself
        return {str(key): python_value(value, depth) for key, value in pairs.items()}
    return {
        pair["key"]: python_value(pair.get("value"), depth)
        for pair in (pairs if isinstance(pairs, list) else ())
        if isinstance(pair, dict) and isinstance(pair.get("key"), str)
    }


def any_value(value: object) -> dict[str, object]:
    """Return the OTLP/JSON AnyValue of a Python value; what has no such form becomes its text."""
    match value:
        case None:
            return {}
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": _json_double(value)}
        case str():
            return {"stringValue": value}
        case bytes():
            return {"bytesValue": base64.b64encode(value).decode("ascii")}
        case Mapping():
            return {"kvlistValue": {"values": key_values(value)}}
        case Sequence():
            return {"arrayValue": {"values": [any_value(item) for item in value]}}
    return {"stringValue": str(value)}


def key_values(attributes: Mapping[str, object]) -> list[dict[str, object]]:
    """Return the list of KeyValue of a mapping, in its order."""
    return [{"key": str.__str__(key), "value": any_value(value)} for key, value in attributes.items()]


def _items(held: object) -> Iterable[object]:
    values = held.get("values") if isinstance(held, Mapping) else held
    return values if isinstance(values, list) else []


def _integer(held: object) -> int | None:
    return None if isinstance(held, str) and not held.strip("-+ \t").isdigit() else number(held)


def _double(held: object) -> float | None:
    try:
        return float(held)  # type: ignore[arg-type]  # anything else raises TypeError
    except (TypeError, ValueError, OverflowError):
        return None


def _json_double(value: float) -> float | str:
    if value != value:
        return "NaN"
    return value if abs(value) != float("inf") else ("Infinity" if value > 0 else "-Infinity")


def _text(held: object) -> str:
    return held if isinstance(held, str) else str(held)


def _bytes(held: object) -> object:
    if not isinstance(held, str):
        return None
    try:
        return base64.b64decode(held + "=" * (-len(held) % 4))
    except (binascii.Error, ValueError):
        return held


_SCALARS = {
    "stringValue": _text,
    "string_value": _text,
    "boolValue": boolean,
    "bool_value": boolean,
    "intValue": _integer,
    "int_value": _integer,
    "doubleValue": _double,
    "double_value": _double,
    "bytesValue": _bytes,
    "bytes_value": _bytes,
}
