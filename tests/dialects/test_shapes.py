"""What is found once for all spans of a shape is what would be found in each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from otel_stall.dialects.envelopes import unwrap_result
from otel_stall.dialects.readings import KNOWN
from otel_stall.dialects.rules import DIALECTS
from otel_stall.dialects.shapes import Shape
from otel_stall.dialects.sightings import Sighting, Source, first_value, label
from otel_stall.spans import EMPTY, SpanView

_VALUES = st.sampled_from(["", "a", "{}", '{"result": 1}', "tool", 1, True, None])


class Emitted(str):
    """Text of a type of its own, which no shortcut takes."""

    __slots__ = ()


def sources() -> Iterator[Source]:
    """Yield every source of every row."""
    for row in DIALECTS:
        for part in (row, row.tool, row.model):
            for each in fields(part):
                value = getattr(part, each.name)
                if isinstance(value, tuple):
                    yield from (one for one in value if (isinstance(one, str) and one in KNOWN) or callable(one))


_SOURCES = list(
    {id(one): one for one in sources() if isinstance(one, str) or "Sighting" in str(one.__annotations__)}.values()
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(KNOWN)), _VALUES, max_size=8))
def test_what_is_left_out_gives_nothing(attributes: Mapping[str, Any]) -> None:
    """A source that a shape does not ask has no value in any span of that shape."""
    view = SpanView("t", "s", "", "n", 0, 1, attributes=attributes)
    shape = Shape("", frozenset(attributes), [], events=False)
    seen = Sighting(view, attributes, EMPTY)
    asked = shape.telling(_SOURCES)
    for source in _SOURCES:
        if source not in asked:
            assert first_value(seen, [source]) is None


def test_an_attribute_that_is_there_and_an_event_are_asked() -> None:
    """Where there are events, every source that looks at them is asked."""
    shape = Shape("", frozenset({"gen_ai.tool.name"}), [], events=True)

    asked = shape.telling(["gen_ai.tool.name", "input", *filter(callable, _SOURCES)])

    assert asked == ("gen_ai.tool.name", *filter(callable, _SOURCES))


_RESULTS = [
    *(
        "",
        "<not specified>",
        "[redacted]",
        "redacted",
        " Redacted ",
        "[Scrubbed due to 'x']",
        "__redacted__",
        "_x",
        "<a",
    ),
    *(
        "status='success' result='a'",
        "status='error' result=None error='b'",
        '"a"',
        '{"result": "a"}',
        "[1, 2]",
        "ok\n",
    ),
]


@given(st.text() | st.sampled_from(_RESULTS))
def test_plain_text_is_taken_as_it_is(text: str) -> None:
    """A text that no rule applies to is the same result as one that every rule was tried on."""
    assert unwrap_result(text) == unwrap_result(Emitted(text))


@given(st.text() | st.text().map(lambda text: f' "{text}" ') | st.text(min_size=500).map(lambda text: text * 2))
def test_labels_are_the_same_whatever_type_of_text(text: str) -> None:
    """A name is stripped, unquoted and cut alike."""
    assert label(text) == label(Emitted(text))
