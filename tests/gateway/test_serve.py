"""The gateway as it runs: real clients, real sockets, a downstream that keeps what it gets."""

from __future__ import annotations

import pytest
from downstreams import Kept, attributes, grpc_downstream, records_of, run, running, spans_of
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace.export import SpanExportResult


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_inline_annotates_what_real_clients_send(protocol: str) -> None:
    """What the SDK's exporters send arrives downstream with the verdicts on its tool spans, and events beside."""
    kept = Kept()
    with grpc_downstream(kept.send) as address, running(mode="inline", forward={"url": f"grpc://{address}"}) as at:
        exporter = (
            GrpcExporter(endpoint=at["OTLP/gRPC"], insecure=True)
            if protocol == "grpc"
            else HttpExporter(endpoint=f"http://{at['OTLP/HTTP']}/v1/traces")
        )
        sent = run()
        assert exporter.export(sent) is SpanExportResult.SUCCESS
        exporter.shutdown()
    arrived = spans_of(kept.requests)
    assert [span.span_id for span in arrived] == [span.context.span_id.to_bytes(8, "big") for span in sent]
    steps = [attributes(span) for span in arrived if span.name.startswith("execute_tool")]
    assert [step["stall.step"] for step in steps] == list(range(1, len(steps) + 1))
    assert steps[-1]["stall.detected"] is True
    assert next(record.event_name for record in records_of(kept.requests)) == "stall.started"
