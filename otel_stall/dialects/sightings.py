"""`Sighting`: one span together with those of its attributes that any dialect knows, as a plain dictionary.

Every rule is written in terms of a `Source`, so that a row of the table says where a value stands and
nothing else. Sources never raise, whatever the attributes hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from otel_stall.spans import SpanView
from otel_stall.values import unguarded

__all__ = [
    "LABEL_LIMIT",
    "Sighting",
    "Source",
    "first_label",
    "first_value",
    "from_event",
    "is_of_events",
    "label",
    "names_of",
    "number",
    "of_events",
    "plain_text",
    "reads",
    "truth",
]

LABEL_LIMIT: Final = 512
"""Characters kept of a name or an id; longer ones are cut."""

_HUGE: Final = 10**18  # text is read to 18 digits, and sums stay within 64 bits
_DIGITS: Final = re.compile(r"[+-]?[0-9]{1,18}\Z")


@unguarded
@dataclass(frozen=True, slots=True)
class Sighting:
    """A span with its attributes and resource attributes of interest; the values are the span's own."""

    view: SpanView
    known: Mapping[str, object]
    resource: Mapping[str, object]


_Read = TypeVar("_Read", bound=Callable[[Sighting], object])

Source = str | Callable[[Sighting], object]
"""Where a value stands: the name of an attribute, or a function for whatever is not one attribute."""


def names_of(sources: Iterable[Source]) -> frozenset[str]:
    """Return the attribute names among the sources, including those a function says it reads."""
    names: set[str] = set()
    for source in sources:
        if isinstance(source, str):
            names.add(source)
        else:
            names.update(getattr(source, "reads", ()))
    return frozenset(names)


def reads(*names: str) -> Callable[[_Read], _Read]:
    """Return a decorator that says which attributes a function of a sighting looks at."""

    def mark(source: _Read) -> _Read:
        source.reads = names  # type: ignore[attr-defined]  # functions take attributes; typeshed has no way to say it
        return source

    return mark


def of_events(source: _Read) -> _Read:
    """Return a source that gives nothing on a span without events, marked as such."""
    source.of_events = True  # type: ignore[attr-defined]  # functions take attributes; typeshed has no way to say it
    return source


def is_of_events(source: Source) -> bool:
    """Return whether a source gives nothing on a span without events."""
    return getattr(source, "of_events", False) is True


def from_event(event: str, attribute: str) -> Callable[[Sighting], object]:
    """Return a source that reads one attribute of the span's first event of that name."""

    @of_events
    def source(seen: Sighting) -> object:
        for candidate in seen.view.events:
            if candidate.name == event and (value := candidate.attributes.get(attribute)) is not None:
                return value
        return None

    return source


def first_value(seen: Sighting, sources: Sequence[Source]) -> object:
    """Return the first value that is there; None where there is none."""
    for source in sources:
        value = seen.known.get(source) if isinstance(source, str) else source(seen)
        if value is not None:
            return value
    return None


def first_label(seen: Sighting, sources: Sequence[Source], ignored: frozenset[str] = frozenset()) -> str:
    """Return the first source that gives a name or id which is not ignored; "" where none does."""
    for source in sources:
        value = seen.known.get(source) if isinstance(source, str) else source(seen)
        if value is not None and (name := label(value)) and name not in ignored:
            return name
    return ""


def label(value: object) -> str:
    """Return a name or an id as text: stripped, without JSON quotes, cut at `LABEL_LIMIT`; "" for no scalar."""
    if type(value) is str and len(value) <= LABEL_LIMIT:
        return _unquoted(value.strip())
    if value is None or isinstance(value, bool) or not isinstance(value, (str, int, bytes)):
        return ""
    if isinstance(value, int):
        return str(value) if value.bit_length() < 128 else ""
    return _unquoted(plain_text(value)[: LABEL_LIMIT + 2].strip())[:LABEL_LIMIT]


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == '"' == text[-1] else text


def plain_text(value: str | bytes) -> str:
    """Return the text itself, also of a member of a string enumeration or of bytes."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value if type(value) is str else str.__str__(value)


def number(value: object) -> int | None:
    """Return a whole number below 10^18 that may be written as text or as a float; None for anything else."""
    if isinstance(value, bool) or (isinstance(value, (int, float)) and not -_HUGE < value < _HUGE):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str) and _DIGITS.match(value):
        return int(value)
    return None


def truth(value: object) -> bool | None:
    """Return a truth value that may be written as text; None for anything else."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value[:5].lower())
    return None
