"""All formats: one is told or named, bad input changes no verdict, and nothing raises."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exports import (
    RUN,
    base64_ids,
    document,
    encoded,
    jaeger,
    jaeger_trace,
    lines,
    ordered,
    otlp,
    phoenix,
    phoenix_record,
    phoenix_table,
    read,
    stringly,
    tempo,
    tempo_v2,
    trail,
    verdicts,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_stall import cli
from otel_stall.readers import FORMATS, Problems, read_paths

ROOT = Path(__file__).parent.parent

EXPORTS: dict[str, Callable[..., object]] = {
    "otlp": otlp,
    "jaeger": jaeger,
    "jaeger download": lambda views=RUN: [jaeger_trace(views)],
    "tempo": tempo,
    "tempo v2": tempo_v2,
    "phoenix": phoenix,
    "phoenix records": lambda views=RUN: [phoenix_record(view) for view in views],
    "phoenix table": phoenix_table,
    "cloudwatch": lambda views=RUN: [document(view) for view in views],
    "trail": trail,
}

by_export = pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS.keys())


class TestNames:
    def test_the_command_line_knows_every_name(self) -> None:
        """What `--from` offers is what the table can read."""
        assert sorted(cli.FORMATS) == sorted({row.name for row in FORMATS})

    @pytest.mark.parametrize("name", cli.FORMATS)
    @by_export
    def test_a_wrong_name_is_a_problem(self, name: str, export: Callable[[], object]) -> None:
        """Whatever is read as whatever gives spans or says what it is, and never raises."""
        views, problems = read(export(), name)
        assert views or all(problem.split(":")[0].count("not ") == 1 for problem in problems)
        assert views or problems

    def test_the_page_says_how_to_get_each(self) -> None:
        """docs/exports.md has a row for every name."""
        page = (ROOT / "docs/exports.md").read_text(encoding="utf-8")
        assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == list(cli.FORMATS)

    def test_an_unknown_name_is_refused(self) -> None:
        """A program that asks for a format that does not exist made a mistake."""
        with pytest.raises(ValueError, match="no format is called 'xml'"):
            list(read_paths([], problems=Problems(), name="xml"))


class TestBadInput:
    """The same verdicts come of input that writers and networks got wrong."""

    @by_export
    def test_duplicated_batches(self, export: Callable[..., object]) -> None:
        """A batch that was delivered twice counts once."""
        twice = lines([export(), export(RUN[:10]), export()])
        assert verdicts(read(twice)[0]) == verdicts(RUN)

    @by_export
    @pytest.mark.parametrize("late", [3, 8])
    def test_spans_late_by_an_export_interval(self, export: Callable[..., object], late: int) -> None:
        """Spans that come a batch later than those after them, or all in reverse, are put in order."""
        shifted = (*RUN[late:-1], *RUN[:late], RUN[-1])
        assert verdicts(read(export(shifted))[0]) == verdicts(RUN)
        assert verdicts(read(export(RUN[::-1]))[0]) == verdicts(RUN)

    @by_export
    def test_numbers_and_truth_values_as_text(self, export: Callable[..., object]) -> None:
        """Writers that quote every value, times among them, lose nothing."""
        assert verdicts(read(stringly(export()))[0]) == verdicts(RUN)

    def test_ids_in_base64(self) -> None:
        """A generic writer of protobuf as JSON has ids in base64."""
        assert read(base64_ids(otlp())) == (ordered(RUN), [])
        assert read(base64_ids(otlp()), "otlp") == (ordered(RUN), [])

    @by_export
    def test_events_without_a_time(self, export: Callable[..., object]) -> None:
        """An event at 0, or with no time, is of its span all the same."""
        data = encoded(export())
        for event_time in ("1767225604000001000", "1767225617000001000"):
            data = data.replace(f'"timeUnixNano": "{event_time}"'.encode(), b'"timeUnixNano": "0"')
            data = data.replace(f'"timeUnixNano": {event_time}'.encode(), b'"timeUnixNano": 0')
        data = data.replace(b'"timestamp": 1767225604000001', b'"timestamp": 0')
        data = data.replace(b'"timestamp": "2026-01-01T00:00:04.000001+00:00"', b'"timestamp": null')
        assert data != encoded(export())
        assert verdicts(read(data)[0]) == verdicts(RUN)

    @by_export
    def test_the_whole_is_in_one_line_or_in_many(self, export: Callable[..., object]) -> None:
        """Printed over lines or not, the file says the same."""
        assert verdicts(read(json.dumps(export(), indent=2).encode())[0]) == verdicts(RUN)


NAMES = (
    "resourceSpans", "batches", "trace", "labels", "result", "data", "spans", "processes", "traceID", "spanID", "tags",
    "logs", "fields", "references", "refType", "processID", "process", "serviceName", "key", "type", "value",
    "operationName", "startTime", "duration", "timestamp", "context", "context.trace_id", "context.span_id", "trace_id",
    "span_id", "span_kind", "status_code", "start_time", "end_time", "attributes", "attributes.a", "a.b", "metadata",
    "events", "event", "body", "timeUnixNano", "traceId", "spanId", "startTimeUnixNano", "durationNano", "resource",
    "scope", "status", "message", "@message", "field", "results", "rows", "row", "child_spans", "span_name",
    "span_attributes", "name", "next_cursor", "errors", "total", "scopeSpans", "stringValue",
)  # fmt: skip

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["1", "bool", "int64", "CHILD_OF", "@message", '{"traceId": 1}', "{", "PT1S", "2026-01-01"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=30,
)


class TestNothingRaises:
    @settings(deadline=None)
    @given(values, st.sampled_from(("", *cli.FORMATS)))
    def test_any_json_of_the_formats_names(self, value: object, name: str) -> None:
        """JSON that uses the formats' own names in any wrong way raises nothing; only log records may lack a trace."""
        views, _ = read(value, name)
        assert all(view.span_id and (view.trace_id or view.log) for view in views)

    @settings(deadline=None)
    @given(st.data(), st.sampled_from(sorted(EXPORTS)))
    def test_an_export_with_one_value_replaced(self, data: st.DataObject, export: str) -> None:
        """A real export in which any one place holds something else raises nothing."""
        value = json.loads(json.dumps(EXPORTS[export](RUN[3:4] + RUN[-1:])))
        place, key = data.draw(st.sampled_from(_places(value)))
        place[key] = data.draw(values)
        views, _ = read(value)
        assert len(views) <= 40

    @pytest.mark.parametrize("export", EXPORTS)
    def test_attributes_nested_too_deeply(self, export: str) -> None:
        """Values that nest hundreds of levels are left out or told, and end nothing."""
        deep = '{"a": ' * 700 + "1" + "}" * 700
        data = json.dumps(EXPORTS[export]()).replace('"ok"', deep)
        views, problems = read(data.encode())
        assert views or problems


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every place inside a JSON value, as what holds it and the key or index."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in ((value, key), *_places(value[key]))]


REAL = ROOT.parent / "shared" / "data" / "otlp"
REAL_FILES = sorted(
    path.name
    for path in REAL.glob("*.json")
    if "__live-" not in path.name and path.name != "expected.json" and "runtime_logs" not in path.name
)


@pytest.mark.skipif(not REAL_FILES, reason="real exports are not part of the project")
@pytest.mark.parametrize("file", REAL_FILES)
def test_real_exports_are_read(file: str) -> None:
    """Each export that was found in public gives its spans without a problem."""
    problems = Problems()
    views = list(read_paths([REAL / file], problems=problems))
    if file.startswith("langwatch__"):  # written by hand: their ids are words
        assert {problem.error for problem in problems.kept} == {"a span has no valid trace id and span id"}
    else:
        assert views
        assert problems.kept == []
