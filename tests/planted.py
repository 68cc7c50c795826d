"""Marked secrets: made for a place, planted into recorded exports, and looked for in what comes out.

Every string of a recording gets a marker of its own, unless it tells what a span is (then the span would be
another one) or is an identity. What is an identity is not decided here: `IDENTITIES` lists the attributes, and
planting fails on a string that changes what is read as a name or an id without being listed.
"""

from __future__ import annotations

import base64
import copy
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from otel_stall.calls import CompactionMark, HostHint, ModelCall, Reading, ToolCall
from otel_stall.dialects import read
from otel_stall.dialects.identities import CONVERSATIONS
from otel_stall.otlp import Signal, key_values, log_views, signal_of, views
from otel_stall.spans import SpanView

Json = dict[str, Any]

WINDOW: Final = 12
"""Characters of a secret that must not come out in a row."""

IDENTITIES: Final = frozenset(
    {
        *CONVERSATIONS,
        "agent.name",
        "ai.toolCall.id",
        "ai.toolCall.name",
        "call_id",
        "conversation.id",
        "function_name",
        "gen_ai.agent.id",
        "gen_ai.agent.name",
        "gen_ai.tool.call.id",
        "gen_ai.tool.call_id",
        "gen_ai.tool.name",
        "genkit:name",
        "haystack.tool.name",
        "langsmith.metadata.lc_agent_name",
        "lmnr.association.properties.metadata.tool_call_id",
        "mlflow.spanFunctionName",
        "name",
        "qwen-code.subagent.id",
        "service.name",
        "span name",
        "tool.call_id",
        "tool.name",
        "tool_name",
        "traceloop.association.properties.lc_agent_name",
        "traceloop.entity.name",
        "traceloop.workflow.name",
    }
)
"""Attributes that name a conversation, an agent, a tool, a call or a service in one of the recordings."""


class Secrets:
    """Makes markers and finds them again, whole or in part, as they are or in base64 or hexadecimal."""

    def __init__(self, name: str = "") -> None:
        self._name = name
        self._places: dict[str, str] = {}
        self._windows: dict[str, str] = {}

    def marker(self, place: str) -> str:
        """Return the marker of a place: 30 letters and digits, the same each time."""
        made = base64.b32encode(blake2b(f"{self._name} {place}".encode(), digest_size=18).digest()).decode()[:29]
        marker = f"q{made}"
        if place not in self._places:
            self._places[place] = marker
            for form, size in _forms(marker):
                for at in range(len(form) - size + 1):
                    self._windows[form[at : at + size]] = place
        return marker

    @property
    def places(self) -> frozenset[str]:
        """The places with a marker."""
        return frozenset(self._places)

    def found_in(self, text: str) -> set[str]:
        """Return the places whose markers, or 12 characters in a row of them, stand in a text."""
        runs = {run for form in (text, text.lower()) for run in _RUN.findall(form)}
        pieces = (run[at : at + size] for run in runs for size in _SIZES for at in range(len(run) - size + 1))
        return {place for piece in pieces if (place := self._windows.get(piece)) is not None}


