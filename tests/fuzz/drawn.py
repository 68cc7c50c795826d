"""`Drawn`: bytes of a fuzzer read as choices, so that each change of a byte is a change of one choice."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

import otel_stall
from otel_stall import dialects
from otel_stall.spans import EventView, SpanView, Status

__all__ = ["Drawn", "scopes", "vocabulary"]

_T = TypeVar("_T")
_QUOTED: Final = re.compile(r'"([A-Za-z][A-Za-z0-9_.\-/ ]{1,60})"')
_DEPTH: Final = 4

_ODD: Final[tuple[object, ...]] = (
    None,
    True,
    -1,
    0,
    2**63,
    -(2**63) - 1,
    10**400,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "\ud800",
    "\x00\x1b[2J",
    "9" * 400,
    "[" * 60,
    '{"a":' * 40,
    "1e999",
    "x" * 5_000,
    b"\xff\x00",
    (),
    ("a", "b"),
    [[[]]],
    {},
)


@cache
def vocabulary() -> tuple[str, ...]:
    """Return the names and words that the rules of the dialects know, from their source."""
    folder = Path(dialects.__file__).parent
    sources = [*sorted(folder.glob("*.py")), Path(otel_stall.__file__).parent / "attributes.py"]
    return tuple(dict.fromkeys(word for path in sources for word in _QUOTED.findall(path.read_text(encoding="utf-8"))))


@cache
def scopes() -> tuple[str, ...]:
    """Return the words among them that may be the name of an instrumentation."""
    return tuple(word for word in vocabulary() if "instrumentation" in word or word.islower())


class Drawn:
    """Choices out of bytes; at their end every choice is the first."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return len(self._data) - self._at

    def number(self, below: int) -> int:
        """Return a number from 0."""
        value = 0
        for _ in range(1 if below <= 256 else 2 if below <= 65_536 else 8):
            value = value << 8 | (self._data[self._at] if self._at < len(self._data) else 0)
            self._at += 1
        return value % below

    def one(self, listed: Sequence[_T]) -> _T:
        """Return one of them."""
        return listed[self.number(len(listed))]

    def text(self) -> str:
        """Return the next bytes as text of any kind, up to 64."""
        size = self.number(65)
        piece = self._data[self._at : self._at + size]
        self._at += size
        return piece.decode("utf-8", "surrogateescape")

    def value(self, depth: int = _DEPTH) -> object:
        """Return a value that an attribute may have, or may not."""
        kinds: list[Callable[[], object]] = [
            lambda: self.one(vocabulary()),
            self.text,
            lambda: self.one(_ODD),
            lambda: self.number(1 << 62),
            lambda: self.json(depth),
        ]
        if depth:
            kinds += [
                lambda: [self.value(depth - 1) for _ in range(self.number(4))],
                lambda: {self.name(): self.value(depth - 1) for _ in range(self.number(4))},
            ]
        return self.one(kinds)()

    def json(self, depth: int) -> str:
        """Return JSON in a text, cut now and then."""
        import json

        text = json.dumps(self.value(depth - 1) if depth else self.one(vocabulary()), default=repr)
        return text[: self.number(len(text) + 1)] if self.number(8) == 0 else text

    def name(self) -> str:
        """Return the name of an attribute, most often a known one."""
        return self.text() if self.number(16) == 0 else self.one(vocabulary())

    def view(self) -> SpanView:
        """Return a span of any kind, with times and ids of any kind."""
        start = self.number(1 << 62)
        return SpanView(
            trace_id=f"{self.number(4):032x}",
            span_id=f"{self.number(64):016x}",
            parent_id=f"{self.number(64):016x}" if self.number(2) else "",
            name=self.name(),
            start_ns=start,
            end_ns=self.one((start, start + self.number(1 << 40), self.number(1 << 62), 0)),
            status=self.one(tuple(Status)),
            attributes={self.name(): self.value() for _ in range(self.number(12))},
            resource={self.name(): self.value() for _ in range(self.number(3))},
            events=tuple(
                EventView(self.name(), self.number(1 << 62), {self.name(): self.value()}) for _ in range(self.number(3))
            ),
            scope=self.one(scopes()),
        )
