"""The table of JSON formats: how each is recognised, and its OTLP/JSON requests.

A further format is one more row. The first row that recognises a value reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from otel_stall.otlp import Report, signal_of
from otel_stall.readers.readable import is_dump, request_of

__all__ = ["FORMATS", "Format", "requests"]

_DEPTH = 3
"""Lists in lists that are followed."""

_LOOKS = 10
"""Kinds of foreign entries of one list that are reported."""

Request = dict[str, object]


@dataclass(frozen=True, slots=True)
class Format:
    """One format: its name for messages, whether a parsed value is of it, and the requests it holds.

    `requests` never raises on content; what it leaves out it reports.
    """

    name: str
    recognises: Callable[[object], bool]
    requests: Callable[[object, Report], Iterator[Request]]


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
    Format("OTLP JSON", lambda value: signal_of(value) is not None, _otlp),
    Format("ReadableSpan.to_json()", is_dump, _dump),
    Format("dumped spans under `spans`", _has_dumps, _dumps),
)


def requests(value: object, report: Report) -> Iterator[Request]:
    """Yield the OTLP/JSON requests of a parsed JSON value; a list is read entry by entry."""
    foreign: Counter[str] = Counter()
    yield from _requests(value, report, foreign, _DEPTH)
    for looks, count in foreign.items():
        report(f"not a trace: {looks}" if count == 1 else f"{count} entries are no traces: {looks}")


def _requests(value: object, report: Report, foreign: Counter[str], depth: int) -> Iterator[Request]:
    for row in FORMATS:
        if row.recognises(value):
            yield from row.requests(value, report)
            return
    if isinstance(value, list) and depth:
        for item in value:
            yield from _requests(item, report, foreign, depth - 1)
        return
    looks = _described(value)
    if looks in foreign or len(foreign) < _LOOKS:
        foreign[looks] += 1


def _described(value: object) -> str:
    """Return what a foreign value looks like by its type and names, never by its content."""
    if isinstance(value, dict):
        names = ", ".join(ascii(name[:40]) for name in list(value)[:4])
        return f"a JSON object with {names}" if value else "an empty JSON object"
    return f"a JSON {_NAMES.get(type(value), 'value')}"


_NAMES = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", list: "array"}