_RUN: Final = re.compile(r"[A-Za-z0-9+/]{12,}")
_SIZES: Final = (WINDOW, 4 * WINDOW // 3, 2 * WINDOW)


def _forms(marker: str) -> Iterator[tuple[str, int]]:
    yield marker.lower(), _SIZES[0]
    for shift in range(3):
        yield base64.b64encode(b" " * shift + marker.encode()).decode()[4:-4], _SIZES[1]
    yield marker.encode().hex(), _SIZES[2]


# Recordings, all as requests of OTLP/JSON

FIXTURES: Final = Path(__file__).parent / "fixtures"
HOSTS: Final = sorted((FIXTURES / "hosts").glob("*.jsonl"))
DIALECTS: Final = sorted(path for path in (FIXTURES / "dialects").glob("*.json") if path.name != "expected.json")


def recorded(path: Path) -> list[Json]:
    """Return a recording as requests."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return [request_of(_otlp(span), _resource(span), span["_scope"] or "") for span in json.loads(text)["spans"]]


def request_of(span: Json, resource: Json, scope: str) -> Json:
    """Return a request of one span."""
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": scope}, "spans": [span]}]}]}


def _resource(span: Json) -> Json:
    return {"attributes": key_values(span["resource"]["attributes"])}


def _nanos(time: str) -> str:
    return str(int(datetime.fromisoformat(time).timestamp() * 1_000_000) * 1_000)


_KINDS: Final = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_CODES: Final = ("UNSET", "OK", "ERROR")


def _otlp(span: Json) -> Json:
    return {
        "traceId": span["context"]["trace_id"][2:],
        "spanId": span["context"]["span_id"][2:],
        "parentSpanId": (span["parent_id"] or "0x")[2:],
        "name": span["name"],
        "kind": _KINDS.index(span["kind"].removeprefix("SpanKind.")),
        "startTimeUnixNano": _nanos(span["start_time"]),
        "endTimeUnixNano": _nanos(span["end_time"]),
        "attributes": key_values(span["attributes"]),
        "events": [
            {"timeUnixNano": _nanos(e["timestamp"]), "name": e["name"], "attributes": key_values(e["attributes"])}
            for e in span["events"]
        ],
        "status": {
            "code": _CODES.index(span["status"]["status_code"]),
            "message": span["status"].get("description", ""),
        },
    }


# Planting


@dataclass
class Planted:
    """A recording with a marker wherever one can stand, and how many of its calls hold one."""

    requests: list[Json]
    secrets: Secrets
    calls_with_markers: int = 0
    named: set[str] = field(default_factory=set)


def planted(path: Path) -> Planted:
    """Return a recording with markers in everything that is neither structure nor an identity."""
    done = Planted([], Secrets(path.name))
    for request in recorded(path):
        for part in _parts(request):
            done.requests.append(_plant(part, done))
    return done


def _parts(request: Json) -> Iterator[Json]:
    """Yield a request for each span or log record of one."""
    for group in request.get("resourceSpans", ()):
        for scoped in group["scopeSpans"]:
            for span in scoped["spans"]:
                yield {"resourceSpans": [{**group, "scopeSpans": [{**scoped, "spans": [span]}]}]}
    for group in request.get("resourceLogs", ()):
        for scoped in group["scopeLogs"]:
            for record in scoped["logRecords"]:
                yield {"resourceLogs": [{**group, "scopeLogs": [{**scoped, "logRecords": [record]}]}]}


def _plant(part: Json, done: Planted) -> Json:
    part = copy.deepcopy(part)
    whole = _read(part)
    if whole is None:
        return part
    for place, put in list(_texts(part)):
        before = put(None)
        if not before or before.lower() in ("true", "false") or before.isdigit():
            continue
        put(_marked(before, done.secrets.marker(place)))
        after = _read(part)
        if after is None or _structure(after) != _structure(whole):
            put(before)
        elif _identity(after) != _identity(whole):
            done.named.add(place)
            put(before)
    holding = _read(part)
    if holding is not None and isinstance(call := holding.record, ToolCall):
        text = json.dumps([call.arguments.value, call.result.value, call.error_message], default=str)
        done.calls_with_markers += bool(done.secrets.found_in(text))
    return part


def view_of(part: Json) -> SpanView:
    """Return the view of a request of one span or record."""
    (view,) = (log_views if signal_of(part) is Signal.LOGS else views)(part, _refuse)
    return view


def _refuse(error: str) -> None:
    raise AssertionError(error)


def _read(part: Json) -> Reading | None:
    try:
        return read(view_of(part))
    except (AssertionError, ValueError):
        return None


def _structure(reading: Reading) -> object:
    """Return what a span is, whatever it holds."""
    record = reading.record
    told: object = None
    if isinstance(record, ToolCall):
        told = record.arguments.capture, record.result.capture, record.failed, record.pending, record.exit_code
    elif isinstance(record, ModelCall):
        told = record.calls_tools, record.user_messages, bool(record.text), record.input_tokens
    elif isinstance(record, CompactionMark):
        told = record.size_before, record.size_after
    elif isinstance(record, HostHint):
        told = bool(record.sign)
    return reading.dialect, type(record), told, reading.is_agent, reading.is_workflow, reading.judged


def _identity(reading: Reading) -> object:
    record = reading.record
    called = (record.tool, record.call_id) if isinstance(record, ToolCall) else ()
    whose = reading.conversation, reading.agent, reading.agent_id, reading.service, reading.resource_conversation
    return whose, called, reading.run_id, reading.task_id, reading.task_class, reading.turn


Put = Callable[[str | None], str]
"""Sets a text and returns what stood there; None sets nothing."""


def _texts(part: Json) -> Iterator[tuple[str, Put]]:
    """Yield every text of a part with its place: names of attributes, body, message of the status."""
    for group in [*part.get("resourceSpans", ()), *part.get("resourceLogs", ())]:
        yield from _of_attributes(group.get("resource", {}).get("attributes", ()))
        for scoped in [*group.get("scopeSpans", ()), *group.get("scopeLogs", ())]:
            for item in [*scoped.get("spans", ()), *scoped.get("logRecords", ())]:
                yield from _of_item(item)


def _of_item(item: Json) -> Iterator[tuple[str, Put]]:
    yield from _of_attributes(item.get("attributes", ()))
    for event in item.get("events", ()):
        yield from _of_attributes(event.get("attributes", ()))
    if isinstance(item.get("status"), dict):
        yield "status message", _putter(item["status"], "message")
    if isinstance(item.get("body"), dict):
        yield from _of_value("body", item["body"])
    yield "span name", _putter(item, "name")


def _of_attributes(pairs: Iterable[Json]) -> Iterator[tuple[str, Put]]:
    for pair in pairs:
        yield from _of_value(pair["key"], pair.get("value") or {})


def _of_value(place: str, value: Json) -> Iterator[tuple[str, Put]]:
    if "stringValue" in value:
        yield place, _putter(value, "stringValue")
    for inner in value.get("arrayValue", {}).get("values", ()):
        yield from _of_value(place, inner)
    for pair in value.get("kvlistValue", {}).get("values", ()):
        yield from _of_value(f"{place}.{pair['key']}", pair.get("value") or {})


def _putter(holder: Json, key: str) -> Put:
    def put(text: str | None) -> str:
        before = str(holder.get(key) or "")
        if text is not None:
            holder[key] = text
        return before

    return put


_KEPT_KEYS: Final = frozenset(
    {"type", "role", "id", "name", "kind", "object", "status", "finish_reason", "event", "tool"}
)


def _marked(text: str, marker: str) -> str:
    """Return a text with the marker in it: in every string of it where it is JSON, at its end else."""
    if text[:1] in "{[":
        try:
            return json.dumps(_marked_json(json.loads(text), marker), separators=(",", ":"))
        except ValueError:
            pass
    return f"{text} {marker}"


def _marked_json(value: object, marker: str, key: str = "") -> object:
    if isinstance(value, dict):
        return {name: _marked_json(item, marker, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_marked_json(item, marker, key) for item in value]
    if not isinstance(value, str) or key in _KEPT_KEYS or key.endswith(("_id", "Id", "_name", "Name")):
        return value
    return _marked(value, marker)
