"""One agent run, and the same run as each product exports it, for the tests of the readers."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from io import BytesIO

from otel_stall.analysis import analyze
from otel_stall.findings import Analysis
from otel_stall.otlp import key_values
from otel_stall.readers import Problems, read_paths
from otel_stall.spans import EventView, SpanView, Status

TRACE = "0af7651916cd43dd8448eb211c80319c"
ROOT = "00f067aa0ba902b7"
RESOURCE = {"service.name": "agent", "host.name": "box"}
SCOPE = "an.agent"
BEGIN_NS = 1_767_225_600_000_000_000
SECOND_NS = 1_000_000_000

Json = dict[str, object]


def _tool(number: int, tool: str, arguments: object, result: object, **more: object) -> SpanView:
    failed = bool(more.pop("failed", False))
    start = BEGIN_NS + number * SECOND_NS
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.conversation.id": "c-1",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.id": f"call-{number}",
        "gen_ai.tool.call.arguments": json.dumps(arguments),
        "gen_ai.tool.call.result": result if isinstance(result, str) else json.dumps(result),
        "share": 0.5,
        **more,
    }
    raised = EventView(
        "exception", start + 1_000, {"exception.type": "ValueError", "exception.message": "no such item"}
    )
    return SpanView(
        trace_id=TRACE,
        span_id=f"{number:016x}",
        parent_id=ROOT,
        name=f"execute_tool {tool}",
        start_ns=start,
        end_ns=start + SECOND_NS // 2,
        status=Status.ERROR if failed else Status.UNSET,
        status_description="no such item" if failed else "",
        attributes=attributes,
        events=[raised] if failed else [],
        scope=SCOPE,
        resource=RESOURCE,
    )


def _run() -> Iterable[SpanView]:
    yield _tool(1, "bash", {"command": "pytest -q"}, "E KeyError: x\n1 failed", **{"process.exit.code": 1})
    yield _tool(2, "write_file", {"path": "a.py", "content": "total = 1"}, "ok")
    yield _tool(3, "bash", {"command": "pytest -q"}, "1 passed", **{"process.exit.code": 0})
    yield _tool(4, "get_item", {"id": 7}, "", failed=True)
    for number in range(5, 15):
        yield _tool(number, "bash", {"command": "ls -la src"}, "app.py\nutil.py", **{"process.exit.code": 0})
    yield _tool(15, "get_item", {"id": 8}, "busy", failed=True, **{"stall.infra": True})
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": "c-1",
        "gen_ai.usage.input_tokens": 1_200,
        "gen_ai.usage.output_tokens": 30,
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}]),
    }
    at = BEGIN_NS + 17 * SECOND_NS
    chosen = EventView("gen_ai.choice", at + 1_000, {"index": 0, "is_last": True})
    yield SpanView(
        TRACE,
        "00000000000000c1",
        ROOT,
        "chat",
        at,
        at + SECOND_NS,
        "CLIENT",
        Status.OK,
        "",
        chat,
        [chosen],
        SCOPE,
        RESOURCE,
    )
    agent = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "coder",
        "gen_ai.conversation.id": "c-1",
        "stall.run.outcome": "failure",
    }
    end = BEGIN_NS + 20 * SECOND_NS
    yield SpanView(
        TRACE,
        ROOT,
        "",
        "invoke_agent coder",
        BEGIN_NS,
        end,
        attributes=agent,
        events=[],
        scope=SCOPE,
        resource=RESOURCE,
    )


RUN = tuple(_run())
"""A repaired check, a failed call, a loop of ten steps, an infrastructure fault, a model turn and the agent."""

CUT = "x" * 2048
"""Text as long as what Tempo leaves of longer text."""


def ordered(views: Iterable[SpanView]) -> list[SpanView]:
    return sorted(views, key=lambda view: view.span_id)


def read(data: object, name: str = "") -> tuple[list[SpanView], list[str]]:
    """Return the views, in the order of their span ids, of JSON (or lines of it, or bytes), and the problems."""
    problems = Problems()
    views = list(read_paths(["-"], problems=problems, stdin=BytesIO(encoded(data)), name=name))
    return ordered(views), [problem.error for problem in problems.kept]


def assert_reads_as_the_run(data: object, name: str) -> None:
    """Assert that an export gives the views of the same spans in OTLP without a problem, and the same verdicts."""
    views, problems = read(data, name)
    assert (views, problems) == (ordered(RUN), [])
    assert verdicts(views) == verdicts(RUN)


def encoded(data: object) -> bytes:
    return data if isinstance(data, bytes) else json.dumps(data).encode()


def lines(values: Iterable[object]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def verdicts(views: Iterable[SpanView]) -> Analysis:
    """Return what the analysis says of spans, but for the service, which not every product keeps."""
    bare = [SpanView(**{**{name: getattr(view, name) for name in view.__slots__}, "resource": {}}) for view in views]
    return analyze(bare, details=True)


# OTLP


def otlp_span(view: SpanView) -> Json:
    return {
        "traceId": view.trace_id,
        "spanId": view.span_id,
        "parentSpanId": view.parent_id,
        "name": view.name,
        "kind": 3 if view.kind == "CLIENT" else 1,
        "startTimeUnixNano": str(view.start_ns),
        "endTimeUnixNano": str(view.end_ns),
        "attributes": key_values(view.attributes),
        "events": [
            {"timeUnixNano": str(e.time_ns), "name": e.name, "attributes": key_values(e.attributes)}
            for e in view.events
        ],
        "status": {"code": view.status.value, "message": view.status_description},
    }


def otlp(views: Sequence[SpanView] = RUN) -> Json:
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": key_values(RESOURCE)},
                "scopeSpans": [{"scope": {"name": SCOPE}, "spans": [otlp_span(view) for view in views]}],
            }
        ]
    }


# Tempo


def base64_ids(value: object) -> object:
    """Return a request with its ids in base64 and its enumerations by name."""
    if isinstance(value, dict):
        return {key: _as_tempo(key, item) for key, item in value.items()}
    return [base64_ids(item) for item in value] if isinstance(value, list) else value


def _as_tempo(key: str, item: object) -> object:
    if key in ("traceId", "spanId", "parentSpanId") and isinstance(item, str):
        return base64.b64encode(bytes.fromhex(item)).decode()
    if key == "kind":
        return {1: "SPAN_KIND_INTERNAL", 3: "SPAN_KIND_CLIENT"}.get(item, item) if isinstance(item, int) else item
    if key == "code":
        names = ("STATUS_CODE_UNSET", "STATUS_CODE_OK", "STATUS_CODE_ERROR")
        return names[item] if isinstance(item, int) else item
    return base64_ids(item)


def tempo(views: Sequence[SpanView] = RUN) -> Json:
    """Return the answer of version 1 of the API."""
    request = base64_ids(otlp(views))
    assert isinstance(request, dict)
    return {"batches": request["resourceSpans"]}


def tempo_v2(views: Sequence[SpanView] = RUN) -> Json:
    return {
        "trace": {"resourceSpans": tempo(views)["batches"]},
        "metrics": {"inspectedBytes": "1"},
        "status": "COMPLETE",
    }


# Jaeger


def _tag(key: str, value: object) -> Json:
    kinds: dict[type, str] = {bool: "bool", int: "int64", float: "float64"}
    return {"key": key, "type": kinds.get(type(value), "string"), "value": value}


def jaeger_span(view: SpanView) -> Json:
    parent = {"refType": "CHILD_OF", "traceID": view.trace_id, "spanID": view.parent_id}
    of_otel: list[tuple[str, object]] = [("span.kind", view.kind.lower()), ("otel.scope.name", view.scope)]
    if view.status is not Status.UNSET:
        of_otel.append(("otel.status_code", view.status.name))
    if view.status is Status.ERROR:
        of_otel += [("error", True), ("otel.status_description", view.status_description)]
    logs = [
        {
            "timestamp": e.time_ns // 1000,
            "fields": [_tag("event", e.name), *(_tag(*item) for item in e.attributes.items())],
        }
        for e in view.events
    ]
    return {
        "traceID": view.trace_id,
        "spanID": view.span_id,
        "operationName": view.name,
        "references": [parent] if view.parent_id else [],
        "startTime": view.start_ns // 1000,
        "duration": (view.end_ns - view.start_ns) // 1000,
        "tags": [_tag(*item) for item in (*view.attributes.items(), *of_otel)],
        "logs": logs,
        "processID": "p1",
        "warnings": None,
    }


def jaeger_trace(views: Sequence[SpanView] = RUN) -> Json:
    process = {"serviceName": RESOURCE["service.name"], "tags": [_tag("host.name", RESOURCE["host.name"])]}
    return {
        "traceID": TRACE,
        "spans": [jaeger_span(view) for view in views],
        "processes": {"p1": process},
        "warnings": None,
    }


def jaeger(views: Sequence[SpanView] = RUN) -> Json:
    return {"data": [jaeger_trace(views)], "total": 0, "limit": 0, "offset": 0, "errors": None}


# Phoenix


def iso(time_ns: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_ns // 1000)).isoformat()


def nested(attributes: Mapping[str, object]) -> Json:
    """Return attributes taken apart at the dots of their names, as Phoenix stores them."""
    tree: Json = {}
    for key, value in attributes.items():
        *above, name = key.split(".")
        place = tree
        for part in above:
            inner = place.setdefault(part, {})
            assert isinstance(inner, dict)
            place = inner
        place[name] = value
    return tree


def phoenix_span(view: SpanView) -> Json:
    """Return a span of the REST API."""
    return {
        "id": "U3Bhbjox",
        "name": view.name,
        "context": {"trace_id": view.trace_id, "span_id": view.span_id},
        "span_kind": "UNKNOWN",
        "parent_id": view.parent_id or None,
        "start_time": iso(view.start_ns),
        "end_time": iso(view.end_ns),
        "status_code": view.status.name,
        "status_message": view.status_description,
        "attributes": dict(view.attributes),
        "events": [
            {"name": e.name, "timestamp": iso(e.time_ns), "attributes": dict(e.attributes)} for e in view.events
        ],
    }


def phoenix(views: Sequence[SpanView] = RUN) -> Json:
    return {"data": [phoenix_span(view) for view in views], "next_cursor": None}


def phoenix_record(view: SpanView) -> Json:
    """Return a row of the dataframe of spans; other rows' columns are null."""
    whole = phoenix_span(view)
    attributes = {f"attributes.{key}": value for key, value in view.attributes.items()}
    del whole["context"], whole["attributes"], whole["id"]
    return {
        **whole,
        "context.trace_id": view.trace_id,
        "context.span_id": view.span_id,
        "attributes.llm.model_name": None,
        **attributes,
    }


