"""What the OTLP specification 1.11 asks of a receiver, over real sockets, in protobuf and JSON."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import grpc
import pytest
import urllib3
from downstreams import Kept, grpc_downstream, run, running, spans_of, traces
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health_pb2, health_pb2_grpc
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_stall.gateway.answers import Answer, Code
from otel_stall.gateway.forwarding import GRPC_METHODS
from otel_stall.otlp import Signal

PROTOBUF, JSON = "application/x-protobuf", "application/json"
EMPTY = {PROTOBUF: b"", JSON: b"{}"}
LIMIT = 100_000


@dataclass
class Gateway:
    """A running gateway, and its downstream."""

    http: str
    grpc: str
    kept: Kept
    pool: urllib3.PoolManager

    def post(self, body: bytes, kind: str = PROTOBUF, path: str = "/v1/traces", method: str = "POST", **headers: str):  # type: ignore[no-untyped-def]
        named = {"content-type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
        return self.pool.request(method, f"http://{self.http}{path}", body=body, headers=named, retries=False)


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    kept = Kept()
    limits = {"request_bytes": LIMIT}
    with (
        grpc_downstream(kept.send) as address,
        running(mode="inline", forward={"url": f"grpc://{address}"}, limits=limits, metrics_seconds=3600) as at,
        urllib3.PoolManager() as pool,
    ):
        yield Gateway(at["OTLP/HTTP"], at["OTLP/gRPC"], kept, pool)


@pytest.fixture(autouse=True)
def forgotten(gateway: Gateway) -> None:
    gateway.kept.requests.clear()


def _status(response: urllib3.BaseHTTPResponse) -> Status:
    """Return the google.rpc.Status in the body of a refusal, which is in the request's encoding."""
    if response.headers["content-type"].startswith(PROTOBUF):
        return Status.FromString(response.data)
    value = json.loads(response.data)
    return Status(code=value["code"], message=value["message"])


@pytest.mark.parametrize("kind", [PROTOBUF, JSON])
@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs", "/v1/metrics"])
def test_an_empty_request_succeeds(gateway: Gateway, kind: str, path: str) -> None:
    """200, a response in the encoding of the request, and no partial success."""
    response = gateway.post(EMPTY[kind], kind, path)
    assert response.status == 200
    assert response.headers["content-type"] == kind
    assert response.data == EMPTY[kind]


def test_a_content_type_may_have_parameters(gateway: Gateway) -> None:
    """`application/json; charset=utf-8` is JSON."""
    assert gateway.post(b"{}", "application/json; charset=utf-8").status == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
def test_other_methods_are_not_allowed(gateway: Gateway, method: str) -> None:
    """405, with the method that is."""
    response = gateway.post(b"", method=method)
    assert response.status == 405
    assert response.headers["allow"] == "POST"


def test_other_media_types_are_not_supported(gateway: Gateway) -> None:
    """415, with a status that says which are."""
    response = gateway.post(b"", "text/plain")
    assert response.status == 415
    assert JSON in _status(response).message


def test_other_paths_are_not_found(gateway: Gateway) -> None:
    """404, with a status in the body."""
    response = gateway.post(b"", PROTOBUF, "/v1/profiles")
    assert response.status == 404
    assert _status(response).code == Code.NOT_FOUND


@pytest.mark.parametrize(("kind", "body"), [(PROTOBUF, b"\xff\xff"), (JSON, b"{"), (JSON, b"[]"), (JSON, b"\xff")])
def test_bad_data_is_refused_for_good(gateway: Gateway, kind: str, body: bytes) -> None:
    """400 with INVALID_ARGUMENT in the encoding of the request; a client must not send it again."""
    response = gateway.post(body, kind)
    assert response.status == 400
    assert response.headers["content-type"] == kind
    assert _status(response).code == Code.INVALID_ARGUMENT
    assert "retry-after" not in response.headers


def test_gzip_is_taken_over_http(gateway: Gateway) -> None:
    """A compressed body is the request it holds, in one member or several."""
    body = traces(run(steps=3)).body
    assert gateway.post(gzip.compress(body), content_encoding="gzip").status == 200
    assert gateway.post(gzip.compress(body[:99]) + gzip.compress(body[99:]), content_encoding="gzip").status == 200
    assert len(spans_of(gateway.kept.requests)) == 8


@pytest.mark.parametrize("body", [b"", b"no gzip", gzip.compress(b"x" * 999)[:-9], zlib.compress(b"x")])
def test_damaged_gzip_is_refused(gateway: Gateway, body: bytes) -> None:
    """400, as any bad data."""
    assert gateway.post(body, content_encoding="gzip").status == 400


def test_other_content_encodings_are_refused(gateway: Gateway) -> None:
    """400, with what is taken."""
    response = gateway.post(b"", content_encoding="br")
    assert response.status == 400
    assert "gzip" in _status(response).message


def test_the_size_limit_holds_before_decompression(gateway: Gateway) -> None:
    """413, told by the length that is announced, or by what comes where none is."""
    assert gateway.post(b"x" * (LIMIT + 1)).status == 413
    chunked = gateway.pool.request(
        "POST",
        f"http://{gateway.http}/v1/traces",
        body=iter([b"x" * 60_000] * 3),
        headers={"content-type": PROTOBUF},
        chunked=True,
        retries=False,
    )
    assert chunked.status == 413


def test_the_size_limit_holds_after_decompression(gateway: Gateway) -> None:
    """A bomb of 64 MiB in 64 KiB is refused with 413, and little of it unpacked."""
    bomb = gzip.compress(b"\0" * (64 << 20))
    assert len(bomb) < LIMIT
    response = gateway.post(bomb, content_encoding="gzip")
    assert response.status == 413
    assert _status(response).code == Code.RESOURCE_EXHAUSTED


