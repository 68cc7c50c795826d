"""The gateway as a process: it is ended, killed and started again, and what it accepted is delivered."""

from __future__ import annotations

import random
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from downstreams import Kept, attributes, grpc_downstream, process, records_of, run, spans_of, traces

from otel_stall.cli import main
from otel_stall.gateway.answers import OK, Answer, Code, Request
from otel_stall.otlp import Signal


def _verdicts(kept: Kept) -> dict[bytes, dict[str, Any]]:
    """Return the verdicts by span id; what arrived twice must say the same twice."""
    found: dict[bytes, dict[str, Any]] = {}
    for span in spans_of(kept.requests):
        said = {name: value for name, value in attributes(span).items() if name.startswith("stall.")}
        assert found.setdefault(span.span_id, said) == said
    return found


def test_sigterm_ends_it_with_what_runs_delivered() -> None:
    """A request that is under way when the signal comes is answered, and the exit status is 0."""
    begun = threading.Event()

    def slow(request: Request) -> Answer:
        begun.set()
        time.sleep(0.7)
        return kept.send(request)

    kept = Kept()
    with grpc_downstream(slow) as to, process("--mode", "inline", "--forward", f"grpc://{to}") as gateway:
        accepted: list[bool] = []
        client = threading.Thread(target=lambda: accepted.append(gateway.send(traces(run(steps=2)))))
        client.start()
        assert begun.wait(10)
        assert gateway.ended() == 0
        client.join()
    assert accepted == [True]
    assert len(spans_of(kept.requests)) == 3


def test_a_killed_gateway_that_comes_back_says_what_one_says_that_lived(tmp_path: Path) -> None:
    """Killed three times in the middle of traffic: verdicts and events are those of a gateway that was not."""
    spans = run(steps=40)
    pieces = [spans[at : at + 5] for at in range(0, len(spans), 5)]
    alive, killed = Kept(), Kept()
    with grpc_downstream(alive.send) as to, process("--mode", "inline", "--forward", f"grpc://{to}") as gateway:
        assert all(gateway.send(traces(piece)) for piece in pieces)
    options = ["--mode", "inline", "--state", str(tmp_path / "state")]
    with grpc_downstream(killed.send) as to:
        for turn in (pieces[:3], pieces[3:4], pieces[4:]):
            with process(*options, "--forward", f"grpc://{to}") as gateway:
                assert all(gateway.send(traces(piece)) for piece in turn)
                gateway.ended(signal.SIGKILL)
    assert _verdicts(killed) == _verdicts(alive)
    events = [record.event_name for record in records_of(killed.requests)]
    assert events == [record.event_name for record in records_of(alive.requests)]
    assert "stall.started" in events


def test_every_accepted_span_is_delivered_though_the_downstream_fails_half_of_the_time() -> None:
    """Counted by id: what was acknowledged has arrived, with one verdict, however often it was sent."""
    chance = random.Random(5)
    lock = threading.Lock()

    def flaky(request: Request) -> Answer:
        with lock:
            if request.signal is not Signal.METRICS and chance.random() < 0.5:
                # Half of the failures took the request all the same: the answer was lost on the way.
                if chance.random() < 0.5:
                    kept.send(request)
                return Answer(Code.UNAVAILABLE, retry_after=0.01)
            return kept.send(request)

    kept = Kept()
    conversations = [run(f"c-{number}", steps=20) for number in range(12)]
    accepted: list[bytes] = []
    with grpc_downstream(flaky) as to, process("--mode", "inline", "--forward", f"grpc://{to}") as gateway:

        def client(spans: list[Any]) -> None:
            for at in range(0, len(spans), 4):
                piece = spans[at : at + 4]
                assert gateway.send(traces(piece), attempts=40)
                accepted.extend(span.context.span_id.to_bytes(8, "big") for span in piece)

        clients = [threading.Thread(target=client, args=[spans]) for spans in conversations]
        for each in clients:
            each.start()
        for each in clients:
            each.join()
        assert gateway.ended() == 0
    verdicts = _verdicts(kept)
    assert len(accepted) == 12 * 21
    assert set(accepted) == set(verdicts)
    for spans in conversations:
        steps = [verdicts[span.context.span_id.to_bytes(8, "big")].get("stall.step") for span in spans[:-1]]
        assert steps == list(range(1, 21))


def test_status_tells_where_a_conversation_stands(capsys: pytest.CaptureFixture[str]) -> None:
    """The list, one conversation, and what is not known; as text and as JSON."""
    with grpc_downstream(lambda _: OK) as to, process("--forward", f"grpc://{to}") as gateway:
        assert gateway.send(traces(run("stuck/one")))
        assert gateway.send(traces(run("fine", steps=1)))
        admin = f"http://{gateway.addresses['admin']}"
        assert _main("status", "--admin", admin) == 0
        listed = capsys.readouterr().out
        assert _main("status", "stuck/one", "--admin", admin) == 0
        one = capsys.readouterr().out
        assert _main("status", "--stalled", "--format", "json", "--admin", admin) == 0
        stalled = capsys.readouterr().out
        assert _main("status", "nobody", "--admin", admin) == 1
        assert "not known here" in capsys.readouterr().err
    assert "fine coder" in listed
    assert "going on" in listed
    assert "loop at replan" in one
    assert "Ask the agent for another plan" in one
    assert '"id": "stuck/one"' in stalled
    assert '"id": "fine"' not in stalled
    assert _main("status", "--admin", admin) == 1
    assert "does not answer" in capsys.readouterr().err


def _main(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


_FORWARD = ("--forward", "grpc://127.0.0.1:1", "--grpc", "127.0.0.1:0", "--admin", "127.0.0.1:0")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "gateway.forward: must be given"),
        (["--forward", "x"], "gateway.forward.url: must be grpc://host:port"),
        ([*_FORWARD, "--grpc", "192.0.2.1:1"], "gateway.grpc: 192.0.2.1:1 cannot be listened on"),
        ([*_FORWARD, "--http", "192.0.2.1:1"], "gateway.http: 192.0.2.1:1"),
    ],
)
def test_what_cannot_start_says_why(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line with the setting's name, and exit status 2."""
    assert _main("serve", *options) == 2
    assert said in capsys.readouterr().err
