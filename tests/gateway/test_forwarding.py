"""What a downstream's answers mean for the client: what is retried, what is refused for good, what is not taken."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from downstreams import grpc_downstream, run, traces
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from otel_stall.errors import DecodeError
from otel_stall.gateway.answers import OK, Answer, Code, Encoding, Request
from otel_stall.gateway.conversion import as_protobuf
from otel_stall.gateway.forwarding import create_forwarder
from otel_stall.gateway.settings import ForwardConfig
from otel_stall.otlp import Signal
from otel_stall.otlp.protobuf import to_json

EMPTY = Request(Signal.TRACES, b"")
_Came = tuple[str, dict[str, str], bytes]


def _sent(url: str, request: Request = EMPTY, **settings: object) -> Answer:
    forwarder = create_forwarder(ForwardConfig.model_validate({"url": url, "timeout_seconds": 5, **settings}))
    try:
        return forwarder.send(request)
    finally:
        forwarder.close()


@contextmanager
def _http(status: int, headers: dict[str, str] | None = None, body: bytes = b"") -> Iterator[tuple[str, list[_Came]]]:
    """Serve one answer on loopback; give the address, and what came."""
    came: list[_Came] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"]))
            came.append((self.path, {name.lower(): value for name, value in self.headers.items()}, content))
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", came
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (Code.CANCELLED, Code.UNAVAILABLE),
        (Code.DEADLINE_EXCEEDED, Code.UNAVAILABLE),
        (Code.ABORTED, Code.UNAVAILABLE),
        (Code.OUT_OF_RANGE, Code.UNAVAILABLE),
        (Code.UNAVAILABLE, Code.UNAVAILABLE),
        (Code.DATA_LOSS, Code.UNAVAILABLE),
        (Code.UNAUTHENTICATED, Code.UNAVAILABLE),
        (Code.PERMISSION_DENIED, Code.UNAVAILABLE),
        (Code.INVALID_ARGUMENT, Code.INVALID_ARGUMENT),
        (Code.INTERNAL, Code.INVALID_ARGUMENT),
        (Code.RESOURCE_EXHAUSTED, Code.INVALID_ARGUMENT),
    ],
)
def test_codes_of_grpc(theirs: Code, ours: Code) -> None:
    """Retryable codes and a wrong set-up of our own ask the client to come back; what else is refused is the data's."""
    with grpc_downstream(lambda _: Answer(theirs)) as address:
        assert _sent(f"grpc://{address}").code is ours


def test_a_delay_over_grpc_is_passed_on() -> None:
    """RetryInfo makes even RESOURCE_EXHAUSTED retryable, and its delay goes to the client."""
    with grpc_downstream(lambda _: Answer(Code.RESOURCE_EXHAUSTED, retry_after=7.5)) as address:
        answer = _sent(f"grpc://{address}")
    assert (answer.code, answer.retry_after) == (Code.UNAVAILABLE, 7.5)


def test_a_signal_that_is_not_taken_over_grpc() -> None:
    """A downstream without logs is told apart from one that does not take traces, which is a wrong address."""
    with grpc_downstream(lambda _: Answer(Code.UNIMPLEMENTED)) as address:
        assert _sent(f"grpc://{address}", Request(Signal.LOGS, b"")).code is Code.UNIMPLEMENTED
        assert _sent(f"grpc://{address}").code is Code.UNAVAILABLE


def test_partial_success_over_grpc() -> None:
    """What the downstream rejected is in the answer."""
    with grpc_downstream(lambda _: Answer(message="too old", rejected=2)) as address:
        assert _sent(f"grpc://{address}") == Answer(message="too old", rejected=2)


@pytest.mark.parametrize("scheme", ["grpc", "http"])
def test_nobody_there_is_a_reason_to_come_back(scheme: str) -> None:
    """A connection that fails is no fault of the data."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert _sent(f"{scheme}://127.0.0.1:{taken.getsockname()[1]}", timeout_seconds=2).code is Code.UNAVAILABLE


def test_a_downstream_that_comes_back_is_found_soon() -> None:
    """After a while of refusals a request is taken within seconds of the downstream's return."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    forwarder = create_forwarder(ForwardConfig.model_validate({"url": f"grpc://{address}", "timeout_seconds": 1}))
    until = time.monotonic() + 4
    while time.monotonic() < until:
        assert not forwarder.send(EMPTY).ok
        time.sleep(0.2)
    with grpc_downstream(lambda _: OK, address):
        until = time.monotonic() + 8
        while not forwarder.send(EMPTY).ok:
            assert time.monotonic() < until
            time.sleep(0.2)
    forwarder.close()


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (200, Code.OK),
        (202, Code.OK),
        (400, Code.INVALID_ARGUMENT),
        (413, Code.INVALID_ARGUMENT),
        (500, Code.INVALID_ARGUMENT),
        (401, Code.UNAVAILABLE),
        (403, Code.UNAVAILABLE),
        (404, Code.UNAVAILABLE),
        (301, Code.UNAVAILABLE),
        (429, Code.UNAVAILABLE),
        (502, Code.UNAVAILABLE),
        (503, Code.UNAVAILABLE),
        (504, Code.UNAVAILABLE),
    ],
)
def test_statuses_of_http(status: int, code: Code) -> None:
    """The same over HTTP, by status; a redirection is not followed."""
    with _http(status, {"location": "http://127.0.0.1:1/"}) as (url, came):
        assert _sent(url).code is code
    assert len(came) == 1