def test_a_request_to_come_back_says_when(gateway: Gateway) -> None:
    """503 with Retry-After, and RetryInfo in the status."""
    gateway.kept.script.append(Answer(Code.UNAVAILABLE, "later", retry_after=1.5))
    response = gateway.post(traces(run(steps=1)).body)
    assert response.status == 503
    assert response.headers["retry-after"] == "2"
    info = RetryInfo()
    assert _status(response).details[0].Unpack(info)
    assert (info.retry_delay.seconds, info.retry_delay.nanos) == (1, 500_000_000)


@pytest.mark.parametrize("kind", [PROTOBUF, JSON])
def test_partial_success_over_http(gateway: Gateway, kind: str) -> None:
    """200 with the count of what was rejected and why."""
    span = {"traceId": "0" * 32, "spanId": "0" * 16, "name": "x"}
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    if kind == PROTOBUF:
        message = traces(run(steps=1)[:1])
        body = message.body.replace(run(steps=1)[0].context.span_id.to_bytes(8, "big"), bytes(8))
    response = gateway.post(body, kind)
    assert response.status == 200
    if kind == JSON:
        assert json.loads(response.data)["partialSuccess"]["rejectedSpans"] == "1"
    else:
        assert ExportTraceServiceResponse.FromString(response.data).partial_success.rejected_spans == 1


def _grpc(gateway: Gateway, body: bytes, signal: Signal = Signal.TRACES, **more: object) -> bytes:
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(gateway.grpc, options=options) as channel:
        return bytes(channel.unary_unary(GRPC_METHODS[signal])(body, timeout=10, **more))


@pytest.mark.parametrize("signal", list(Signal))
@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_an_empty_grpc_request_succeeds(gateway: Gateway, signal: Signal, compression: grpc.Compression) -> None:
    """OK, with an empty response, compressed or not."""
    assert _grpc(gateway, b"", signal, compression=compression) == b""


def test_bad_data_over_grpc(gateway: Gateway) -> None:
    """INVALID_ARGUMENT."""
    with pytest.raises(grpc.RpcError) as refused:
        _grpc(gateway, b"\xff\xff")
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_the_size_limit_over_grpc(gateway: Gateway, compression: grpc.Compression) -> None:
    """RESOURCE_EXHAUSTED without RetryInfo: not to be sent again; for what a compressed message unpacks to as well."""
    with pytest.raises(grpc.RpcError) as refused:
        _grpc(gateway, b"\0" * (LIMIT + 1), compression=compression)
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert not [key for key, _ in refused.value.trailing_metadata() or () if key == "grpc-status-details-bin"]


def test_a_grpc_request_to_come_back_says_when(gateway: Gateway) -> None:
    """UNAVAILABLE with RetryInfo in the details."""
    gateway.kept.script.append(Answer(Code.UNAVAILABLE, "later", retry_after=1.5))
    with pytest.raises(grpc.RpcError) as refused:
        _grpc(gateway, traces(run(steps=1)).body)
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    (details,) = [value for key, value in refused.value.trailing_metadata() if key == "grpc-status-details-bin"]
    info = RetryInfo()
    assert Status.FromString(details).details[0].Unpack(info)
    assert info.retry_delay.seconds == 1


def test_an_unknown_grpc_method_is_unimplemented(gateway: Gateway) -> None:
    """Profiles are no signal of this gateway."""
    with grpc.insecure_channel(gateway.grpc) as channel, pytest.raises(grpc.RpcError) as refused:
        channel.unary_unary("/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export")(b"")
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_grpc_health(gateway: Gateway) -> None:
    """The gRPC health protocol says that the server serves."""
    with grpc.insecure_channel(gateway.grpc) as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=10)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


_BODIES = st.one_of(
    st.binary(max_size=300), st.binary(max_size=40).map(lambda cut: traces(run(steps=2)).body[:-20] + cut)
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=_BODIES, kind=st.sampled_from([PROTOBUF, JSON]), path=st.sampled_from(["/v1/traces", "/v1/logs"]))
def test_any_body_is_answered(gateway: Gateway, body: bytes, kind: str, path: str) -> None:
    """200 or 400, never another status and never the end of the process."""
    assert gateway.post(body, kind, path).status in (200, 400)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["resourceSpans", "scopeSpans", "spans", "traceId", "spanId", "attributes", "key", "value", "stringValue",
         "events", "status", "startTimeUnixNano", "resourceLogs", "scopeLogs", "logRecords", "body", "kvlistValue"]
    ), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=st.dictionaries(st.sampled_from(["resourceSpans", "resourceLogs"]), _VALUES, max_size=2))
def test_any_json_of_the_names_is_answered(gateway: Gateway, value: object) -> None:
    """JSON with the protocol's names in the wrong places is answered with 200 or 400, too."""
    for path in ("/v1/traces", "/v1/logs"):
        assert gateway.post(json.dumps(value).encode(), JSON, path).status in (200, 400)


def test_deep_json_is_answered(gateway: Gateway) -> None:
    """A hundred thousand brackets end no process."""
    assert gateway.post(b'{"resourceSpans":' + b"[" * 40_000 + b"]" * 40_000 + b"}", JSON).status == 400


def test_the_gateway_still_works_after_all_that(gateway: Gateway) -> None:
    """A sound request passes after every bad one."""
    assert gateway.post(traces(run("last")).body).status == 200
    assert spans_of(gateway.kept.requests)
