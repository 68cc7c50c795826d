"""Sampling behind otel-stall: what stalled is kept, however late, and what did not is sampled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from chain import Ports, collector, eventually, export
from downstreams import Kept, attributes, grpc_downstream, process, run, spans_of
from opentelemetry.sdk.trace import TracerProvider

from otel_stall.testing import RecordedProvider


class Sampled:
    """keep-stalled.yaml behind a gateway: keeps traces with a mark or an error, and nothing else."""

    def __init__(self, gateway: str) -> None:
        self.kept = Kept()
        self._gateway = gateway

    def send(self, spans: Sequence[Any]) -> None:
        """Export spans to the gateway and wait until the sampler has decided about them.

        A trace with an error is kept, and decided about no earlier than what was sent before it.
        """
        fence = RecordedProvider(provider=TracerProvider(shutdown_on_exit=False))
        fence.tool("bash", error="timeout")
        export(self._gateway, spans)
        export(self._gateway, fence.spans())
        wanted = _ids(fence.spans())[0]
        eventually(lambda: wanted in [span.span_id for span in spans_of(self.kept.requests)])

    def arrived(self, spans: Sequence[Any]) -> list[bytes]:
        """Return which of these spans have reached the backend, each as often as it did."""
        wanted = set(_ids(spans))
        return sorted(span.span_id for span in spans_of(self.kept.requests) if span.span_id in wanted)

    def marked(self) -> set[bytes]:
        """Return the spans in the backend that lie inside a stall."""
        return {span.span_id for span in spans_of(self.kept.requests) if attributes(span).get("stall.detected") is True}


def _ids(spans: Sequence[Any]) -> list[bytes]:
    return sorted(span.context.span_id.to_bytes(8, "big") for span in spans)


@pytest.fixture
def sampled(tmp_path: Path) -> Iterator[Sampled]:
    ports = Ports()
    found = Sampled(ports["STALL"])
    options = ["--mode", "inline", "--forward", f"grpc://{ports['ADDED_GRPC']}", "--grpc", ports["STALL"]]
    with (
        grpc_downstream(found.kept.send) as ports["BACKEND"],
        collector("keep-stalled.yaml", tmp_path, ports, DECISION_WAIT="1s", SAMPLING_PERCENTAGE="0"),
        process(*options),
    ):
        yield found


def test_a_stalled_trace_is_kept_whole_and_a_healthy_one_is_not(sampled: Sampled) -> None:
    """Marked spans and the others of their trace arrive, each once; of a healthy trace nothing, at 0 percent."""
    stuck, healthy = run("stuck", steps=12), run("healthy", steps=1)
    sampled.send([*healthy, *stuck])
    eventually(lambda: len(sampled.arrived(stuck)) >= len(stuck))
    assert sampled.arrived(stuck) == _ids(stuck)
    assert sampled.arrived(healthy) == []
    assert len(sampled.marked()) > 5


def test_a_stall_that_begins_after_the_sampler_has_decided_is_kept(sampled: Sampled) -> None:
    """The trace was sampled out while all was well; its marked spans arrive all the same, each once."""
    spans = run("late", steps=20)
    early, late = spans[:2], spans[2:]
    sampled.send(early)
    assert sampled.arrived(early) == []
    sampled.send(late)
    arrived = sampled.arrived(spans)
    assert set(arrived) == sampled.marked() & set(_ids(spans))
    assert len(arrived) == len(set(arrived)) > 10