@pytest.mark.parametrize(("ahead", "low", "high"), [(None, 3, 3), (60, 30, 61), (-60, 0, 0)])
def test_retry_after_is_passed_on(ahead: int | None, low: float, high: float) -> None:
    """Seconds or a date."""
    dated = format_datetime(datetime.now(UTC) + timedelta(seconds=ahead or 0), usegmt=True)
    value = "3" if ahead is None else dated
    with _http(503, {"retry-after": value}) as (url, _):
        delay = _sent(url).retry_after
    assert delay is not None
    assert low <= delay <= high


def test_a_retry_after_that_is_neither_is_left_out() -> None:
    """The client then waits as it likes."""
    with _http(503, {"retry-after": "soon"}) as (url, _):
        assert _sent(url).retry_after is None


def test_a_token_and_compression_are_sent(tmp_path: Path) -> None:
    """The bearer token of a file, and gzip where it is asked for; the path is the signal's."""
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    with _http(200) as (url, came):
        assert _sent(url, Request(Signal.LOGS, b"x"), token_file=token, compression="gzip") == OK
    ((path, headers, content),) = came
    assert path == "/v1/logs"
    assert headers["authorization"] == "Bearer s3cret"
    assert headers["content-encoding"] == "gzip"
    assert content[:2] == b"\x1f\x8b"


def test_partial_success_in_json() -> None:
    """A response in JSON to a request in JSON."""
    body = json.dumps({"partialSuccess": {"rejectedSpans": "4", "errorMessage": "no"}}).encode()
    with _http(200, body=body) as (url, _):
        assert _sent(url, Request(Signal.TRACES, b"{}", Encoding.JSON)) == Answer(message="no", rejected=4)


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b'{"partialSuccess": 3}', b"\xff"])
def test_a_success_with_an_odd_body_is_one(body: bytes) -> None:
    """What cannot be read of a 200 rejects nothing."""
    for encoding in Encoding:
        with _http(200, body=body) as (url, _):
            assert _sent(url, Request(Signal.TRACES, b"", encoding)).ok


def test_json_becomes_the_same_request_in_protobuf() -> None:
    """For gRPC a request in JSON is converted: ids, times, links and attributes are the same."""
    request = traces(run(steps=3))
    value = to_json(TracesData.FromString(request.body))
    converted = as_protobuf(Request(Signal.TRACES, json.dumps(value).encode(), Encoding.JSON))
    assert to_json(TracesData.FromString(converted.body)) == value


def test_ids_of_exemplars_are_converted_too() -> None:
    """Metrics in JSON carry ids of traces in hex."""
    point = {"asInt": "3", "exemplars": [{"traceId": "0A" * 16, "spanId": "0b" * 8, "asDouble": 1}]}
    metric = {"name": "m", "sum": {"dataPoints": [point]}}
    body = json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}], "unknown": 1}).encode()
    message = MetricsData.FromString(as_protobuf(Request(Signal.METRICS, body, Encoding.JSON)).body)
    exemplar = message.resource_metrics[0].scope_metrics[0].metrics[0].sum.data_points[0].exemplars[0]
    assert (exemplar.trace_id, exemplar.span_id) == (b"\x0a" * 16, b"\x0b" * 8)


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"resourceSpans": 3}', b'{"resourceSpans": [{"scopeSpans": {}}]}'])
def test_what_is_no_request_is_refused_for_good(body: bytes) -> None:
    """JSON of another shape cannot be converted: that is said, and a client must not send it again."""
    request = Request(Signal.TRACES, body, Encoding.JSON)
    with pytest.raises(DecodeError):
        as_protobuf(request)
    assert _sent("grpc://127.0.0.1:1", request).code is Code.INVALID_ARGUMENT
