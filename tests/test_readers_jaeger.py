"""Jaeger's JSON gives the spans that were sent to it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from exports import (
    RUN,
    assert_reads_as_the_run,
    iso,
    jaeger,
    jaeger_span,
    jaeger_trace,
    lines,
    otlp,
    read,
)

from otel_stall.spans import SpanView, Status

V3 = {"result": otlp()}

WHOLE = {
    "an answer": jaeger(),
    "an answer over lines": json.dumps(jaeger(), indent=2).encode(),
    "a download of results": [jaeger_trace()],
    "one trace": jaeger_trace(),
    "traces of one span, a line each": lines(jaeger_trace([view]) for view in RUN),
    "API v3": V3,
    "API v3, streamed": lines({"result": otlp([view])} for view in RUN),
}


@pytest.mark.parametrize("data", WHOLE.values(), ids=WHOLE.keys())
@pytest.mark.parametrize("name", ["", "jaeger"])
def test_the_views_are_those_of_the_same_spans_in_otlp(data: object, name: str) -> None:
    """Every form gives the views of the OTLP export, and with them the same verdicts, named or not."""
    assert_reads_as_the_run(data, name)


def trace(**fields: object) -> dict[str, object]:
    return {"traceID": "1", "spans": [{"traceID": "1", "spanID": "2", "operationName": "n", **fields}]}


BARE = SpanView(f"{1:032x}", f"{2:016x}", "", "n", 0, 0, events=[])


class TestTags:
    def test_values_have_the_type_that_the_tag_says(self) -> None:
        """Numbers and truth values may be text, bytes are base64; arrays are text already."""
        tags = [
            {"key": "big", "type": "int64", "value": "9007199254740993"},
            {"key": "share", "type": "float64", "value": "0.5"},
            {"key": "on", "type": "bool", "value": "true"},
            {"key": "raw", "type": "binary", "value": "AAE="},
            {"key": "list", "type": "string", "value": '["a","b"]'},
            {"key": "untyped", "value": 3},
            {"key": 5, "value": "no name"},
        ]
        wanted = {"big": 9007199254740993, "share": 0.5, "on": True, "raw": b"\0\1", "list": '["a","b"]', "untyped": 3}
        assert read(trace(tags=tags)) == ([replace(BARE, attributes=wanted)], [])

    def test_what_jaeger_says_by_tags_are_fields(self) -> None:
        """Kind, status and scope come out of the tags; an `error` that is no truth value stays an attribute."""
        tags = [
            {"key": "span.kind", "type": "string", "value": "server"},
            {"key": "error", "type": "bool", "value": True},
            {"key": "otel.library.name", "type": "string", "value": "old"},
        ]
        wanted = replace(BARE, kind="SERVER", status=Status.ERROR, scope="old")
        assert read(trace(tags=tags)) == ([wanted], [])
        text = [{"key": "error", "type": "string", "value": "boom"}]
        assert read(trace(tags=text)) == ([replace(BARE, attributes={"error": "boom"})], [])

    def test_tags_of_an_index_are_an_object(self) -> None:
        """A span as a search index keeps it, with its process inside, is read by itself."""
        span = {"traceID": "1", "spanID": "2", "operationName": "n", "tags": {"a": 1}, "process": {"serviceName": "s"}}
        wanted = replace(BARE, attributes={"a": 1}, resource={"service.name": "s"})
        assert read(span) == ([wanted], [])


class TestParents:
    def test_only_a_child_has_a_parent(self) -> None:
        """A span that follows from another, or refers to another trace, has none."""
        references = [
            {"refType": "FOLLOWS_FROM", "traceID": "1", "spanID": "7"},
            {"refType": "CHILD_OF", "traceID": "9", "spanID": "8"},
        ]
        assert read(trace(references=references))[0] == [BARE]
        references.append({"refType": "CHILD_OF", "traceID": "1", "spanID": "6"})
        assert read(trace(references=references))[0] == [replace(BARE, parent_id=f"{6:016x}")]


class TestDamage:
    def test_foreign_entries_are_left_out(self) -> None:
        """What is no trace or no span is told, the rest is read."""
        data = {"data": [jaeger_trace(RUN[:1]), 5, {"spans": [None, jaeger_span(RUN[1])], "processes": []}]}
        views, problems = read(data)
        assert [view.span_id for view in views] == [view.span_id for view in RUN[:2]]
        assert problems == ["an entry of `data` is no Jaeger trace", "an entry of `spans` is no Jaeger span"]

    def test_an_answer_without_traces_was_read(self) -> None:
        """An empty answer is an answer; one that holds errors alone is none."""
        assert read({"data": [], "total": 0, "errors": None}) == ([], [])
        failed = {"data": None, "errors": [{"code": 404, "msg": "trace not found"}]}
        assert read(failed) == ([], ["not a trace: a JSON object with 'data', 'errors'"])

    def test_another_format_is_not_read_as_jaeger(self) -> None:
        """A file of another format is told by its name."""
        assert read(otlp(), "jaeger") == ([], ["not Jaeger JSON: OTLP JSON"])
        assert read([{"a": iso(0)}] * 2, "jaeger") == (
            [],
            ["2 entries are not Jaeger JSON: a JSON object with 'a'"],
        )
