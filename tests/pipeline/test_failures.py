"""What becomes of spans while a part is away: behind otel-stall as tap, inline with a queue, inline failing open."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from chain import Ports, collector, eventually, export, haproxy
from downstreams import Kept, attributes, grpc_downstream, process, run, spans_of


def _ids(spans: Sequence[Any]) -> list[bytes]:
    return sorted(span.context.span_id.to_bytes(8, "big") for span in spans)


def _arrived(kept: Kept) -> list[bytes]:
    return sorted(span.span_id for span in spans_of(kept.requests))


def _judged(kept: Kept, spans: Sequence[Any]) -> int:
    wanted = set(_ids(spans))
    return sum("stall.step" in attributes(span) for span in spans_of(kept.requests) if span.span_id in wanted)


def test_as_a_tap_its_absence_is_not_noticed(tmp_path: Path) -> None:
    """Spans reach the backend as they were, while no gateway has ever been there, and after one was killed."""
    ports, kept = Ports(), Kept()
    before, after = run("before", steps=12), run("after", steps=12)
    with grpc_downstream(kept.send) as ports["BACKEND"], collector("tap.yaml", tmp_path, ports):
        export(ports["OTLP_GRPC"], before)
        eventually(lambda: len(_arrived(kept)) >= len(before))
        with process("--forward", f"grpc://{ports['ADDED_GRPC']}", "--grpc", ports["STALL"]):
            pass  # killed where the block ends
        export(ports["OTLP_GRPC"], after)
        eventually(lambda: len(_arrived(kept)) >= len(before) + len(after))
    assert _arrived(kept) == sorted(_ids(before) + _ids(after))
    assert not _judged(kept, [*before, *after])


def test_failing_open_spans_go_past_a_gateway_that_is_away(tmp_path: Path) -> None:
    """Behind HAProxy they arrive at once without verdicts while it is away, with verdicts while it is there."""
    ports, kept = Ports(), Kept()
    before, during, after = (run(name, steps=12) for name in ("before", "during", "after"))
    options = ["--mode", "inline", "--forward", f"grpc://{ports['ADDED_GRPC']}", "--grpc", ports["GATEWAY"]]
    with grpc_downstream(kept.send) as ports["BACKEND"], ExitStack() as stack:
        is_up = stack.enter_context(haproxy(tmp_path, ports))
        stack.enter_context(collector("inline.yaml", tmp_path, ports, STALL=ports["AROUND"]))
        export(ports["OTLP_GRPC"], before)
        eventually(lambda: len(_arrived(kept)) >= len(before))
        with process(*options, "--admin", ports["ADMIN"]):
            eventually(lambda: is_up("otel-stall"))
            export(ports["OTLP_GRPC"], during)
            eventually(lambda: len(_arrived(kept)) >= len(before) + len(during))
        export(ports["OTLP_GRPC"], after)
        eventually(lambda: len(_arrived(kept)) >= len(before) + len(during) + len(after))
    assert _arrived(kept) == sorted(_ids([*before, *during, *after]))
    assert (_judged(kept, before), _judged(kept, during), _judged(kept, after)) == (0, 12, 0)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_the_queue_before_the_gateway_outlives_the_collector(end: signal.Signals, tmp_path: Path) -> None:
    """What waited on disk when the collector was killed or stopped is judged and delivered once both are back."""
    ports, kept = Ports(), Kept()
    spans = run("waiting", steps=12)
    with grpc_downstream(kept.send) as ports["BACKEND"]:
        with collector("inline.yaml", tmp_path, ports) as running:
            export(ports["OTLP_GRPC"], spans)
            running.send_signal(end)
            running.wait(20)
        with (
            collector("inline.yaml", tmp_path, ports),
            process("--mode", "inline", "--forward", f"grpc://{ports['ADDED_GRPC']}", "--grpc", ports["STALL"]),
        ):
            eventually(lambda: len(_arrived(kept)) >= len(spans))
    assert _arrived(kept) == _ids(spans)
    assert _judged(kept, spans) == 12


def test_a_shard_that_is_away_holds_up_its_own_conversations_alone(tmp_path: Path) -> None:
    """The other shards' spans arrive, judged; its own wait for it. Every span arrives once."""
    ports, kept = Ports(), Kept()
    conversations = [run(f"c-{number}", steps=12) for number in range(24)]
    spans = [span for conversation in conversations for span in conversation]

    def whole() -> int:
        arrived = set(_arrived(kept))
        return sum(arrived.issuperset(_ids(conversation)) for conversation in conversations)

    with grpc_downstream(kept.send) as to, ExitStack() as stack:
        options = ["--mode", "inline", "--forward", f"grpc://{to}"]
        for name in ("SHARD_1", "SHARD_3"):
            stack.enter_context(process(*options, "--grpc", ports[name]))
        stack.enter_context(collector("two-tier/tier1.yaml", tmp_path, ports))
        for at in range(0, 13, 4):  # requests with spans of every conversation
            export(ports["OTLP_GRPC"], [span for one in conversations for span in one[at : at + 4]])
        first = eventually(lambda: whole() if whole() >= 3 else 0)
        time.sleep(3)
        assert _arrived(kept) == sorted(set(_arrived(kept)))
        assert 3 <= first <= whole() < len(conversations)
        stack.enter_context(process(*options, "--grpc", ports["SHARD_2"]))
        eventually(lambda: whole() == len(conversations))
    assert _arrived(kept) == _ids(spans)
    assert _judged(kept, spans) == 12 * len(conversations)
