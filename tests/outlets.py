"""Every way by which otel-stall says something: each takes an export and returns what was added to it, as text."""

from __future__ import annotations

import base64
import json
import logging
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import doubles
from downstreams import Kept, assembled_gateway, attributes, records_of, spans_of
from google.protobuf.json_format import MessageToDict
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags
from planted import Json, view_of

from otel_stall.cli import main
from otel_stall.config import StallConfig
from otel_stall.exporter import StallSpanExporter
from otel_stall.gateway.answers import Encoding, Request
from otel_stall.gateway.serve import Parts
from otel_stall.monitor import Monitor
from otel_stall.otlp import Signal
from otel_stall.pressure import Ladder
from otel_stall.processor import StallSpanProcessor
from otel_stall.spans import SpanView

EAGER: Final = StallConfig.create(
    {
        "detection": {
            **{f"dry_{level}": number for number, level in enumerate(("notice", "replan", "ask_user", "abandon"), 1)},
            **{f"waste_{level}": number for number, level in enumerate(("notice", "replan", "ask_user", "abandon"), 1)},
            "loop_notice": 1,
            "distance_limit": 1,
        },
        "pressure": {"acts": ["notice", "replan", "ask_user", "abandon"], "hung_seconds": 1e-6, "silent_seconds": 1e-6},
        "content_steps": 1,
    }
)
"""Settings under which nearly everything stalls, so that all is said that can be."""

SETTLE: Final = 1e-6
"""Requests come one after the other here: nothing is gained by waiting for the other half of a call."""

EAGER_FILE: Final = EAGER.model_dump_json(include={"detection", "pressure", "content_steps"})
"""The same as a settings file: JSON is YAML."""


