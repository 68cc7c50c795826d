"""A stalled trace is found in Jaeger by what otel-stall says of it, behind the real collector, as tap and inline."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest
import urllib3
from chain import Ports, collector, eventually, jaeger, json_lines
from downstreams import process, run
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SpanExportResult

from otel_stall.otlp import views
from otel_stall.spans import SpanView

_END_US: Final = 4_102_444_800_000_000  # the year 2100: the runs of these tests have times of their own


def _export(address: str, spans: Sequence[Any]) -> None:
    exporter = OTLPSpanExporter(endpoint=address, insecure=True)
    assert exporter.export(spans) is SpanExportResult.SUCCESS
    exporter.shutdown()


def _search(api: str, **attributes: str) -> list[SpanView]:
    """Return the spans of all traces that Jaeger finds by these attributes, as its search form finds them."""
    query = {"service": "agents", "tags": json.dumps(attributes), "limit": "100", "start": "0", "end": str(_END_US)}
    found = json.loads(_get(f"{api}/api/traces?{urlencode(query)}"))["data"]
    return [span for trace in found for span in _trace(api, trace["traceID"])]


def _trace(api: str, trace_id: str) -> list[SpanView]:
    """Return the spans of one trace, from the stable API in OTLP."""
    result = json.loads(_get(f"{api}/api/v3/traces/{trace_id}"))["result"]
    return list(views(result, pytest.fail))


def _get(url: str) -> bytes:
    answer = urllib3.request("GET", url, retries=False, timeout=10)
    assert answer.status == 200, answer.data
    return answer.data


def _conversations(spans: Sequence[SpanView]) -> set[object]:
    return {span.attributes["gen_ai.conversation.id"] for span in spans}


@pytest.mark.parametrize("mode", ["tap", "inline"])
def test_stalled_traces_are_found_by_their_marks(mode: str, tmp_path: Path) -> None:
    """By `stall.detected=true` and by kind, with attributes and events; a healthy conversation is not among them."""
    ports = Ports()
    options = ["--mode", mode, *(["--copies"] if mode == "tap" else []), "--forward", f"grpc://{ports['ADDED_GRPC']}"]
    with (
        jaeger(tmp_path, ports) as api,
        collector(f"{mode}.yaml", tmp_path, ports),
        process(*options, "--grpc", ports["STALL"]),
    ):
        _export(ports["OTLP_GRPC"], run("stuck", steps=12))
        _export(ports["OTLP_GRPC"], run("healthy", steps=1))
        found = eventually(lambda: _search(api, **{"stall.detected": "true"}))
        assert eventually(lambda: _search(api, **{"gen_ai.conversation.id": "healthy"}))
        by_kind = _search(api, **{"stall.kind": "loop", "stall.level": "replan"})
        assert not _search(api, **{"stall.kind": "amnesia"})
        events = eventually(lambda: json_lines(tmp_path / "events.jsonl"))
    assert _conversations(found) == _conversations(by_kind) == {"stuck"}
    marked = [span for span in found if span.attributes.get("stall.detected")]
    assert {span.attributes["stall.kind"] for span in marked} == {"loop"}
    assert "stall.started" in {event.name for span in marked for event in span.events}
    assert len(found) == 13 + (len(marked) if mode == "tap" else 0)
    assert all(("gen_ai.tool.name" in span.attributes) is (mode == "inline") for span in marked)
    assert "stall.started" in json.dumps(events)


def test_spans_wait_while_the_gateway_is_away(tmp_path: Path) -> None:
    """Inline, what was sent while no gateway ran arrives with its verdicts when one comes, none lost, none twice."""
    ports = Ports()
    spans = run("waiting", steps=12)
    with jaeger(tmp_path, ports) as api, collector("inline.yaml", tmp_path, ports):
        _export(ports["OTLP_GRPC"], spans)
        time.sleep(1)
        assert not _search(api, **{"gen_ai.conversation.id": "waiting"})
        with process("--mode", "inline", "--forward", f"grpc://{ports['ADDED_GRPC']}", "--grpc", ports["STALL"]):
            found = eventually(lambda: _search(api, **{"stall.detected": "true"}))
    assert sorted(span.span_id for span in found) == sorted(f"{span.context.span_id:016x}" for span in spans)
