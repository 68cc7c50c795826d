"""Files of traces, whole and broken, to span views."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

from otel_stall.otlp import Signal
from otel_stall.readers import Problem, Problems, Source, read_paths
from otel_stall.readers.problems import KEPT
from otel_stall.readers.readable import is_dump
from otel_stall.spans import EventView, SpanView, Status

FIXTURES = Path(__file__).parent / "fixtures" / "readers"
TRACE = "0af7651916cd43dd8448eb211c80319c"


def request(*names: str) -> dict[str, object]:
    spans = [
        {"traceId": TRACE, "spanId": f"{index:016x}", "name": name, "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
        for index, name in enumerate(names, 1)
    ]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}


def line(*names: str) -> bytes:
    return json.dumps(request(*names)).encode() + b"\n"


def message(*names: str) -> bytes:
    data = TracesData()
    scoped = data.resource_spans.add().scope_spans.add()
    for index, name in enumerate(names, 1):
        scoped.spans.add(
            trace_id=bytes.fromhex(TRACE),
            span_id=index.to_bytes(8, "big"),
            name=name,
            start_time_unix_nano=1,
            end_time_unix_nano=2,
        )
    return data.SerializeToString()


def prefixed(*records: bytes) -> bytes:
    return b"".join(len(record).to_bytes(4, "big") + record for record in records)


def dump(name: str, **fields: object) -> dict[str, object]:
    context = {"trace_id": "0x" + TRACE, "span_id": "0x00000000000000aa", "trace_state": "[]"}
    return {"name": name, "context": context, "parent_id": None, "start_time": "2026-01-01T00:00:00Z", **fields}


def read(*paths: Source, stdin: bytes = b"") -> tuple[list[str], Problems]:
    problems = Problems()
    return [view.name for view in read_paths(paths, problems=problems, stdin=io.BytesIO(stdin))], problems


def read_bytes(data: bytes) -> tuple[list[str], list[tuple[int | None, str]]]:
    names, problems = read("-", stdin=data)
    return names, [(problem.line, problem.error) for problem in problems.kept]


WHOLE = {
    "lines": line("a") + line("b"),
    "lines without a last line end": (line("a") + line("b")).rstrip(),
    "lines with blanks between": b"\r\n" + line("a") + b"\n   \n" + line("b"),
    "a byte order mark": b"\xef\xbb\xbf" + line("a", "b"),
    "one request over many lines": json.dumps(request("a", "b"), indent=2).encode(),
    "requests over many lines": json.dumps(request("a"), indent=2).encode()
    + b"\n"
    + json.dumps(request("b"), indent=2).encode(),
    "a list of requests": json.dumps([request("a"), request("b")]).encode(),
    "a list over lines": b"[\n" + line("a").strip() + b",\n" + line("b").strip() + b"\n]\n",
    "a list of one over lines": b"[\n" + line("a", "b") + b"]\n",
    "gzip": gzip.compress(line("a")) + gzip.compress(line("b")),
    "zstandard": zstandard.compress(line("a")) + zstandard.compress(line("b")),
    "one protobuf message": message("a", "b"),
    "protobuf messages joined": message("a") + message("b"),
    "protobuf behind lengths": prefixed(message("a"), message("b")),
    "protobuf behind lengths, each compressed": prefixed(
        zstandard.compress(message("a")), zstandard.compress(message("b"))
    ),
    "JSON behind lengths, each compressed": prefixed(zstandard.compress(line("a")), zstandard.compress(line("b"))),
    "protobuf in gzip": gzip.compress(message("a", "b")),
    "one dumped span a line": b"".join(json.dumps(dump(name)).encode() + b"\n" for name in "ab"),
    "dumped spans as they are printed": b"".join(json.dumps(dump(name), indent=4).encode() + b"\n" for name in "ab"),
    "dumped spans in a list": json.dumps([dump("a"), dump("b")], indent=1).encode(),
    "dumped spans under `spans`": json.dumps({"run": "x", "spans": [dump("a"), dump("b")]}).encode(),
}


class TestFormats:
    @pytest.mark.parametrize("data", WHOLE.values(), ids=WHOLE.keys())
    def test_the_format_is_told_by_the_content(self, data: bytes) -> None:
        """Every form of the same two spans gives them, in order and without a problem."""
        assert read_bytes(data) == (["a", "b"], [])

    def test_names_of_files_do_not_matter(self, tmp_path: Path) -> None:
        """A compressed file is recognised whatever it is called."""
        (tmp_path / "x.json").write_bytes(gzip.compress(line("a")))
        (tmp_path / "x.gz").write_bytes(line("b"))
        assert read(tmp_path / "x.json", tmp_path / "x.gz")[0] == ["a", "b"]

    def test_a_folder_is_read_in_name_order(self, tmp_path: Path) -> None:
        """Files of a folder and its folders come in the order of their names; hidden files do not."""
        (tmp_path / "b").mkdir()
        for name in ("c.json", "a.json", "b/x.json", ".hidden"):
            (tmp_path / name).write_bytes(line(name))
        assert read(tmp_path)[0] == ["a.json", "b/x.json", "c.json"]

    def test_other_signals_are_no_error(self) -> None:
        """Log requests are read and metric requests passed over, in JSON and in protobuf."""
        logs = LogsData()
        logs.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=1)
        lines = b'{"resourceLogs":[]}\n{"resourceMetrics":[]}\n' + line("a")
        names, problems = read("-", stdin=lines)
        assert (names, problems.count, dict(problems.requests)) == (
            ["a"],
            0,
            {Signal.LOGS: 1, Signal.METRICS: 1, Signal.TRACES: 1},
        )
        names, problems = read("-", stdin=prefixed(logs.SerializeToString(), message("a")))
        assert (names, problems.count, dict(problems.requests)) == (["", "a"], 0, {Signal.LOGS: 1, Signal.TRACES: 1})

    def test_a_dump_without_spans_was_read(self) -> None:
        """A trace without spans is a trace: it counts as recognised."""
        assert read("-", stdin=b'{"spans": []}')[1].requests == {Signal.TRACES: 1}


DUMPED = SpanView(
    trace_id=TRACE,
    span_id="00000000000000aa",
    parent_id="00000000000000bb",
    name="n",
    start_ns=1767225600_000001_000,
    end_ns=1767225601_000000_000,
    kind="CLIENT",
    status=Status.ERROR,
    status_description="no",
    attributes={"a": 1, "b": ("x", 2.5, None), "c": {"d": True}},
    events=[EventView("e", 1767225600_500000_000, {"k": "v"})],
    scope="scope",
    resource={"service.name": "agent"},
)


class TestRecordings:
    def test_an_export_of_a_host(self) -> None:
        """What a JavaScript host sent to a collector is read as it stands."""
        names, problems = read(FIXTURES / "host.traces.json")
        assert (names, problems.count) == (["shell", "shell", "read_file", "gpt", "demo-agent"], 0)

    def test_a_recorded_dump(self) -> None:
        """Spans of a Python host under `spans`, with the scope and what was seen at the start beside them."""
        problems = Problems()
        views = list(read_paths([FIXTURES / "dumped.json"], problems=problems))
        assert problems.count == 0
        assert [(view.name, view.scope, view.kind) for view in views] == [
            ("MCP send initialize", "mcp-python-sdk", "CLIENT"),
            ("execute_tool read_file", "host", "INTERNAL"),
            ("MCP send tools/call read_file", "mcp-python-sdk", "CLIENT"),
            ("MCP send tools/list", "mcp-python-sdk", "CLIENT"),
            ("MCP send tools/call boom", "mcp-python-sdk", "CLIENT"),
        ]


class TestDumpedSpans:
    @pytest.mark.parametrize("scope", ["scope", {"name": "scope", "version": "1"}])
    def test_every_field_is_read(self, scope: object) -> None:
        """Ids with 0x, ISO times, status by name, events and resource; extra keys are ignored."""
        value = dump(
            "n",
            kind="SpanKind.CLIENT",
            parent_id="0x00000000000000bb",
            start_time="2026-01-01T00:00:00.000001Z",
            end_time="2026-01-01T01:00:01+01:00",
            status={"status_code": "ERROR", "description": "no"},
            attributes={"a": 1, "b": ["x", 2.5, None], "c": {"d": True}},
            events=[{"name": "e", "timestamp": "2026-01-01T00:00:00.5", "attributes": {"k": "v"}}],
            links=[{"context": {"trace_id": "0x1", "span_id": "0x2"}, "attributes": {}}],
            resource={"attributes": {"service.name": "agent"}, "schema_url": ""},
            _scope=scope,
            _at_start={"baggage": {}},
        )
        problems = Problems()
        stdin = io.BytesIO(json.dumps(value).encode())
        assert (list(read_paths(["-"], problems=problems, stdin=stdin)), problems.count) == ([DUMPED], 0)

    def test_what_the_console_exporter_prints_is_read(self) -> None:
        """The SDK's own output, with other output of the program between, gives the spans."""
        out = io.StringIO()
        provider = TracerProvider(resource=Resource({"service.name": "agent"}), shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=out)))
        tracer = provider.get_tracer("scope")
        with tracer.start_as_current_span("outer"), tracer.start_as_current_span("inner") as inner:
            inner.set_attribute("a", [1, 2])
        printed = "starting up\n" + out.getvalue() + "done\n"
        assert read_bytes(printed.encode()) == (
            ["inner", "outer"],
            [(1, "2 lines here and below are no JSON")],
        )

    def test_wrong_shapes_become_empty_fields(self) -> None:
        """A dump whose fields are of wrong types is read as far as its ids go."""
        odd = dump(
            "n", start_time=[], end_time="x", status=3, attributes=[1], events=[None], resource=7, kind=5, parent_id=[]
        )
        assert is_dump(odd)
        assert read_bytes(json.dumps({"spans": [odd, 5]}).encode()) == (
            ["n"],
            [(1, "an entry of `spans` is no dumped span")],
        )


