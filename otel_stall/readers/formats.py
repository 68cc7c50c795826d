"""The table of JSON formats: how each is recognised, and its OTLP/JSON requests.

A further format is one more row. The first row that recognises a value reads it, unless one is named.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from otel_stall.otlp import Report, signal_of
from otel_stall.readers.documents import document_requests, is_documents
from otel_stall.readers.fields import Request
from otel_stall.readers.jaeger import is_jaeger, jaeger_requests
from otel_stall.readers.phoenix import accepts_phoenix, is_phoenix, phoenix_requests
from otel_stall.readers.readable import is_dump, request_of
from otel_stall.readers.tempo import accepts_tempo, is_tempo, tempo_requests
from otel_stall.readers.trail import is_trail, trail_requests

__all__ = ["FORMATS", "Format", "named", "requests"]

_DEPTH = 3
"""Lists in lists that are followed."""

_LOOKS = 10
"""Kinds of foreign entries of one list that are reported."""

Recognises = Callable[[object], bool]


@dataclass(frozen=True, slots=True)
class Format:
    """One format: the name by which it is asked for, its name for messages, and how it is read.

    `recognises` tells whether a parsed value is of it; `accepts`, where it says more, whether a value can
    be read so when a person names the format. `requests` never raises on content; what it leaves out it
    reports. `protobuf`: the same also comes as OTLP protobuf.
    """

    name: str
    title: str
    recognises: Recognises
    requests: Callable[[object, Report], Iterator[Request]]
    accepts: Recognises | None = None
    protobuf: bool = False

    def reads(self, value: object, *, asked: bool) -> bool:
        """Return whether this row reads a value, by itself or when it was asked for."""
        return (self.accepts if asked and self.accepts else self.recognises)(value)


def _otlp(value: object, _: Report) -> Iterator[Request]:
    if isinstance(value, dict):
        yield value


def _dump(value: object, _: Report) -> Iterator[Request]:
    if isinstance(value, dict):
        yield request_of(value)


def _has_dumps(value: object) -> bool:
    spans = value.get("spans") if isinstance(value, dict) else None
    return (
        isinstance(spans, list)
        and all(isinstance(span, dict) for span in spans[:1])
        and (not spans or is_dump(spans[0]))
    )


def _dumps(value: object, report: Report) -> Iterator[Request]:
    yield {"resourceSpans": []}  # a dump without spans was recognised all the same
    for span in value["spans"] if isinstance(value, dict) else ():
        if is_dump(span):
            yield request_of(span)
        else:
            report("an entry of `spans` is no dumped span")


FORMATS = (
    Format("tempo", "Tempo JSON", is_tempo, tempo_requests, accepts_tempo, protobuf=True),
    Format("otlp", "OTLP JSON", lambda value: signal_of(value) is not None, _otlp, protobuf=True),
    Format("jaeger", "Jaeger JSON", is_jaeger, jaeger_requests),
    Format("phoenix", "Phoenix spans", is_phoenix, phoenix_requests, accepts_phoenix),
    Format("sdk", "ReadableSpan.to_json()", is_dump, _dump),
    Format("trail", "TRAIL traces", is_trail, trail_requests),
    Format("cloudwatch", "CloudWatch span documents", is_documents, document_requests),
    Format("sdk", "dumped spans under `spans`", _has_dumps, _dumps),
)


def named(name: str) -> tuple[Format, ...]:
    """Return the rows of a name, all of them for ""; raises ValueError where there are none."""
    rows = tuple(row for row in FORMATS if name in ("", row.name))
    if not rows:
        raise ValueError(f"no format is called {name!r}")
    return rows


def requests(value: object, report: Report, name: str = "") -> Iterator[Request]:
    """Yield the OTLP/JSON requests of a parsed JSON value; a list is read entry by entry.

    With a name, only that format is tried, and what is not of it is reported as that.
    """
    rows = named(name)
    foreign: Counter[str] = Counter()
    yield from _requests(value, report, foreign, _Search(rows, bool(name)))
    what = rows[0].title if name else "a trace"
    for looks, count in foreign.items():
        plural = f"{count} entries are not {what}" if name else f"{count} entries are no traces"
        report(f"{f'not {what}' if count == 1 else plural}: {looks}")


@dataclass(frozen=True, slots=True)
class _Search:
    rows: tuple[Format, ...]
    asked: bool
    depth: int = _DEPTH

    def row(self, value: object) -> Format | None:
        return next((row for row in self.rows if row.reads(value, asked=self.asked)), None)


def _requests(value: object, report: Report, foreign: Counter[str], search: _Search) -> Iterator[Request]:
    if row := search.row(value):
        yield from row.requests(value, report)
        return
    if isinstance(value, list) and value and search.depth:
        inner = _Search(search.rows, search.asked, search.depth - 1)
        for item in value:
            yield from _requests(item, report, foreign, inner)
        return
    looks = _described(value)
    if looks in foreign or len(foreign) < _LOOKS:
        foreign[looks] += 1


def _described(value: object) -> str:
    """Return what a foreign value looks like: its format, or its type and names, never its content."""
    if row := next((row for row in FORMATS if row.recognises(value)), None):
        return row.title
    if isinstance(value, dict):
        names = ", ".join(repr(name) if _FIELD.fullmatch(name) else "…" for name in list(value)[:4])
        return f"a JSON object with {names}" if value else "an empty JSON object"
    return "an empty JSON array" if value == [] else f"a JSON {_NAMES.get(type(value), 'value')}"


_FIELD = re.compile(r"[A-Za-z_.]{1,24}")
"""What a field's name looks like; keys that are data, ids and addresses for instance, are not shown."""
_NAMES = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", list: "array"}
