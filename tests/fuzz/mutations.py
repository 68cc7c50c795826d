"""Changes to good input, for fuzzing without a coverage-guided fuzzer: bytes, tokens, and values of JSON."""

from __future__ import annotations

import copy
import json
import random
from typing import Any, Final

__all__ = ["mutated"]

_TOKENS: Final = (
    b"9" * 30,
    b"9" * 5_000,
    b"-1",
    b"null",
    b"{}",
    b"[]",
    b'"\\ud800"',
    b"NaN",
    b"Infinity",
    b"true",
    b"1e999",
    b"[" * 1_500,
    b"\x1b[2J",
    b"\xe2\x80\xae",
    b"\xff",
)
_ODD: Final[tuple[Any, ...]] = (
    None,
    True,
    -1,
    10**40,
    "9" * 400,
    1e308,
    float("nan"),
    float("inf"),
    "",
    {},
    [],
    "\ud800",
    "\x1b[2J\u202e<script>",
    "x" * 7_000,
    [[[]]],
    {"stringValue": 5},
    {"intValue": "abc"},
    {"kvlistValue": {"values": [{"key": "a"}]}},
    {"arrayValue": {"values": [{}]}},
    "18446744073709551615",
    -(2**63),
)


def mutated(data: bytes, source: random.Random) -> bytes:
    """Return the input with a few changes, in its structure where it is JSON."""
    if source.random() < 0.5 and (changed := _structural(data, source)) is not None:
        return changed
    held = bytearray(data)
    for _ in range(source.choice((1, 1, 2, 4, 16))):
        if held:
            _change(held, source)
    return bytes(held)


def _change(held: bytearray, source: random.Random) -> None:
    at, kind = source.randrange(len(held)), source.randrange(6)
    if kind == 0:
        held[at] ^= 1 << source.randrange(8)
    elif kind == 1:
        del held[at : at + source.randrange(1, 20)]
    elif kind == 2:
        held[at:at] = source.randbytes(source.randrange(1, 9))
    elif kind == 3:
        begin = source.randrange(len(held))
        held[at:at] = held[begin : begin + source.randrange(1, 60)]
    elif kind == 4:
        del held[at:]
    else:
        held[at : at + source.randrange(8)] = source.choice(_TOKENS)


def _structural(data: bytes, source: random.Random) -> bytes | None:
    begin = next((at for at in (0, 1) if data[at : at + 1] in (b"{", b"[")), None)
    if begin is None:
        return None
    try:
        value = json.loads(data[begin:].splitlines()[0] if b"\n" in data and source.random() < 0.5 else data[begin:])
    except (ValueError, RecursionError):
        return None
    for _ in range(source.choice((1, 1, 2, 3, 8))):
        places = _places(value)
        if not places:
            break
        holder, key = source.choice(places)
        if source.random() < 0.3 and isinstance(holder, dict):
            holder.pop(key, None)
        elif source.random() < 0.1 and len(places) < 3_000:
            holder[key] = copy.deepcopy(source.choice(places)[0])
        else:
            holder[key] = copy.deepcopy(source.choice(_ODD))
    try:
        return data[:begin] + json.dumps(value).encode()
    except (ValueError, RecursionError):
        return None


def _places(value: Any) -> list[tuple[Any, Any]]:
    found, inner = [], [value]
    while inner:
        held = inner.pop()
        keys = list(held) if isinstance(held, dict) else range(len(held)) if isinstance(held, list) else ()
        for key in keys:
            found.append((held, key))
            inner.append(held[key])
    return found