CUT = b'{"resourceSpans": '

DAMAGED: dict[str, tuple[bytes, list[str], list[tuple[int | None, str]]]] = {
    "empty": (b"", [], [(None, "the file is empty")]),
    "blank": (b" \n\n", [], [(None, "the file is empty")]),
    "a broken line": (
        line("a") + CUT + b"\n" + line("c"),
        ["a", "c"],
        [(2, "broken JSON: Expecting value at column 18")],
    ),
    "a broken first line": (CUT + b"\n" + line("a"), ["a"], [(1, "broken JSON")]),
    "a last line cut off": (line("a") + CUT, ["a"], [(2, "broken JSON: Expecting value at column 18")]),
    "a printed value cut off": (
        b'{\n    "resourceSpans": [\n' + json.dumps(request("a"), indent=4).encode(),
        ["a"],
        [(1, "broken JSON: the value breaks off")],
    ),
    "a printed value cut off at the end": (
        json.dumps(request("a"), indent=4).encode() + b'\n{\n    "resourceSpans": [',
        ["a"],
        [(22, "broken JSON: the value breaks off")],
    ),
    "foreign JSON": (b'{"a": 1, "b": 2}', [], [(1, "not a trace: a JSON object with 'a', 'b'")]),
    "an empty object": (b"{}", [], [(1, "not a trace: an empty JSON object")]),
    "a list of foreign JSON": (
        b"[1, 2, {}]",
        [],
        [(1, "2 entries are no traces: a JSON number"), (1, "not a trace: an empty JSON object")],
    ),
    "text": (b"hello\n", [], [(None, "not a trace: neither JSON nor OTLP protobuf")]),
    "binary": (b"\x89PNG\r\n\x1a\n\x00\x00", [], [(None, "not a trace: neither JSON nor OTLP protobuf")]),
    "deep nesting": (line("a") + b"[" * 100_000 + b"\n", ["a"], [(2, "broken JSON: nested too deeply")]),
    "a gzip file cut off": (
        gzip.compress(line("a") + line("b"), 0)[:-20],
        ["a"],
        [(None, "reading stopped: Compressed file ended before the end-of-stream marker was reached")],
    ),
    "a Zstandard file cut off": (
        zstandard.compress(line("a") * 3, 1)[:-5],
        [],
        [(None, "reading stopped: the Zstandard data ends in the middle of a frame")],
    ),
    "a second Zstandard frame damaged": (
        zstandard.compress(line("a")) + b"garbage",
        ["a"],
        [(None, "reading stopped: damaged Zstandard data: zstd decompressor error: Unknown frame descriptor")],
    ),
    "a message cut off": (prefixed(message("a"), message("b"))[:-3], ["a"], [(None, "message 2 breaks off")]),
    "a length that is none": (
        prefixed(message("a")) + b"\xff\xff\xff\xff\x0a",
        ["a"],
        [(None, "message 2: no valid length, the rest is left out")],
    ),
    "a bare message cut off": (message("a") + message("b")[:-3], ["a"], [(None, "the protobuf message breaks off")]),
    "a bare message with a foreign field": (
        message("a") + b"\x12\x01x",
        ["a"],
        [(None, "not OTLP protobuf from here on, the rest is left out")],
    ),
    "a message that is no request": (
        prefixed(b"\x0a\x02\xff\xff", message("a")),
        ["a"],
        [(None, "not an OTLP protobuf message")],
    ),
    "a compressed message damaged": (
        prefixed(b"\x28\xb5\x2f\xfdxx", message("a")),
        ["a"],
        [(None, "message 1: damaged Zstandard data: error when determining content size")],
    ),
}


