"""Bodies of traces by the number: conversations of which a third go on, a third read on and a third get stuck."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

__all__ = ["HOSTILE", "write"]

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202eevil\u202c\x1b[31m&lt;'\" {{7*7}}"
"""A name that a page must show as the text it is."""

_BEGAN = 1_780_000_000
_SECOND = 1_000_000_000


def write(path: Path, *, conversations: int, steps: int, name: str = "", seed: int = 7) -> None:
    """Write the conversations as OTLP/JSON lines, each in one line; `name` goes into every name there is.

    Tokens are counted in the model's turn before each call. The same seed gives the same file.
    """
    chance = random.Random(seed)
    with path.open("w", encoding="utf-8") as out:
        for number in range(conversations):
            out.write(json.dumps(_request(number, steps, name, chance)) + "\n")


def _request(number: int, steps: int, name: str, chance: random.Random) -> dict[str, object]:
    spans = list(_spans(number, steps, name, chance)) or [_span(number, 0, "idle", {})]
    service = {"key": "service.name", "value": {"stringValue": f"service-{number % 3}{name}"}}
    return {"resourceSpans": [{"resource": {"attributes": [service]}, "scopeSpans": [{"spans": spans}]}]}


def _spans(number: int, steps: int, name: str, chance: random.Random) -> Iterator[dict[str, object]]:
    stuck = chance.randrange(2, 8) if number % 3 == 0 else steps
    for step in range(steps):
        said = {
            "gen_ai.conversation.id": f"run-{number:05d}{name}",
            "gen_ai.agent.name": f"{('coder', 'writer', 'tester')[number % 3]}{name}",
        }
        tokens = {"gen_ai.usage.input_tokens": 900 + step * 40, "gen_ai.usage.output_tokens": 60}
        yield _span(number, 2 * step, "chat m", {**said, "gen_ai.operation.name": "chat", **tokens})
        call = {"path": f"src/{step % 11}.py", "range": step}
        new = "\n".join(f"{chance.getrandbits(40):x} line" for _ in range(6))
        result = "no match" if step >= stuck else new
        yield _span(number, 2 * step + 1, "execute_tool grep", {
            **said,
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": f"grep{name}",
            "gen_ai.tool.call.arguments": json.dumps(call),
            "gen_ai.tool.call.result": result,
        })  # fmt: skip


def _span(number: int, place: int, name: str, attributes: dict[str, object]) -> dict[str, object]:
    start = (_BEGAN + number * 60 + place) * _SECOND
    return {
        "traceId": f"{number + 1:032x}",
        "spanId": f"{number * 100_000 + place + 1:016x}",
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + _SECOND // 2),
        "attributes": [
            {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
            for key, value in attributes.items()
        ],
    }