def phoenix_table(views: Sequence[SpanView] = RUN) -> Json:
    """Return the dataframe by columns, its index the span id, as pandas writes it unless told otherwise."""
    rows = {view.span_id: phoenix_record(view) for view in views}
    names = [name for name in dict.fromkeys(key for row in rows.values() for key in row) if name != "context.span_id"]
    return {name: {span_id: row.get(name) for span_id, row in rows.items()} for name in names}


# CloudWatch


def document(view: SpanView) -> Json:
    """Return a span document of the log group for spans."""
    return {
        "resource": {"attributes": RESOURCE},
        "scope": {"name": view.scope, "version": ""},
        "traceId": view.trace_id,
        "spanId": view.span_id,
        **({"parentSpanId": view.parent_id} if view.parent_id else {}),
        "flags": 256,
        "name": view.name,
        "kind": view.kind,
        "startTimeUnixNano": view.start_ns,
        "endTimeUnixNano": view.end_ns,
        "durationNano": view.end_ns - view.start_ns,
        "attributes": dict(view.attributes),
        "events": [{"timeUnixNano": e.time_ns, "name": e.name, "attributes": dict(e.attributes)} for e in view.events],
        "status": {"code": view.status.name, "message": view.status_description},
    }


# TRAIL


def trail_span(view: SpanView, children: Sequence[Json] = ()) -> Json:
    return {
        "timestamp": iso(view.start_ns),
        "trace_id": view.trace_id,
        "span_id": view.span_id,
        "parent_span_id": view.parent_id or None,
        "trace_state": "",
        "span_name": view.name,
        "span_kind": view.kind.capitalize(),
        "service_name": RESOURCE["service.name"],
        "resource_attributes": RESOURCE,
        "scope_name": view.scope,
        "scope_version": "1",
        "span_attributes": dict(view.attributes),
        "duration": f"PT{(view.end_ns - view.start_ns) / SECOND_NS}S",
        "status_code": view.status.name.capitalize(),
        "status_message": view.status_description,
        "events": [
            {"name": e.name, "timestamp": iso(e.time_ns), "attributes": dict(e.attributes)} for e in view.events
        ],
        "links": [],
        "logs": [],
        "child_spans": list(children),
    }


def trail(views: Sequence[SpanView] = RUN) -> Json:
    inner = [trail_span(view) for view in views if view.parent_id]
    return {"trace_id": TRACE, "spans": [trail_span(view, inner) for view in views if not view.parent_id]}


def stringly(value: object) -> object:
    """Return a request whose numbers and truth values are text, as some writers have them."""
    if isinstance(value, dict):
        return {key: stringly(item) for key, item in value.items()}
    if isinstance(value, list):
        return [stringly(item) for item in value]
    return json.dumps(value) if isinstance(value, (bool, int, float)) else value