@contextmanager
def logged() -> Iterator[list[str]]:
    """Give the lines that any logger writes while the block runs, with the tracebacks of their errors."""
    lines: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    handler, root = Lines(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def sdk_span(view: SpanView) -> ReadableSpan:
    """Return a span of the SDK that ended, as a processor or an exporter gets it."""

    def context(span_id: str) -> SpanContext:
        return SpanContext(int(view.trace_id, 16), int(span_id, 16), False, TraceFlags(TraceFlags.SAMPLED))

    code = StatusCode[view.status.name]
    return ReadableSpan(
        name=view.name,
        context=context(view.span_id),
        parent=context(view.parent_id) if view.parent_id else None,
        resource=Resource(_plain(view.resource)),
        attributes=_plain(view.attributes),
        events=[Event(one.name, _plain(one.attributes), one.time_ns) for one in view.events],
        kind=SpanKind[view.kind] if view.kind in SpanKind.__members__ else SpanKind.INTERNAL,
        instrumentation_scope=InstrumentationScope(view.scope),
        status=Status(code, view.status_description) if code is StatusCode.ERROR else Status(code),
        start_time=view.start_ns,
        end_time=view.end_ns,
    )


def _plain(values: Mapping[str, object]) -> dict[str, Any]:
    return {key: value if isinstance(value, (str, int, float, bool)) else str(value) for key, value in values.items()}


def _added(span: ReadableSpan, view: SpanView) -> object:
    """Return what a span has beside what its view said."""
    own = _plain(view.attributes)
    new = {key: value for key, value in (span.attributes or {}).items() if own.get(key) != value}
    return new, [(one.name, dict(one.attributes or {})) for one in span.events[len(view.events) :]]


class _Kept(SpanExporter):
    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans += spans
        return SpanExportResult.SUCCESS


def spans_in(parts: Sequence[Json]) -> list[SpanView]:
    """Return the views of the spans among requests of one item, in the order of their ends."""
    found = [view_of(part) for part in parts if "resourceSpans" in part]
    return sorted((view for view in found if int(view.span_id, 16)), key=lambda view: view.end_ns)


def live(views: Sequence[SpanView], config: StallConfig = EAGER) -> dict[str, object]:
    """Return what the processor and the exporter in front of another add, log, measure and keep."""
    reader = InMemoryMetricReader()
    with logged() as lines, doubles.logs() as (logs, records):
        meters = MeterProvider([reader], shutdown_on_exit=False)
        processor = StallSpanProcessor(config, logger_provider=logs, meter_provider=meters)
        spans = [sdk_span(view) for view in views]
        for span in spans:
            processor.on_end(span)
        processor.tick(10**19)
        said = _reactions(processor, {one[0] for one, _ in processor.monitor.lanes})
        kept = _Kept()
        exporter = StallSpanExporter(kept, config, logger_provider=logs, meter_provider=meters)
        exporter.export([sdk_span(view) for view in views])
        snapshot = processor.monitor.snapshot()
        again = Monitor(config)
        again.restore(snapshot)
        found: dict[str, object] = {
            "span attributes and events": [_added(*both) for both in zip(spans, views, strict=True)],
            "spans of the exporter": [_added(*both) for both in zip(kept.spans, views, strict=True)],
            "log events": [record.to_json() for record in records.get_finished_logs()],
            "metrics": _metrics(reader),
            "snapshot": snapshot,
            "snapshot of what was restored": again.snapshot(),
            "texts and records of the pressure": said,
            "repr": [repr(processor.config), repr(processor), repr(exporter)],
        }
        meters.shutdown()
    return found | {"log lines of the processor": lines}


def _metrics(reader: InMemoryMetricReader) -> str:
    data = reader.get_metrics_data()
    return data.to_json() if data is not None else ""


def _reactions(processor: StallSpanProcessor, conversations: set[str]) -> list[object]:
    ladder = Ladder(["notice", "replan", "ask_user", "abandon"], source=processor)
    said: list[object] = []
    for conversation in sorted(conversations):
        for _ in range(4):
            pressure = ladder.look(conversation)
            said += [pressure.lines(), pressure.text(), repr(pressure)]
            if (record := ladder.abandon(pressure)) is not None:
                said += [record.json(), record.event(), repr(record), str(record.text)]
            ladder.did(pressure)
    return [*said, ladder.snapshot()]


def gateway(parts: Sequence[Json], folder: Path, config: StallConfig = EAGER) -> dict[str, object]:
    """Return what both modes of the gateway add, send, answer, log, and write to their state file."""
    found: dict[str, object] = {}
    for mode in ("inline", "tap"):
        kept, state = Kept(), folder / f"{mode}.state"
        with logged() as lines:
            more = {"copies": True, "events": True, "settle_seconds": SETTLE, "state": {"file": state}}
            with assembled_gateway(kept, config, mode=mode, **more) as assembled:
                answers = [assembled.gateway.handle(request(part)) for part in parts]
                statuses = assembled.judge.status(limit=100) or ()
                advice = _advice(assembled, sorted({one.conversation for one in statuses}))
        found |= {
            f"what the {mode} gateway sends": _sent(kept, parts),
            f"what the {mode} gateway answers": [answers, [one.document() for one in statuses], advice],
            f"log lines of the {mode} gateway": lines,
            f"state file of the {mode} gateway": _state(state),
        }
    return found


def request(part: Json) -> Request:
    """Return a request of one item as a client of the gateway sends it."""
    signal = Signal.TRACES if "resourceSpans" in part else Signal.LOGS
    return Request(signal, json.dumps(part).encode(), Encoding.JSON)


def _advice(parts: Parts, conversations: Sequence[str]) -> list[object]:
    every = ("replan", "ask_user", "abandon")
    return [parts.advisor.advise(conversation, every) for conversation in conversations for _ in range(3)]


def _sent(kept: Kept, parts: Sequence[Json]) -> list[object]:
    """Return the spans and records sent, without the attributes, events and texts that came with them."""
    came = json.dumps(parts)
    found: list[object] = []
    for request in kept.requests:
        if request.encoding is Encoding.JSON:
            found += [_new(view_of(one), came) for one in _single(json.loads(request.body))]
    # What a gateway makes itself it sends in protobuf; the resource is the span's own.
    found += [MessageToDict(span) for span in spans_of([one for one in kept.requests if _own(one)])]
    found += [(record.event_name, attributes(record), str(record.body)) for record in records_of(_owned(kept))]
    return found


def _own(request: Request) -> bool:
    return request.encoding is Encoding.PROTOBUF


def _owned(kept: Kept) -> list[Request]:
    return [request for request in kept.requests if _own(request)]


def _single(request: Json) -> Iterator[Json]:
    for groups, scopes, items in (
        ("resourceSpans", "scopeSpans", "spans"),
        ("resourceLogs", "scopeLogs", "logRecords"),
    ):
        for group in request.get(groups, ()):
            for scoped in group[scopes]:
                for item in scoped[items]:
                    yield {groups: [{**group, scopes: [{**scoped, items: [item]}]}]}


def _new(view: SpanView, came: str) -> object:
    """Return what of an item did not come with it."""
    events = [(one.name, dict(one.attributes)) for one in view.events if json.dumps(one.name) not in came]
    return {k: v for k, v in view.attributes.items() if json.dumps(k) not in came}, events


def _state(path: Path) -> list[object]:
    raw = [file.read_bytes().decode("latin-1") for file in sorted(path.parent.glob(f"{path.name}*"))]
    base = sqlite3.connect(path)
    try:
        return [*raw, list(base.iterdump())]
    finally:
        base.close()


def command_line(parts: Sequence[Json], folder: Path, output: Callable[[], tuple[str, str]]) -> dict[str, object]:
    """Return what each command that reads exports prints on both streams, logs and writes.

    `output` gives what was printed since it was last called.
    """
    source, settings, baseline = (str(folder / name) for name in ("spans.jsonl", "stall.yaml", "baseline.json"))
    (folder / "spans.jsonl").write_text("".join(json.dumps(part) + "\n" for part in parts), encoding="utf-8")
    Path(settings).write_text(EAGER_FILE, encoding="utf-8")
    outcomes = folder / "outcomes.csv"
    linked = ("--trace-url", "http://localhost:16686/trace/{trace_id}?uiFind={span_id}")
    found: dict[str, object] = {}
    commands: dict[str, list[str]] = {
        "analyze": ["analyze", "--config", settings, "--credit", source],
        "analyze json": ["analyze", "--config", settings, "--credit", "--format", "json", "--steps", source],
        "analyze otlp": ["analyze", "--config", settings, "--format", "otlp", source],
        "analyze html": ["analyze", "--config", settings, "--format", "html", *linked, source],
        "analyze all": ["analyze", "--config", settings, "--all", source],
        "doctor": ["doctor", source],
        "doctor json": ["doctor", "--format", "json", source],
        "survey": ["doctor", "--milestones", "--config", settings, source],
        "survey json": ["doctor", "--milestones", "--config", settings, "--format", "json", source],
        "calibrate": ["calibrate", "--outcomes", str(outcomes), "-o", baseline, source],
    }
    for name, command in commands.items():
        with logged() as lines:
            _ended(command)
        printed, errors = output()
        found[name] = [_written_back(printed, parts) if name == "analyze otlp" else printed, errors, lines]
        if name == "analyze html":
            found["what the page unpacks"] = unpacked(printed)
        if name == "analyze json":
            listed = {one["id"] for one in json.loads(printed)["conversations"]}
            rows = "".join(f'"{one}",success,task,class\n' for one in sorted(listed) if '"' not in one)
            outcomes.write_text("conversation,outcome,task,task_class\n" + rows, encoding="utf-8")
            for one in sorted(listed)[:1]:
                found |= _of_one(one, settings, source, output)
    found["baseline"] = Path(baseline).read_text(encoding="utf-8") if Path(baseline).exists() else ""
    return found


def _of_one(conversation: str, settings: str, source: str, output: Callable[[], tuple[str, str]]) -> dict[str, object]:
    """Return the course of one conversation in each form."""
    found: dict[str, object] = {}
    for form in ("text", "json", "html"):
        steps = ["--steps"] if form != "html" else []
        with logged() as lines:
            _ended(["analyze", "--config", settings, "--conversation", conversation, "--format", form, *steps, source])
        printed, errors = output()
        found[f"analyze one conversation, {form}"] = [printed, errors, lines, unpacked(printed)]
    return found


def unpacked(page: str) -> list[str]:
    """Return the texts that a page holds compressed, in base64."""
    texts = []
    for packed in re.findall(r"[A-Za-z0-9+/]{40,}={0,2}", page):
        with suppress(ValueError, zlib.error):
            texts.append(zlib.decompress(base64.b64decode(packed)).decode())
    return texts


def _ended(command: list[str]) -> None:
    try:
        main(command)
    except SystemExit:
        return
    raise AssertionError("the command line ends by exiting")


def _written_back(printed: str, parts: Sequence[Json]) -> list[object]:
    came = json.dumps(parts)
    return [_new(view_of(one), came) for line in printed.splitlines() for one in _single(json.loads(line))]
