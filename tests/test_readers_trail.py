"""Span trees in the layout of the TRAIL benchmark give the spans in them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from exports import RUN, TRACE, assert_reads_as_the_run, iso, lines, otlp, read, trail, trail_span

from otel_stall.readers.times import duration_ns
from otel_stall.spans import EventView, SpanView

ROW = {"trace": json.dumps(trail()), "labels": json.dumps({"errors": [], "scores": []})}
FLAT = {"trace_id": TRACE, "spans": [trail_span(view) for view in RUN]}

WHOLE = {
    "a tree": trail(),
    "a tree over lines": json.dumps(trail(), indent=4).encode(),
    "a trace that is no tree": FLAT,
    "a row of the table": ROW,
    "rows, a line each": lines([ROW]),
    "rows as the table's server gives them": {"rows": [{"row_idx": 0, "row": ROW}]},
}


@pytest.mark.parametrize("data", WHOLE.values(), ids=WHOLE.keys())
@pytest.mark.parametrize("name", ["", "trail"])
def test_the_views_are_those_of_the_same_spans_in_otlp(data: object, name: str) -> None:
    """Every form gives the views of the OTLP export, and with them the same verdicts, named or not."""
    assert_reads_as_the_run(data, name)


def test_the_tree_says_what_a_span_does_not() -> None:
    """Trace and parent come from where a span stands; events may have the capitals of the database."""
    leaf = {
        "span_id": "3",
        "span_name": "b",
        "events": [{"Name": "e", "Timestamp": iso(5_000), "Attributes": {"k": 1}}],
    }
    tree = {"trace_id": "1", "spans": [{"span_id": "2", "span_name": "a", "child_spans": [leaf, 5]}]}
    views, problems = read(tree)
    root = SpanView(f"{1:032x}", f"{2:016x}", "", "a", 0, 0, events=[])
    below = replace(
        root, span_id=f"{3:016x}", parent_id=root.span_id, name="b", events=[EventView("e", 5_000, {"k": 1})]
    )
    assert views == [root, below]
    assert problems == ["an entry of `spans` or `child_spans` is no span of the TRAIL layout"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("PT0.42S", 0.42), ("PT1M24.5S", 84.5), ("PT2H", 7_200), ("P1DT1S", 86_401), ("PT", 0), ("soon", 0), (None, 0)],
)
def test_durations_are_iso(text: object, seconds: float) -> None:
    """A duration counts from days to microseconds; what is none is 0."""
    assert duration_ns(text) == round(seconds * 1_000_000_000)


def test_a_tree_may_be_deep() -> None:
    """Children are followed as deep as JSON goes."""
    span: dict[str, object] = {"span_id": "400", "span_name": "x"}
    for number in range(399, 0, -1):
        span = {"span_id": str(number), "span_name": "x", "child_spans": [span]}
    views, problems = read({"trace_id": "1", "spans": [span]})
    assert (len(views), problems) == (400, [])


class TestDamage:
    def test_a_row_whose_trace_is_broken_is_told(self) -> None:
        """A column that holds no trace costs only its row."""
        rows = [{**ROW, "trace": '{"trace_id": '}, {**ROW, "trace": '{"a": 1}'}, ROW]
        views, problems = read(rows)
        assert len(views) == len(RUN)
        assert problems == [
            "the column `trace` of a row is broken JSON",
            "the column `trace` of a row is no trace of the TRAIL layout",
        ]

    def test_labels_are_no_trace(self) -> None:
        """The benchmark's annotations are told, not read."""
        assert read({"errors": [], "scores": []}) == ([], ["not a trace: a JSON object with 'errors', 'scores'"])

    def test_another_format_is_not_read_as_trail(self) -> None:
        """A file of another format is told by its name."""
        assert read(otlp(), "trail") == ([], ["not TRAIL traces: OTLP JSON"])
