"""Phoenix's spans, from its API and its dataframe, give what it kept of the spans that were sent to it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from exports import (
    RUN,
    lines,
    nested,
    ordered,
    otlp_span,
    phoenix,
    phoenix_record,
    phoenix_span,
    phoenix_table,
    read,
    verdicts,
)

from otel_stall.spans import SpanView

NESTED = [{**phoenix_span(view), "attributes": nested(view.attributes)} for view in RUN]
RECORDS = [phoenix_record(view) for view in RUN]
ONE_COLUMN = [
    {
        **{key: value for key, value in record.items() if not key.startswith("attributes.")},
        "attributes": span["attributes"],
    }
    for record, span in zip(RECORDS, NESTED, strict=True)
]

WHOLE = {
    "an answer": phoenix(),
    "a list of spans": [phoenix_span(view) for view in RUN],
    "a span a line": lines(map(phoenix_span, RUN)),
    "nested attributes": NESTED,
    "records, a line each": lines(RECORDS),
    "records in a list": RECORDS,
    "records with one column of attributes": ONE_COLUMN,
    "a dataframe by columns": phoenix_table(),
    "spans in OTLP's fields": {"data": [otlp_span(view) for view in RUN], "next_cursor": None},
}


@pytest.mark.parametrize("data", WHOLE.values(), ids=WHOLE.keys())
@pytest.mark.parametrize("name", ["", "phoenix"])
def test_the_views_are_those_of_the_same_spans_in_otlp(data: object, name: str) -> None:
    """Every form gives the views of the OTLP export but for resource, scope and kind, which Phoenix drops."""
    views, problems = read(data, name)
    kept = [replace(view, resource={}, scope="", kind="INTERNAL") for view in ordered(RUN)]
    assert [replace(view, kind="INTERNAL") for view in views] == kept
    assert problems == []
    assert verdicts(views) == verdicts(RUN)


ATTRIBUTES = {
    "openinference.span.kind": "TOOL",
    "tool.name": "search",
    "tool.parameters": {"query": {"text": "x"}},
    "input.value": '{"query": "x"}',
    "llm.input_messages.0.message.role": "user",
    "llm.input_messages.0.message.content": "find x",
    "llm.input_messages.1.message.role": "assistant",
    "tags": ["a", "b"],
    "metadata": {"thread_id": "t"},
}
MESSAGES = [{"message": {"role": "user", "content": "find x"}}, {"message": {"role": "assistant"}}]
TREE = {
    "openinference": {"span": {"kind": "TOOL"}},
    "tool": {"name": "search", "parameters": {"query": {"text": "x"}}},
    "input": {"value": '{"query": "x"}'},
    "llm": {"input_messages": MESSAGES, "model_name": None},
    "tags": ["a", "b"],
    "metadata": {"thread_id": "t"},
}
COLUMNS = {
    "attributes.tool.name": "search",
    "attributes.tool.parameters": {"query": {"text": "x"}},
    "attributes.input.value": '{"query": "x"}',
    "attributes.llm.input_messages": [
        {"message.role": "user", "message.content": "find x"},
        {"message.role": "assistant"},
    ],
    "attributes.tags": ["a", "b"],
    "attributes.metadata": {"thread_id": "t"},
}
SPAN = {"context": {"trace_id": "1", "span_id": "2"}, "span_kind": "TOOL", "name": "n"}
RECORD = {"context.trace_id": "1", "context.span_id": "2", "span_kind": "TOOL", "name": "n"}
READ = SpanView(f"{1:032x}", f"{2:016x}", "", "n", 0, 0, attributes=ATTRIBUTES, events=[])


def as_read(view: SpanView) -> SpanView:
    """Return the view with lists where OTLP gives tuples."""
    return replace(view, attributes=json.loads(json.dumps(view.attributes)))


class TestAttributes:
    @pytest.mark.parametrize(
        "span", [{**SPAN, "attributes": TREE}, {**RECORD, **COLUMNS}, {**SPAN, "attributes": ATTRIBUTES}]
    )
    def test_names_are_those_that_the_emitter_wrote(self, span: object) -> None:
        """Objects, and lists of objects, are joined to dotted names; objects that were one value stay whole."""
        (view,), problems = read(span)
        assert (as_read(view), problems) == (READ, [])

    def test_an_object_that_was_taken_apart_is_put_together(self) -> None:
        """`tool.parameters.query` is a part of the arguments, no attribute."""
        (view,), _ = read({**SPAN, "attributes": {"tool.parameters.query": "x", "tool.parameters.limit": 5}})
        assert view.attributes["tool.parameters"] == {"query": "x", "limit": 5}
        assert "tool.parameters.query" not in view.attributes


class TestTimes:
    @pytest.mark.parametrize(
        "time",
        ["2026-01-01T00:00:00.5+00:00", "2026-01-01 01:00:00.500+01:00", 1767225600500, 1767225600.5, 1767225600500000],
    )
    def test_times_are_iso_or_what_pandas_makes_of_them(self, time: object) -> None:
        """A dataframe's times are written as text, or as a number of s, ms, µs or ns."""
        (view,), _ = read({**RECORD, "start_time": time, "end_time": time})
        assert (view.start_ns, view.end_ns) == (1767225600_500_000_000, 1767225600_500_000_000)


class TestDamage:
    def test_foreign_entries_are_left_out(self) -> None:
        """What is no span is told, the rest is read."""
        views, problems = read({"data": [SPAN, 3]})
        assert ([view.name for view in views], problems) == (["n"], ["an entry of `data` is no Phoenix span"])

    def test_an_answer_without_spans_was_read(self) -> None:
        """An empty page is an answer."""
        assert read({"data": [], "next_cursor": None}) == ([], [])

    def test_a_record_without_a_span_id_is_told(self) -> None:
        """A dataframe that lost its index has no span ids."""
        assert read({"context.trace_id": "1", "name": "n"}) == ([], ["a span has no valid trace id and span id"])

    def test_another_format_is_not_read_as_phoenix(self) -> None:
        """A file of another format is told by its name."""
        assert read({"trace_id": "1", "spans": []}, "phoenix") == ([], ["not Phoenix spans: TRAIL traces"])
