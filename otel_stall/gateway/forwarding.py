"""Where requests go: a downstream that takes OTLP over gRPC or HTTP, and what its answers mean for the client.

Codes and statuses that ask for a retry (OTLP specification 1.11, "Failures") become UNAVAILABLE, with the
delay the downstream asked for. So do refusals that lie in the gateway's own set-up, a wrong token or a wrong
address: the data is not to blame, and a client would drop it. What else is refused is the data's fault.
"""

from __future__ import annotations

import gzip
import json
import time
from abc import ABC, abstractmethod
from email.utils import parsedate_to_datetime
from typing import Any, Final

import grpc
import urllib3
from google.protobuf.message import DecodeError as ProtobufError
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_stall.errors import DecodeError
from otel_stall.gateway.answers import OK, Answer, Code, Encoding, Request
from otel_stall.gateway.conversion import as_protobuf
from otel_stall.gateway.settings import ForwardConfig
from otel_stall.otlp import Signal

__all__ = ["GRPC_METHODS", "HTTP_PATHS", "Forwarder", "GrpcForwarder", "HttpForwarder", "create_forwarder"]

HTTP_PATHS: Final = {Signal.TRACES: "/v1/traces", Signal.LOGS: "/v1/logs", Signal.METRICS: "/v1/metrics"}
"""Path of each signal."""
_SERVICE: Final = "/opentelemetry.proto.collector.{0}.v1.{1}Service/Export"
GRPC_METHODS: Final = {
    Signal.TRACES: _SERVICE.format("trace", "Trace"),
    Signal.LOGS: _SERVICE.format("logs", "Logs"),
    Signal.METRICS: _SERVICE.format("metrics", "Metrics"),
}
"""Full gRPC method of each signal."""

_RECONNECT_MS: Final = 5_000  # gRPC's own two minutes would defer for long after a downstream is back
_MESSAGE_BYTES: Final = 4 << 20  # the most a response may have
_RETRIED: Final = frozenset(
    grpc.StatusCode[name]
    for name in ("CANCELLED", "DEADLINE_EXCEEDED", "ABORTED", "OUT_OF_RANGE", "UNAVAILABLE", "DATA_LOSS")
)
_OURS: Final = frozenset((grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED))
_RETRIED_STATUSES: Final = frozenset((429, 502, 503, 504))
_OUR_STATUSES: Final = frozenset((301, 302, 307, 308, 401, 403, 404, 405, 407))


class Forwarder(ABC):
    """Sends requests downstream; may be called on any thread, blocks for `timeout` at most and raises nothing."""

    @abstractmethod
    def send(self, request: Request) -> Answer:
        """Return what the client of this request is to be told.

        UNIMPLEMENTED: the downstream does not take the signal at all.
        """

    @abstractmethod
    def close(self) -> None:
        """Give up the connections."""


class GrpcForwarder(Forwarder):
    """Sends over gRPC; a request in JSON becomes protobuf on the way."""

    def __init__(self, config: ForwardConfig) -> None:
        self._timeout = config.timeout_seconds
        self._headers = tuple(config.headers().items())
        options = [
            ("grpc.max_receive_message_length", _MESSAGE_BYTES),
            ("grpc.max_send_message_length", -1),
            ("grpc.initial_reconnect_backoff_ms", 500),
            ("grpc.max_reconnect_backoff_ms", _RECONNECT_MS),
        ]
        compression = grpc.Compression.Gzip if config.compression == "gzip" else grpc.Compression.NoCompression
        address = config.address
        self._channel = (
            grpc.secure_channel(address, config.credentials(), options, compression)
            if config.secure
            else grpc.insecure_channel(address, options, compression)
        )
        self._calls = {signal: self._channel.unary_unary(method) for signal, method in GRPC_METHODS.items()}

    def send(self, request: Request) -> Answer:
        """Send one request."""
        try:
            body = as_protobuf(request).body
            response = self._calls[request.signal](body, timeout=self._timeout, metadata=self._headers)
        except DecodeError as error:
            return Answer(Code.INVALID_ARGUMENT, str(error))
        except grpc.RpcError as error:
            return _refused(error, request.signal)
        return _accepted(response, Encoding.PROTOBUF)

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()


