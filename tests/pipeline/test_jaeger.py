"""A stalled trace is found in Jaeger by what otel-stall says of it, behind the real collector, as tap and inline."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from chain import Ports, collector, eventually, export, jaeger, json_lines, searched
from downstreams import process, run

from otel_stall.otlp import views
from otel_stall.otlp.protobuf import to_json
from otel_stall.spans import SpanView


def _search(api: str, **attributes: str) -> list[SpanView]:
    """Return the spans of all traces that Jaeger finds by these attributes."""
    return [span for trace in searched(api, attributes) for span in views(to_json(trace), pytest.fail)]


def _marked(spans: Sequence[SpanView]) -> list[SpanView]:
    return [span for span in spans if span.attributes.get("stall.detected")]


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
        export(ports["OTLP_GRPC"], run("stuck", steps=12))
        export(ports["OTLP_GRPC"], run("healthy", steps=1))
        eventually(lambda: len(_marked(_search(api, **{"stall.detected": "true"}))) == 7)
        assert eventually(lambda: _search(api, **{"gen_ai.conversation.id": "healthy"}))
        found = _search(api, **{"stall.detected": "true"})
        by_kind = _search(api, **{"stall.kind": "loop", "stall.level": "replan"})
        assert not _search(api, **{"stall.kind": "amnesia"})
        events = eventually(lambda: json_lines(tmp_path / "events.jsonl"))
    assert _conversations(found) == _conversations(by_kind) == {"stuck"}
    marked = _marked(found)
    assert {span.attributes["stall.kind"] for span in marked} == {"loop"}
    assert "stall.started" in {event.name for span in marked for event in span.events}
    assert len(found) == 13 + (7 if mode == "tap" else 0)
    assert all(("gen_ai.tool.name" in span.attributes) is (mode == "inline") for span in marked)
    assert "stall.started" in json.dumps(events)


def test_spans_wait_while_the_gateway_is_away(tmp_path: Path) -> None:
    """Inline, what was sent while no gateway ran arrives with its verdicts when one comes, none lost, none twice."""
    ports = Ports()
    spans = run("waiting", steps=12)
    with jaeger(tmp_path, ports) as api, collector("inline.yaml", tmp_path, ports):
        export(ports["OTLP_GRPC"], spans)
        time.sleep(1)
        assert not _search(api, **{"gen_ai.conversation.id": "waiting"})
        with process("--mode", "inline", "--forward", f"grpc://{ports['ADDED_GRPC']}", "--grpc", ports["STALL"]):
            eventually(lambda: len(_marked(_search(api, **{"stall.detected": "true"}))) == 7)
            found = _search(api, **{"stall.detected": "true"})
    assert sorted(span.span_id for span in found) == sorted(f"{span.context.span_id:016x}" for span in spans)
