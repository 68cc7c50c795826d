"""OTLP requests to views, in JSON and protobuf, and annotation of spans."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from otel_stall.errors import DecodeError
from otel_stall.otlp import Addition, Signal, annotate_span, hex_id, protobuf, python_value, signal_of, views
from otel_stall.otlp.values import MAX_DEPTH, any_value, key_values, number
from otel_stall.spans import EventView, SpanView, Status

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
PARENT = "00f067aa0ba902b7"


def span(**fields: object) -> dict[str, object]:
    return {"traceId": TRACE, "spanId": SPAN, "name": "n", **fields}


def request(*spans: object) -> dict[str, object]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def read(value: dict[str, object]) -> tuple[list[SpanView], list[str]]:
    reports: list[str] = []
    return list(views(value, reports.append)), reports


FULL: dict[str, Any] = {
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "agent"}}]},
            "scopeSpans": [
                {
                    "scope": {"name": "scope", "version": "1"},
                    "spans": [
                        {
                            "traceId": TRACE,
                            "spanId": SPAN,
                            "parentSpanId": PARENT,
                            "traceState": "a=b",
                            "flags": 257,
                            "name": "execute_tool grep",
                            "kind": 3,
                            "startTimeUnixNano": "1790000000000000001",
                            "endTimeUnixNano": "1790000000000000009",
                            "attributes": [
                                {"key": "s", "value": {"stringValue": "ü"}},
                                {"key": "b", "value": {"boolValue": True}},
                                {"key": "i", "value": {"intValue": "-7"}},
                                {"key": "d", "value": {"doubleValue": 1.5}},
                                {"key": "e", "value": {}},
                                {"key": "y", "value": {"bytesValue": "AAE="}},
                                {"key": "a", "value": {"arrayValue": {"values": [{"intValue": "1"}, {}]}}},
                                {
                                    "key": "m",
                                    "value": {"kvlistValue": {"values": [{"key": "k", "value": {"stringValue": "v"}}]}},
                                },
                            ],
                            "droppedAttributesCount": 2,
                            "events": [{"timeUnixNano": "5", "name": "e", "attributes": []}],
                            "links": [{"traceId": TRACE, "spanId": PARENT, "flags": 1}],
                            "status": {"message": "no", "code": 2},
                        }
                    ],
                    "schemaUrl": "u",
                }
            ],
        }
    ]
}

VIEW = SpanView(
    trace_id=TRACE,
    span_id=SPAN,
    parent_id=PARENT,
    name="execute_tool grep",
    start_ns=1790000000000000001,
    end_ns=1790000000000000009,
    kind="CLIENT",
    status=Status.ERROR,
    status_description="no",
    attributes={
        "s": "ü",
        "b": True,
        "i": -7,
        "d": 1.5,
        "e": None,
        "y": b"\x00\x01",
        "a": (1, None),
        "m": {"k": "v"},
    },
    events=[EventView("e", 5, {})],
    scope="scope",
    resource={"service.name": "agent"},
)


class TestJson:
    def test_every_field_of_a_span_is_read(self) -> None:
        """The view holds what the request says, with values as Python values."""
        assert read(FULL) == ([VIEW], [])

    def test_names_of_the_protobuf_fields_are_read_too(self) -> None:
        """Writers that keep snake_case names and enumeration names are understood."""
        snake: dict[str, object] = {
            "resource_spans": [
                {
                    "scope_spans": [
                        {
                            "scope": {"name": "scope"},
                            "spans": [
                                {
                                    "trace_id": TRACE.upper(),
                                    "span_id": "0x" + SPAN,
                                    "parent_span_id": base64.b64encode(bytes.fromhex(PARENT)).decode(),
                                    "name": "n",
                                    "kind": "SPAN_KIND_CLIENT",
                                    "start_time_unix_nano": 5,
                                    "status": {"code": "STATUS_CODE_ERROR"},
                                }
                            ],
                        }
                    ]
                }
            ]
        }
        expected = SpanView(
            TRACE, SPAN, PARENT, "n", 5, 5, "CLIENT", Status.ERROR, scope="scope", attributes={}, resource={}
        )
        assert read(snake) == ([SpanView(**_fields(expected, events=[]))], [])

    def test_wrong_shapes_cost_only_themselves(self) -> None:
        """What is no span is reported and left out; the spans beside it are read."""
        odd: dict[str, object] = {
            "resourceSpans": [
                None,
                7,
                {"resource": None, "scopeSpans": None},
                {"resource": [], "scopeSpans": "x"},
                {
                    "scopeSpans": [
                        {"scope": [], "spans": [None, "x", {"name": "no ids"}, span(attributes=3, events=[1])]}
                    ]
                },
            ]
        }
        seen, reports = read(odd)
        assert [view.name for view in seen] == ["n"]
        assert reports == [
            "resourceSpans holds what is no object",
            "scopeSpans is no array",
            "spans holds what is no object",
            "a span has no valid trace id and span id",
        ]

    def test_a_missing_end_is_the_start(self) -> None:
        """A span without an end sorts where it began."""
        seen, _ = read(request(span(startTimeUnixNano="9", endTimeUnixNano="0")))
        assert (seen[0].start_ns, seen[0].end_ns) == (9, 9)

    @pytest.mark.parametrize(
        ("value", "signal"),
        [
            ({"resourceSpans": []}, Signal.TRACES),
            ({"resourceLogs": None}, Signal.LOGS),
            ({"resourceMetrics": []}, Signal.METRICS),
            ({"data": []}, None),
            ([], None),
        ],
    )
    def test_signal_is_told_by_the_outer_name(self, value: object, signal: Signal | None) -> None:
        """A request says by its one field which signal it carries."""
        assert signal_of(value) is signal


def _fields(view: SpanView, **changed: object) -> dict[str, Any]:
    return {name: getattr(view, name) for name in SpanView.__slots__} | changed


class TestIds:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (TRACE, TRACE),
            (TRACE.upper(), TRACE),
            ("0x" + TRACE, TRACE),
            (base64.b64encode(bytes.fromhex(TRACE)).decode(), TRACE),
            (base64.b64encode(bytes.fromhex(TRACE)).decode().rstrip("="), TRACE),
            ("0af76519-16cd-43dd-8448-eb211c80319c", TRACE),
            ("1", "0" * 31 + "1"),
            (int(TRACE, 16), TRACE),
            ("0" * 32, ""),
            ("", ""),
            (None, ""),
            ("not an id", ""),
            (True, ""),
            (-1, ""),
        ],
    )
    def test_ids_of_all_writers_become_lower_case_hex(self, value: object, expected: str) -> None:
        """Hex of either case, with a prefix or dashes, base64 and numbers are read; the rest is no id."""
        assert hex_id(value, 16) == expected


class TestValues:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ({"intValue": 3}, 3),
            ({"intValue": "x"}, None),
            ({"boolValue": "true"}, True),
            ({"boolValue": "false"}, False),
            ({"doubleValue": "Infinity"}, float("inf")),
            ({"doubleValue": "x"}, None),
            ({"stringValue": 5}, "5"),
            ({"stringValue": None}, None),
            ({"bytesValue": "%"}, b""),
            ({"bytesValue": 5}, None),
            ({"arrayValue": {}}, ()),
            ({"arrayValue": None}, ()),
            ({"kvlistValue": {"values": [None, {"value": {}}]}}, {}),
            ({"unknownValue": 1}, None),
            ({}, None),
            (None, None),
            ("bare", "bare"),
        ],
    )
    def test_odd_values(self, value: object, expected: object) -> None:
        """Values of a wrong type are converted where their meaning is clear, and are None elsewhere."""
        assert python_value(value) == expected

    def test_nesting_is_bounded(self) -> None:
        """What lies deeper than the limit is None, however deep it goes."""
        value: dict[str, object] = {"stringValue": "deep"}
        for _ in range(MAX_DEPTH + 10):
            value = {"arrayValue": {"values": [value]}}
        found = python_value(value)
        depth = 0
        while isinstance(found, tuple):
            found, depth = found[0], depth + 1
        assert (found, depth) == (None, MAX_DEPTH + 1)

    @pytest.mark.parametrize("value", ["12", 12, 12.7])
    def test_numbers_may_be_written_in_three_ways(self, value: object) -> None:
        """64-bit integers come as strings, numbers or floats."""
        assert number(value) == 12

    @given(
        st.recursive(
            st.none() | st.booleans() | st.text() | st.binary() | st.integers(-(2**63), 2**63 - 1),
            lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(st.text(), inner, max_size=3),
            max_leaves=8,
        )
    )
    def test_what_is_written_is_read_back(self, value: object) -> None:
        """An AnyValue of a Python value stands for that value, also after JSON."""
        assert python_value(json.loads(json.dumps(any_value(value)))) == value


SCALARS = (
    st.booleans()
    | st.text(st.characters(codec="utf-8"))
    | st.integers(-(2**63), 2**63 - 1)
    | st.binary()
    | st.floats(allow_nan=False)
)


def _proto_value(value: object) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case str():
            return AnyValue(string_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case bytes():
            return AnyValue(bytes_value=value)
        case tuple():
            out = AnyValue()
            out.array_value.values.extend(_proto_value(item) for item in value)
            if not value:
                out.array_value.SetInParent()
            return out
        case dict():
            out = AnyValue()
            out.kvlist_value.values.extend(KeyValue(key=k, value=_proto_value(v)) for k, v in value.items())
            if not value:
                out.kvlist_value.SetInParent()
            return out
    return AnyValue()


VALUES = st.recursive(
    st.none() | SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = st.text(st.characters(codec="utf-8"), max_size=8)
NANOS = st.integers(0, 2**63 - 1)


@st.composite
def messages(draw: st.DrawFn) -> TracesData:
    data = TracesData()
    for _ in range(draw(st.integers(0, 2))):
        group = data.resource_spans.add(schema_url=draw(NAMES))
        group.resource.attributes.extend(_pairs(draw(st.dictionaries(NAMES, VALUES, max_size=2))))
        scoped = group.scope_spans.add()
        scoped.scope.name = draw(NAMES)
        for _ in range(draw(st.integers(0, 3))):
            one = Span(
                trace_id=draw(st.sampled_from([b"", bytes(16), bytes(range(16))])),
                span_id=draw(st.sampled_from([b"", bytes(8), bytes(range(8))])),
                parent_span_id=draw(st.sampled_from([b"", bytes(8), bytes(range(1, 9))])),
                name=draw(NAMES),
                kind=draw(st.sampled_from(Span.SpanKind.values())),
                start_time_unix_nano=draw(NANOS),
                end_time_unix_nano=draw(NANOS),
                attributes=_pairs(draw(st.dictionaries(NAMES, VALUES, max_size=3))),
            )
            one.status.code = draw(st.sampled_from([0, 1, 2]))  # type: ignore[assignment]  # numbers of the enumeration
            one.status.message = draw(NAMES)
            one.events.add(
                name=draw(NAMES),
                time_unix_nano=draw(NANOS),
                attributes=_pairs(draw(st.dictionaries(NAMES, VALUES, max_size=1))),
            )
            scoped.spans.append(one)
    return data


def _pairs(attributes: dict[str, object]) -> list[KeyValue]:
    return [KeyValue(key=key, value=_proto_value(value)) for key, value in attributes.items()]


class TestProtobuf:
    @settings(max_examples=150)
    @given(messages())
    def test_both_encodings_give_equal_views(self, message: TracesData) -> None:
        """A request means the same in protobuf and in JSON, and what is left out is reported alike."""
        reports: list[str] = []
        direct = list(protobuf.views(message, reports.append))
        assert (direct, reports) == read(json.loads(json.dumps(protobuf.to_json(message))))

    def test_every_field_is_written_in_json(self) -> None:
        """Fields that no view has, such as flags, links and dropped counts, are kept."""
        (full,) = FULL["resourceSpans"][0]["scopeSpans"][0]["spans"]
        message = TracesData()
        group = message.resource_spans.add()
        group.resource.attributes.extend(_pairs({"service.name": "agent"}))
        scoped = group.scope_spans.add(schema_url="u")
        scoped.scope.name, scoped.scope.version = "scope", "1"
        one = scoped.spans.add(
            trace_id=bytes.fromhex(TRACE),
            span_id=bytes.fromhex(SPAN),
            parent_span_id=bytes.fromhex(PARENT),
            trace_state="a=b",
            flags=257,
            name="execute_tool grep",
            kind=Span.SPAN_KIND_CLIENT,
            start_time_unix_nano=1790000000000000001,
            end_time_unix_nano=1790000000000000009,
            attributes=_pairs(dict(VIEW.attributes)),
            dropped_attributes_count=2,
        )
        one.events.add(name="e", time_unix_nano=5)
        one.links.add(trace_id=bytes.fromhex(TRACE), span_id=bytes.fromhex(PARENT), flags=1)
        one.status.message, one.status.code = "no", 2  # type: ignore[assignment]  # the number of the enumeration
        expected = copy.deepcopy(FULL)
        expected["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["events"] = [{"timeUnixNano": "5", "name": "e"}]
        assert full["name"] == "execute_tool grep"
        assert protobuf.to_json(message) == expected

    def test_logs_and_metrics_are_told_apart(self) -> None:
        """All three signals have their resources in field 1; what is inside decides."""
        logs = LogsData()
        logs.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=5)
        metrics = MetricsData()
        metric = metrics.resource_metrics.add().scope_metrics.add().metrics.add(name="calls")
        metric.sum.data_points.add(as_int=1)
        traces = TracesData()
        traces.resource_spans.add().scope_spans.add().spans.add(trace_id=bytes(range(16)), span_id=bytes(range(8)))
        found = [protobuf.decode(message.SerializeToString())[0] for message in (logs, metrics, traces, TracesData())]
        assert found == [Signal.LOGS, Signal.METRICS, Signal.TRACES, Signal.TRACES]

    def test_spans_without_ids_are_no_logs(self) -> None:
        """A trace request with broken ids stays one, so that they can be reported."""
        message = TracesData()
        message.resource_spans.add().scope_spans.add().spans.add(name="n")
        assert protobuf.decode(message.SerializeToString()) == (Signal.TRACES, message)

    def test_other_bytes_are_refused(self) -> None:
        """Bytes that are no such message raise DecodeError."""
        with pytest.raises(DecodeError):
            protobuf.decode(b"\x0a\x05\xff\xff\xff\xff\xff")


class TestAnnotation:
    def test_attributes_are_replaced_and_the_rest_stays(self) -> None:
        """Names that are written or stale go; foreign attributes, events and unknown fields stay."""
        one = span(
            attributes=[
                {"key": "gen_ai.tool.name", "value": {"stringValue": "grep"}, "keyRef": 3},
                {"key": "stall.step", "value": {"intValue": "1"}},
                {"key": "stall.kind", "value": {"stringValue": "loop"}},
            ],
            events=[{"name": "stall.started", "timeUnixNano": "1"}, {"name": "exception"}],
            futureField={"x": 1},
        )
        addition = Addition(
            {"stall.step": 2, "stall.evidence": ["a"]},
            (EventView("stall.ended", 9, {"stall.step": 2}),),
            frozenset({"stall.kind", "stall.started"}),
        )
        annotate_span(one, addition)
        assert one == span(
            attributes=[
                {"key": "gen_ai.tool.name", "value": {"stringValue": "grep"}, "keyRef": 3},
                {"key": "stall.step", "value": {"intValue": "2"}},
                {"key": "stall.evidence", "value": {"arrayValue": {"values": [{"stringValue": "a"}]}}},
            ],
            events=[
                {"name": "exception"},
                {"timeUnixNano": "9", "name": "stall.ended", "attributes": key_values({"stall.step": 2})},
            ],
            futureField={"x": 1},
        )

    def test_a_mapping_of_attributes_stays_one(self) -> None:
        """Writers that give attributes as a mapping get them back as one."""
        one = span(attributes={"a": "x", "stall.step": 1})
        annotate_span(one, Addition({"stall.step": 2}))
        assert one == span(attributes={"a": "x", "stall.step": {"intValue": "2"}})
