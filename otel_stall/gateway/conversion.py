"""A request in OTLP/JSON as protobuf: for a downstream that takes gRPC alone.

protobuf's own JSON reader does the work. It differs from OTLP/JSON in one thing, ids, which it takes for
base64 (OTLP specification, "JSON Protobuf Encoding"): they are rewritten first. Fields unknown to this
version of the protocol are lost here, and only here.
"""

from __future__ import annotations

import base64
import json
from typing import Final

from google.protobuf import json_format
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from otel_stall.errors import UNREADABLE, DecodeError
from otel_stall.gateway.answers import Encoding, Request
from otel_stall.otlp import Signal

__all__ = ["as_protobuf"]

_IDS: Final = {"traceId": 16, "spanId": 8, "parentSpanId": 8, "trace_id": 16, "span_id": 8, "parent_span_id": 8}
_MESSAGES: Final = {Signal.TRACES: TracesData, Signal.LOGS: LogsData, Signal.METRICS: MetricsData}
_DEPTH: Final = 500


def as_protobuf(request: Request) -> Request:
    """Return the request in protobuf, itself where it is; raises DecodeError where it is no OTLP/JSON."""
    if request.encoding is Encoding.PROTOBUF:
        return request
    message = _MESSAGES[request.signal]()
    try:
        value = json.loads(request.body)
        if not isinstance(value, dict):
            raise TypeError
        _rewrite_ids(value)
        json_format.ParseDict(value, message, ignore_unknown_fields=True, max_recursion_depth=_DEPTH)
    # A SystemError is what protobuf's C library makes of a name with a lone surrogate.
    except (*UNREADABLE, json_format.ParseError, SystemError):
        raise DecodeError(f"the body is no OTLP/JSON request of {request.signal.value}") from None
    return Request(request.signal, message.SerializeToString())


def _rewrite_ids(value: object) -> None:
    """Turn ids from hex to base64 wherever the protocol has a field of that name; attributes are lists of pairs."""
    if isinstance(value, list):
        for item in value:
            _rewrite_ids(item)
    elif isinstance(value, dict):
        for name, held in value.items():
            if name in _IDS and isinstance(held, str):
                value[name] = _base64(held, _IDS[name])
            else:
                _rewrite_ids(held)


def _base64(text: str, size: int) -> str:
    try:
        raw = bytes.fromhex(text)
    except ValueError:
        return text
    return base64.b64encode(raw).decode("ascii") if len(raw) in (0, size) else text
