"""What is asked and what is answered, free of any transport: `Request`, `Answer`, and their forms on the wire.

Codes are those of gRPC; their HTTP statuses, the body of errors and `Retry-After` follow the OTLP
specification 1.11 (sections "Failures" and "OTLP/HTTP Response").
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Final

from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_stall.otlp import Signal

__all__ = ["OK", "Answer", "Code", "Encoding", "Request", "error_body", "http_status", "response_body", "rpc_status"]

_MESSAGE_CHARS: Final = 1_024


class Encoding(Enum):
    """How a request is written; the value is its media type."""

    PROTOBUF = "application/x-protobuf"
    JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Request:
    """One export request, decompressed, as the bytes that came."""

    signal: Signal
    body: bytes
    encoding: Encoding = Encoding.PROTOBUF


class Code(IntEnum):
    """The gRPC status codes that are answered."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


@dataclass(frozen=True, slots=True)
class Answer:
    """What the client is told: OK with what was `rejected` of an accepted request, or why it was refused.

    `retry_after`, in seconds, asks the client to send the same again after that time.
    """

    code: Code = Code.OK
    message: str = ""
    rejected: int = 0
    retry_after: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the request was accepted, in part at least."""
        return self.code is Code.OK

    @property
    def retryable(self) -> bool:
        """Whether the client is to send the same again."""
        return self.code is Code.UNAVAILABLE


OK: Final = Answer()

_RESPONSES: Final = {
    Signal.TRACES: (ExportTraceServiceResponse, "rejected_spans", "rejectedSpans"),
    Signal.LOGS: (ExportLogsServiceResponse, "rejected_log_records", "rejectedLogRecords"),
    Signal.METRICS: (ExportMetricsServiceResponse, "rejected_data_points", "rejectedDataPoints"),
}

_HTTP: Final = {
    Code.OK: 200,
    Code.INVALID_ARGUMENT: 400,
    Code.UNAUTHENTICATED: 401,
    Code.PERMISSION_DENIED: 403,
    Code.NOT_FOUND: 404,
    Code.UNIMPLEMENTED: 404,
    Code.RESOURCE_EXHAUSTED: 413,
    Code.UNAVAILABLE: 503,
}


def http_status(answer: Answer) -> int:
    """Return the HTTP status of an answer: 503 asks for a retry, any other error forbids one."""
    return _HTTP.get(answer.code, 500)


def response_body(signal: Signal, answer: Answer, encoding: Encoding) -> bytes:
    """Return the Export…ServiceResponse of an accepted request, `partial_success` unset where all was taken."""
    kind, field, name = _RESPONSES[signal]
    said = answer.message[:_MESSAGE_CHARS]
    if encoding is Encoding.JSON:
        told = {name: str(answer.rejected), "errorMessage": said} if answer.rejected or said else None
        return json.dumps({"partialSuccess": told} if told else {}).encode()
    response = kind()
    if answer.rejected or said:
        setattr(response.partial_success, field, answer.rejected)
        response.partial_success.error_message = said
    return bytes(response.SerializeToString())


def rpc_status(answer: Answer) -> Status:
    """Return the google.rpc.Status of a refusal, with a RetryInfo where the client is to come back."""
    status = Status(code=int(answer.code), message=answer.message[:_MESSAGE_CHARS])
    if answer.retry_after is not None:
        delay = Duration()
        delay.FromMilliseconds(math.ceil(answer.retry_after * 1_000))
        status.details.add().Pack(RetryInfo(retry_delay=delay))
    return status


def error_body(answer: Answer, encoding: Encoding) -> bytes:
    """Return the google.rpc.Status of a refusal in the encoding of the request."""
    if encoding is Encoding.PROTOBUF:
        return bytes(rpc_status(answer).SerializeToString())
    status: dict[str, object] = {"code": int(answer.code), "message": answer.message[:_MESSAGE_CHARS]}
    if answer.retry_after is not None:
        delay = f"{math.ceil(answer.retry_after * 1_000) / 1_000:g}s"
        status["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]
    return json.dumps(status).encode()