class TestDamage:
    @pytest.mark.parametrize(("data", "names", "errors"), DAMAGED.values(), ids=DAMAGED.keys())
    def test_the_good_part_is_used(self, data: bytes, names: list[str], errors: list[tuple[int | None, str]]) -> None:
        """Damage is a problem that says where and why; what can be read is read."""
        assert read_bytes(data) == (names, errors)

    def test_missing_files_are_problems(self, tmp_path: Path) -> None:
        """A path that cannot be opened costs only itself."""
        (tmp_path / "a.json").write_bytes(line("a"))
        (tmp_path / "empty").mkdir()
        names, problems = read(tmp_path / "none", tmp_path / "empty", tmp_path / "a.json")
        assert names == ["a"]
        assert problems.kept == [
            Problem(str(tmp_path / "none"), None, "cannot be read: No such file or directory"),
            Problem(str(tmp_path / "empty"), None, "the folder holds no files"),
        ]

    def test_problems_are_bounded(self) -> None:
        """The first problems are kept, the others counted."""
        _, problems = read("-", stdin=line("a") + b"{\n" * (KEPT + 50))
        assert (len(problems.kept), problems.dropped, problems.count) == (KEPT, 50, KEPT + 50)

    def test_surrogates_nan_and_bytes_that_are_no_text_are_input(self) -> None:
        """Lone surrogates, NaN and invalid UTF-8 are read, not refused."""
        data = (
            line("a").replace(b'"a"', b'"\\ud800"')
            + line("b").replace(b'"1"', b"NaN")
            + line("c").replace(b'"c"', b'"\xff"')
        )
        assert read_bytes(data) == (["\ud800", "b", "\N{REPLACEMENT CHARACTER}"], [])


