"""Shards that say what one says, and recordings of hosts through the real collector."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
import urllib3
from chain import Ports, collector, eventually, export, json_lines
from downstreams import Kept, Process, attributes, conversation_spans, grpc_downstream, process, spans_of
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from otel_stall.analysis import analyze
from otel_stall.otlp import Signal, log_views, signal_of, views
from otel_stall.otlp.protobuf import to_json
from otel_stall.spans import SpanView

HOSTS: Final = Path(__file__).parents[1] / "fixtures/hosts"
SHARED: Final = Path(__file__).parents[3] / "shared/data/otlp"


def test_shards_say_what_one_says(tmp_path: Path) -> None:
    """Three gateways between the two tiers, by conversation, give the verdicts of one on its own."""
    conversations = [conversation_spans(f"c-{number}", random.Random(number)) for number in range(30)]
    batches = _mixed(conversations, random.Random(7))
    alone = Kept()
    with (
        grpc_downstream(alone.send) as to,
        process("--mode", "inline", "--forward", f"grpc://{to}", "--grpc", Ports()["ONE"]) as one,
    ):
        for batch in batches:
            export(one.addresses["OTLP/gRPC"], batch)
    ports, kept = Ports(), Kept()
    with grpc_downstream(kept.send) as ports["BACKEND"], ExitStack() as stack:
        stack.enter_context(collector("two-tier/tier2.yaml", tmp_path, ports, HEALTH=ports["TIER_2_HEALTH"]))
        forward = ["--mode", "inline", "--forward", f"grpc://{ports['ADDED_GRPC']}"]
        shards: list[Process] = []
        for name in ("SHARD_1", "SHARD_2", "SHARD_3"):
            shards.append(stack.enter_context(process(*forward, "--grpc", ports[name])))
        stack.enter_context(collector("two-tier/tier1.yaml", tmp_path, ports))
        for batch in batches:
            export(ports["OTLP_GRPC"], batch)
        eventually(lambda: len(spans_of(kept.requests)) >= sum(map(len, conversations)))
        known = [_known(shard) for shard in shards]
    assert _verdicts(kept.requests) == _verdicts(alone.requests)
    assert sum(said.get("stall.detected") is True for said in _verdicts(alone.requests).values()) > 50
    assert all(known), "a shard got no conversation"
    assert sum(map(len, known)) == len(set.union(*known)) == len(conversations)


def _mixed(conversations: Sequence[Sequence[Any]], source: random.Random) -> list[list[Any]]:
    """Return batches of several conversations each, every conversation in its own order."""
    left = [list(spans) for spans in conversations]
    batches: list[list[Any]] = []
    while any(left):
        batch = []
        for spans in source.sample(left, k=8):
            take = min(len(spans), source.randrange(1, 6))
            batch += [spans.pop(0) for _ in range(take)]
        if batch:
            batches.append(batch)
    return batches


def _known(shard: Process) -> set[str]:
    url = f"http://{shard.addresses['admin']}/conversations?limit=1000"
    answer = urllib3.request("GET", url, retries=False, timeout=10)
    return {lane["id"] for lane in answer.json()["conversations"]}


def _verdicts(requests: Iterable[Any]) -> dict[bytes, dict[str, object]]:
    found: dict[bytes, dict[str, object]] = {}
    for span in spans_of(list(requests)):
        said = {name: value for name, value in attributes(span).items() if name.startswith("stall.")}
        assert found.setdefault(span.span_id, said) == said
    return found


def _recordings() -> list[Any]:
    folders = [HOSTS, *([SHARED] if SHARED.is_dir() else [])]
    found: dict[tuple[Path, str], list[Path]] = {}
    for folder in folders:
        for path in sorted(folder.iterdir()):
            name, _, signal = path.name.removesuffix(".json").removesuffix(".jsonl").rpartition(".")
            if signal in ("traces", "logs"):
                found.setdefault((folder, name), []).append(path)
            elif folder == HOSTS and path.suffix == ".jsonl":
                found[folder, path.stem] = [path]
    return [pytest.param(paths, id=f"{folder.name}-{name}") for (folder, name), paths in found.items()]


@pytest.fixture(scope="module")
def route(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The collector with inline.yaml; gateways come and go behind it, one for each recording."""
    folder, ports, kept = tmp_path_factory.mktemp("route"), Ports(), Kept()
    with grpc_downstream(kept.send) as ports["BACKEND"], collector("inline.yaml", folder, ports):
        yield folder, ports, kept


@pytest.mark.parametrize("paths", _recordings())
def test_recordings_over_the_wire_are_judged_as_from_the_file(
    paths: list[Path], route: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls of real hosts get the same gains, reasons and stalls through collector and gateway as from `analyze`."""
    folder, ports, kept = route
    monkeypatch.setenv("OTEL_STALL_GATEWAY_SETTLE_SECONDS", "2")  # replayed at once, spans and records are close
    requests = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    requests = sorted((one for one in requests if signal_of(one) in (Signal.TRACES, Signal.LOGS)), key=_time)
    kept.requests.clear()
    events = folder / "events.jsonl"
    before = len(json_lines(events))
    items = sum(len(_views([one])) for one in requests)
    with process("--mode", "inline", "--forward", f"grpc://{ports['ADDED_GRPC']}", "--grpc", ports["STALL"]):
        for one in requests:
            path = "logs" if signal_of(one) is Signal.LOGS else "traces"
            url, body = f"http://{ports['OTLP_HTTP']}/v1/{path}", json.dumps(one)
            answer = urllib3.request("POST", url, body=body, headers={"content-type": "application/json"})
            assert answer.status == 200, answer.data

        def arrived() -> list[SpanView]:
            traces = [to_json(TracesData.FromString(request.body)) for request in kept.of(Signal.TRACES)]
            found = _views([*traces, *json_lines(events)[before:]])
            return found if sum(view.scope != "otel_stall" for view in found) >= items else []

        found = eventually(arrived)
    assert (_told(found), _stalls(found)) == _expected(_views(requests))


def _time(request: Any) -> int:
    return max((view.end_ns for view in _views([request])), default=0)


def _views(requests: Iterable[Any]) -> list[SpanView]:
    found: list[SpanView] = []
    for request in requests:
        read = log_views if signal_of(request) is Signal.LOGS else views
        found += read(request, lambda _: None)
    return found


def _told(found: Iterable[SpanView]) -> Counter[tuple[object, ...]]:
    """Return how often each verdict was written."""
    written = {view.span_id: view.attributes for view in found if "stall.gain.type" in view.attributes}
    return Counter((said["stall.gain.type"], said["stall.gain.reason"]) for said in written.values())


def _stalls(found: Iterable[SpanView]) -> set[tuple[object, ...]]:
    """Return first step, kind and level of each stall, as the last step inside it has them."""
    inside = [view.attributes for view in found if view.attributes.get("stall.detected") is True]
    inside.sort(key=lambda said: int(str(said["stall.step"])))
    last = {said["stall.first_step"]: (said["stall.kind"], said["stall.level"]) for said in inside}
    return {(first, *said) for first, said in last.items()}


def _expected(found: Iterable[SpanView]) -> tuple[Counter[tuple[object, ...]], set[tuple[object, ...]]]:
    lanes = analyze(found, details=True).conversations
    details: Counter[tuple[object, ...]] = Counter(
        (step.gain.value, step.reason) for lane in lanes for step in lane.details
    )
    return details, {(s.first_step, s.kind.value, s.level.value) for lane in lanes for s in lane.stalls}
