"""Log records as views: the same in JSON and protobuf, named by their event, told apart by what they hold."""

from __future__ import annotations

import base64
import json
from typing import Any

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from otel_stall.otlp import Signal, log_views, protobuf
from otel_stall.spans import SpanView

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def _request(*records: dict[str, Any]) -> dict[str, Any]:
    scope = {"scope": {"name": "qwen-code"}, "logRecords": list(records)}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "agent"}}]}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]}


def _record(**fields: Any) -> dict[str, Any]:
    attributes = [
        {"key": "event.name", "value": {"stringValue": "qwen-code.tool_call"}},
        {"key": "success", "value": {"boolValue": False}},
        {"key": "duration_ms", "value": {"intValue": "12"}},
        {"key": "metadata", "value": {}},
    ]
    return {"timeUnixNano": "5", "traceId": TRACE, "spanId": SPAN, "attributes": attributes} | fields


def _views(*records: dict[str, Any]) -> list[SpanView]:
    problems: list[str] = []
    found = list(log_views(_request(*records), problems.append))
    assert problems == []
    return found


def test_a_record_is_a_view_that_begins_and_ends_at_its_time() -> None:
    """Its name is the event's, its parent the span that it was written in."""
    (view,) = _views(_record(body={"stringValue": "Tool call: ls."}))

    assert view == SpanView(
        trace_id=TRACE,
        span_id=view.span_id,
        parent_id=SPAN,
        name="qwen-code.tool_call",
        start_ns=5,
        end_ns=5,
        attributes={"event.name": "qwen-code.tool_call", "success": False, "duration_ms": 12, "metadata": None},
        scope="qwen-code",
        resource={"service.name": "agent"},
        log=True,
        body="Tool call: ls.",
    )


def test_protobuf_gives_the_same_views() -> None:
    """JSON and protobuf of one request are the same records, ids included."""
    body = {"arrayValue": {"values": [{"stringValue": "tracking"}, {"stringValue": "{}"}]}}
    records = [_record(), _record(body=body), {"observedTimeUnixNano": "7", "body": {"stringValue": "task.tool_used"}}]
    wire = json.loads(json.dumps(_request(*records)))
    for record in wire["resourceLogs"][0]["scopeLogs"][0]["logRecords"]:
        for key in ("traceId", "spanId"):
            if key in record:  # the JSON mapping of protobuf has bytes in base64, OTLP has hex
                record[key] = base64.b64encode(bytes.fromhex(record[key])).decode()
    signal, message = protobuf.decode(ParseDict(wire, LogsData()).SerializeToString())

    assert isinstance(message, LogsData)
    assert (signal, list(protobuf.log_views(message))) == (Signal.LOGS, _views(*records))


def test_the_attribute_names_the_event_before_the_field() -> None:
    """Some hosts put a line of their source into the field, and others name a record by its text alone."""
    plain: dict[str, Any] = {"attributes": []}
    names = [
        view.name
        for view in _views(
            _record(eventName="event src/tool.rs:54"),
            _record(eventName="tool", **plain),
            _record(body={"stringValue": "task.tool_used"}, **plain),
            _record(body={"intValue": "1"}, **plain),
        )
    ]

    assert names == ["qwen-code.tool_call", "tool", "task.tool_used", ""]


def test_time_is_that_of_the_observation_where_none_is_given() -> None:
    """Some hosts write 0 for the time of the event."""
    (view,) = _views(_record(timeUnixNano="0", observedTimeUnixNano="9"))

    assert (view.start_ns, view.end_ns) == (9, 9)


def test_a_record_that_comes_twice_has_one_id() -> None:
    """The id is made of what a record holds: a batch delivered again adds nothing, another record is another."""
    one, again, other = _views(_record(), _record(), _record(timeUnixNano="6"))

    assert (one.span_id == again.span_id, one.span_id == other.span_id) == (True, False)


def test_wrong_shapes_are_reported_and_the_rest_is_read() -> None:
    """A record that is no object is left out with a word."""
    problems: list[str] = []
    found = list(log_views(_request(_record(), 3), problems.append))  # type: ignore[arg-type]  # that is the point

    assert (len(found), problems) == (1, ["logRecords holds what is no object"])
