"""Span documents of CloudWatch give the spans that ADOT sent to it, in whatever they are wrapped."""

from __future__ import annotations

import json
from dataclasses import replace
from io import BytesIO

import pytest
from exports import RUN, assert_reads_as_the_run, document, lines, otlp, otlp_span, read

from otel_stall.otlp import Signal
from otel_stall.readers import Problems, read_paths
from otel_stall.spans import Status

DOCUMENTS = [document(view) for view in RUN]
TEXTS = [json.dumps(held) for held in DOCUMENTS]

WHOLE = {
    "a document a line": lines(DOCUMENTS),
    "documents in a list": DOCUMENTS,
    "documents under `spans`": {"session_id": "s", "span_count": len(RUN), "spans": DOCUMENTS},
    "log events": {"events": [{"timestamp": 1, "message": text} for text in TEXTS], "searchedLogStreams": []},
    "rows of a query": {"results": [[{"field": "@message", "value": text}] for text in TEXTS], "status": "Complete"},
    "an export of a query": [{"@timestamp": "2026-01-01 00:00:00.000", "@message": text} for text in TEXTS],
    "parsed messages": [{"timestamp": "2026-01-01 00:00:00.000", "raw_otel_json": held} for held in DOCUMENTS],
}


@pytest.mark.parametrize("data", WHOLE.values(), ids=WHOLE.keys())
@pytest.mark.parametrize("name", ["", "cloudwatch"])
def test_the_views_are_those_of_the_same_spans_in_otlp(data: object, name: str) -> None:
    """Every form gives the views of the OTLP export, and with them the same verdicts, named or not."""
    assert_reads_as_the_run(data, name)


def test_fields_may_have_other_names() -> None:
    """Spans that a program wrote down for itself: names in snake case, events as `span_events`."""
    span = {
        "trace_id": "1",
        "span_id": "2",
        "parent_span_id": None,
        "name": "n",
        "kind": 3,
        "start_time": 1767225600_000_000_000,
        "durationNano": 5,
        "attributes": {"a": 1, "b": ["x"]},
        "span_events": [{"event_name": "e", "timestamp": 1767225600_000_000_001, "attributes": {"k": True}}],
        "scope": {"name": "s"},
        "status": {"code": "ERROR", "message": "no"},
    }
    (view,), problems = read([span])
    assert problems == []
    assert (view.start_ns, view.end_ns - view.start_ns, view.kind, view.scope) == (1767225600 * 10**9, 5, "CLIENT", "s")
    assert (view.status, view.status_description, view.parent_id) == (Status.ERROR, "no", "")
    assert (view.attributes, [(e.name, e.attributes) for e in view.events]) == (
        {"a": 1, "b": ("x",)},
        [("e", {"k": True})],
    )


def test_a_bare_otlp_span_is_read() -> None:
    """A span without the request around it has neither resource nor scope."""
    assert read(otlp_span(RUN[0])) == ([replace(RUN[0], resource={}, scope="")], [])


def test_ids_that_are_none_are_told_apart() -> None:
    """Any text serves as an id: the same text is the same id, so that parents are found."""
    spans = [
        {"traceId": "run-1", "spanId": "root", "name": "a", "startTimeUnixNano": 1},
        {"traceId": "run-1", "spanId": "leaf", "parentSpanId": "root", "name": "b", "startTimeUnixNano": 2},
        {"traceId": "", "spanId": "leaf", "name": "c", "startTimeUnixNano": 3},
    ]
    views, problems = read(spans)
    by_name = {view.name: view for view in views}
    assert by_name["b"].parent_id == by_name["a"].span_id != ""
    assert by_name["b"].trace_id == by_name["a"].trace_id
    assert (sorted(by_name), problems) == (["a", "b"], ["a span has no valid trace id and span id"])


def counted(data: object, name: str = "") -> tuple[dict[Signal, int], list[str]]:
    problems = Problems()
    stdin = BytesIO(json.dumps(data).encode())
    assert list(read_paths(["-"], problems=problems, stdin=stdin, name=name))
    return dict(problems.requests), [problem.error for problem in problems.kept]


def test_log_records_beside_the_spans_are_logs() -> None:
    """A record of the runtime's log group is recognised; other messages are counted."""
    record = {
        "resource": {"attributes": {"service.name": "agent"}},
        "scope": {"name": "s"},
        "timeUnixNano": 5,
        "body": {"output": {"messages": []}},
        "attributes": {"event.name": "s"},
        "traceId": "1",
        "spanId": "2",
    }
    messages = [json.dumps(record), "INFO started", '{"level": "INFO"}', json.dumps(DOCUMENTS[0])]
    data = {"events": [{"message": message} for message in messages]}
    foreign = "2 log events are no span and no log record of OpenTelemetry"
    assert counted(data) == ({Signal.LOGS: 1, Signal.TRACES: 1}, [foreign])


def test_another_format_is_not_read_as_cloudwatch() -> None:
    """A file of another format is told by its name."""
    assert read(otlp(), "cloudwatch") == ([], ["not CloudWatch span documents: OTLP JSON"])
