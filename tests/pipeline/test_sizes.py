"""Spans that carry much: what agents say and read is long, and receivers refuse requests above a size for good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from chain import Ports, collector, eventually, export
from downstreams import Kept, grpc_downstream, process, spans_of
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider

from otel_stall.testing import RecordedProvider


def _long_spans(count: int, length: int) -> list[Any]:
    provider = TracerProvider(resource=Resource({"service.name": "agents"}), shutdown_on_exit=False)
    recorded = RecordedProvider(provider=provider)
    with recorded.agent("coder", conversation="long"):
        for number in range(count):
            said = {"gen_ai.conversation.id": "long", "gen_ai.agent.name": "coder"}
            recorded.tool("read_file", {"path": f"{number}.py"}, f"{number} " + "x" * length, attributes=said)
    return recorded.spans()


@pytest.mark.parametrize("mode", ["tap", "inline"])
def test_long_results_reach_the_backend(mode: str, tmp_path: Path) -> None:
    """Twelve MB of results in requests of one MB all arrive at a backend that refuses requests above 4 MiB."""
    ports, kept = Ports(), Kept()
    spans = _long_spans(240, 50_000)
    options = ["--mode", mode, "--forward", f"grpc://{ports['ADDED_GRPC']}", "--grpc", ports["STALL"]]
    with (
        grpc_downstream(kept.send) as ports["BACKEND"],  # whose limit is that of gRPC
        collector(f"{mode}.yaml", tmp_path, ports),
        process(*options),
    ):
        for at in range(0, len(spans), 20):
            export(ports["OTLP_GRPC"], spans[at : at + 20])
        eventually(lambda: len(spans_of(kept.requests)) >= len(spans))
    arrived = sorted(span.span_id for span in spans_of(kept.requests))
    assert arrived == sorted(span.context.span_id.to_bytes(8, "big") for span in spans)