SHAPES = (
    "resource", "attributes", "scopeSpans", "scope", "spans", "traceId", "spanId", "name", "kind", "status", "code",
    "events", "key", "value", "intValue", "doubleValue", "arrayValue", "kvlistValue", "values", "bytesValue",
    "startTimeUnixNano", "endTimeUnixNano", "timeUnixNano", "context", "trace_id", "span_id", "start_time",
)  # fmt: skip


class TestNothingRaises:
    @given(st.binary(max_size=200))
    def test_any_bytes(self, data: bytes) -> None:
        """Whatever a file holds, reading ends with spans and problems."""
        names, errors = read_bytes(data)
        assert names == []
        assert errors

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(SHAPES), inner, max_size=5),
            max_leaves=25,
        )
    )
    def test_any_json_of_our_names(self, value: object) -> None:
        """JSON that uses the formats' own names in any wrong way raises nothing."""
        problems = Problems()
        stdin = io.BytesIO(
            json.dumps({"resourceSpans": value}).encode() + b"\n" + json.dumps({"spans": value}).encode()
        )
        views = list(read_paths(["-"], problems=problems, stdin=stdin))
        assert all(view.trace_id and view.span_id for view in views)

    @given(
        st.lists(
            st.sampled_from([line("a"), b"{}\n", b"[\n", b"]\n", b"{\n", b"}\n", CUT, b"\n", b"\xff\n", b'"x": {\n']),
            max_size=12,
        )
    )
    def test_any_order_of_lines(self, lines: Iterable[bytes]) -> None:
        """Broken, foreign and good lines in any order raise nothing."""
        names, _ = read_bytes(b"".join(lines))
        assert set(names) <= {"a"}


class TestLongInput:
    def test_lines_are_read_one_by_one(self) -> None:
        """A span comes out before the line after it was read."""
        stream = io.BytesIO(line("a") * 50_000)
        views = read_paths(["-"], problems=Problems(), stdin=stream)
        assert next(views).name == "a"
        assert stream.tell() < 4 << 20
