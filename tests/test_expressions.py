"""Regular expressions take time in proportion to the text, whatever it is made of, alone and where they are used."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from acts import bash
from expressions import SHAPES, calls, hard_texts, patterns

from otel_stall import commands, dialects, fingerprints, outcomes, steps
from otel_stall.dialects import payloads
from otel_stall.readers import Problems, read_paths
from otel_stall.report.printable import printable
from otel_stall.spans import SpanView

_CHARS = 3_000
_FLOOR = 0.003
"""Seconds of CPU time below which nothing is said of a growth."""
_MOST = 2.8
"""Growth of the time where the text doubles; the square would be four."""

_HALF = {"a file of lines": 1_000_000}
"""Half of the largest text, where five million characters would take too long for a test."""

AT_A_PLACE = {"dialects.payloads._TOKEN"}
"""Patterns that are only ever held against one place of a text, never looked for in it."""

FUNCTIONS: dict[str, Callable[[str], object]] = {
    "a step": lambda text: steps.step(bash(text, text, None)),
    "arguments": lambda text: payloads.parse("[" + text),
    "arguments of Python": lambda text: payloads.parse("{'a': " + text),
    "a command": commands.parse,
    "an outcome": fingerprints.outcome,
    "an error": lambda text: [outcomes.error_line(text), outcomes.exit_code_in(text), outcomes.is_refusal(text)],
    "a span": lambda text: dialects.read(span(text)),
    "a name": printable,
    "a file of lines": lambda text: list(
        read_paths(["-"], problems=Problems(), stdin=io.BytesIO(b'{\n"a": "' + text.encode() + b"\n}\n"))
    ),
}


def span(text: str) -> SpanView:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "bash",
        "gen_ai.tool.call.arguments": text,
        "gen_ai.tool.call.result": text,
        "gen_ai.output.messages": text,
        "input.value": text,
        "output.value": text,
    }
    return SpanView("1" * 32, "2" * 16, "", text[:200], 1, 2, attributes=attributes)


def seconds(act: Callable[[], object]) -> float:
    began = time.process_time()
    act()
    return time.process_time() - began


def growth(act: Callable[[str], object], short: str, long: str, floor: float = _FLOOR) -> float:
    """Return how many times longer the long text takes: the least of three tries, 0 where that is less than `floor`."""
    found = []
    for _ in range(3):
        took = seconds(lambda: act(long))
        if took < floor:
            return 0.0
        found.append(took / max(min(seconds(lambda: act(short)) for _ in range(2)), floor / 4))
        if found[-1] <= _MOST:
            break
    return min(found)


def test_every_expression_is_known() -> None:
    """What the source compiles is found where modules hold it: nothing is put together or compiled on the way."""
    known = {pattern.pattern for pattern in patterns().values()}
    elsewhere = [(place, called) for place, called, text in calls() if text is not None and text not in known]
    made = {place.partition(":")[0] for place, _, text in calls() if text is None}

    assert len(known) > 60
    assert {place.partition(":")[0] for place, _ in elsewhere} == {"commands.py", "demo/__init__.py"}
    assert made == {"demo/workspace.py", "fingerprints.py", "outcomes.py", "patterns.py"}


@pytest.mark.parametrize("name", patterns())
def test_alone(name: str) -> None:
    """Twice the text takes about twice as long, looked for, matched from its start and replaced."""
    pattern: re.Pattern[Any] = patterns()[name]
    binary = isinstance(pattern.pattern, bytes)
    ways: dict[str, Callable[[Any], object]] = {"match": pattern.match, "fullmatch": pattern.fullmatch}
    if name not in AT_A_PLACE:
        empty: Any = b"" if binary else ""
        ways |= {"search": pattern.search, "sub": lambda text: pattern.sub(empty, text)}
    slow = {}
    for unit in hard_texts(pattern):
        for end in ("", "\0"):
            short, long = (unit * (chars // len(unit)) + end for chars in (_CHARS, 2 * _CHARS))
            given: list[Any] = [text.encode("latin-1", "replace") if binary else text for text in (short, long)]
            for way, act in ways.items():
                if (grown := growth(act, *given)) > _MOST:
                    slow[way, unit] = grown

    assert slow == {}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_where_they_are_used(name: str) -> None:
    """The same of what is read, up to ten megabytes of it."""
    slow = {}
    for unit in (*SHAPES, "'\\", "\\'", '"\\', '\\"', "{'", '["', "0x", "12:3", "error ", "$(", "<<A\n"):
        for chars in (100_000, _HALF.get(name, 5_000_000)):
            short, long = (unit * (size // len(unit)) for size in (chars, 2 * chars))
            if (grown := growth(FUNCTIONS[name], short, long, 0.1)) > _MOST:
                slow[unit, 2 * chars] = grown

    assert slow == {}