class HttpForwarder(Forwarder):
    """Sends over HTTP, in the encoding of the request."""

    def __init__(self, config: ForwardConfig) -> None:
        self._url = config.url.rstrip("/")
        self._headers = config.headers()
        self._gzip = config.compression == "gzip"
        timeout = urllib3.Timeout(total=config.timeout_seconds)
        self._pool = urllib3.PoolManager(
            maxsize=config.connections, retries=False, timeout=timeout, **config.verification()
        )

    def send(self, request: Request) -> Answer:
        """Send one request."""
        headers = {**self._headers, "content-type": request.encoding.value}
        body = request.body
        if self._gzip:
            body, headers["content-encoding"] = gzip.compress(body, 1), "gzip"
        try:
            response = self._pool.request(
                "POST", self._url + HTTP_PATHS[request.signal], body=body, headers=headers, redirect=False
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            return Answer(Code.UNAVAILABLE, f"the downstream cannot be reached: {type(error).__name__}")
        if response.status // 100 == 2:
            return _accepted(response.data, request.encoding)
        return _http_refused(response.status, response.headers.get("retry-after"), request.signal)

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()


def create_forwarder(config: ForwardConfig) -> Forwarder:
    """Return the forwarder for the scheme of a URL: grpc, grpcs, http or https."""
    return GrpcForwarder(config) if config.is_grpc else HttpForwarder(config)


def _accepted(body: bytes, encoding: Encoding) -> Answer:
    """Return OK with what the downstream rejected; the responses of all signals have the same shape in protobuf."""
    if encoding is Encoding.JSON:
        return _accepted_json(body)
    response = ExportTraceServiceResponse()
    try:
        response.ParseFromString(body)
    except ProtobufError:
        return OK
    partial = response.partial_success
    return Answer(message=partial.error_message, rejected=max(0, partial.rejected_spans))


def _accepted_json(body: bytes) -> Answer:
    try:
        partial = json.loads(body).get("partialSuccess") or {}
        counts = [int(count) for name, count in partial.items() if name.startswith("rejected")]
        return Answer(message=str(partial.get("errorMessage", "")), rejected=max(0, *counts, 0))
    except (ValueError, AttributeError, TypeError, RecursionError):
        return OK


def _refused(error: Any, signal: Signal) -> Answer:
    code, delay = error.code(), _delay(error.trailing_metadata() or ())
    said = f"the downstream answered {code.name}"
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return Answer(Code.UNAVAILABLE if signal is Signal.TRACES else Code.UNIMPLEMENTED, said)
    if code in _RETRIED or code in _OURS or (code is grpc.StatusCode.RESOURCE_EXHAUSTED and delay is not None):
        return Answer(Code.UNAVAILABLE, said, retry_after=delay)
    return Answer(Code.INVALID_ARGUMENT, said)


def _delay(trailers: Any) -> float | None:
    """Return the delay in a RetryInfo, in seconds."""
    for key, value in trailers:
        if key != "grpc-status-details-bin":
            continue
        status, info = Status(), RetryInfo()
        try:
            status.ParseFromString(value)
        except ProtobufError:
            return None
        for detail in status.details:
            if detail.Is(RetryInfo.DESCRIPTOR) and detail.Unpack(info):
                return float(info.retry_delay.seconds + info.retry_delay.nanos / 1e9)
    return None


def _http_refused(status: int, retry_after: str | None, signal: Signal) -> Answer:
    said = f"the downstream answered {status}"
    if status == 404 and signal is not Signal.TRACES:
        return Answer(Code.UNIMPLEMENTED, said)
    if status in _RETRIED_STATUSES or status in _OUR_STATUSES:
        return Answer(Code.UNAVAILABLE, said, retry_after=_seconds(retry_after))
    return Answer(Code.INVALID_ARGUMENT, said)


def _seconds(text: str | None) -> float | None:
    """Return how long a Retry-After header asks to wait: it gives seconds or a date."""
    if not text:
        return None
    if text.strip().isdigit():
        return float(text.strip()[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError):
        return None
