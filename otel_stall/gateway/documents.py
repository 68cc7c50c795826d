"""`Document`: a parsed request of either encoding, whose items can be viewed, annotated and written again."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Final, cast

from google.protobuf.message import DecodeError as ProtobufError
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from otel_stall.errors import DecodeError
from otel_stall.gateway.answers import Encoding, Request
from otel_stall.otlp import Addition, Signal, annotate_span, hex_id
from otel_stall.otlp import json as json_form
from otel_stall.otlp import logs as json_logs
from otel_stall.otlp import protobuf as protobuf_form
from otel_stall.otlp.editing import drop_invalid, set_attributes, write_on_span
from otel_stall.spans import SpanView

__all__ = ["Document", "Item", "parsed"]

Item = object
"""One span or log record of a document, as `annotate` takes it."""

_ID_DIGITS: Final = {"traceId": 32, "spanId": 16}
_LISTS: Final = {Signal.TRACES: "resourceSpans", Signal.LOGS: "resourceLogs"}


class Document(ABC):
    """A request of traces or logs. `rejected` counts spans without valid ids, which `dump` leaves out."""

    def __init__(self, request: Request) -> None:
        self.signal = request.signal
        self.encoding = request.encoding
        self.rejected = 0
        self._body = request.body
        self._changed = False

    @abstractmethod
    def items(self) -> Iterator[tuple[Item, SpanView]]:
        """Yield each span or log record beside its view."""

    def annotate(self, item: Item, addition: Addition) -> None:
        """Write on one item; a log record takes the attributes alone."""
        self._changed = True
        self._write(item, addition)

    def dump(self) -> bytes:
        """Return the request as it is now: the very bytes that came, where nothing was changed."""
        if self.rejected:
            self._drop()
        return self._dump() if self._changed or self.rejected else self._body

    @abstractmethod
    def _write(self, item: Item, addition: Addition) -> None: ...

    @abstractmethod
    def _drop(self) -> None: ...

    @abstractmethod
    def _dump(self) -> bytes: ...

    def _report(self, problem: str) -> None:
        if problem == json_form.INVALID:
            self.rejected += 1


class _Protobuf(Document):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._message: TracesData | LogsData = TracesData() if request.signal is Signal.TRACES else LogsData()
        try:
            self._message.ParseFromString(request.body)
        except ProtobufError:
            raise DecodeError("the body is no OTLP protobuf message") from None

    def items(self) -> Iterator[tuple[Item, SpanView]]:
        if isinstance(self._message, TracesData):
            return protobuf_form.viewed(self._message, self._report)
        return protobuf_form.viewed_records(self._message)

    def _write(self, item: Item, addition: Addition) -> None:
        if isinstance(item, Span):
            write_on_span(item, addition)
        else:
            set_attributes(cast(LogRecord, item).attributes, addition.attributes)

    def _drop(self) -> None:
        if isinstance(self._message, TracesData):
            drop_invalid(self._message)

    def _dump(self) -> bytes:
        return self._message.SerializeToString()


class _Json(Document):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._value = _object(request)

    def items(self) -> Iterator[tuple[Item, SpanView]]:
        if self.signal is Signal.LOGS:
            yield from json_logs.viewed_records(self._value, self._report)
            return
        for span, view in json_form.viewed(self._value, self._report):
            if _valid(span):
                yield span, view
            else:
                self.rejected += 1

    def _write(self, item: Item, addition: Addition) -> None:
        written = addition if self.signal is Signal.TRACES else Addition(addition.attributes)
        annotate_span(cast("dict[str, object]", item), written)

    def _drop(self) -> None:
        for _, _, scoped in json_form.scoped_groups(self._value, "Spans", "_spans", self._report):
            spans = scoped.get("spans")
            scoped["spans"] = [span for span in spans if _valid(span)] if isinstance(spans, list) else []

    def _dump(self) -> bytes:
        return json.dumps(self._value, separators=(",", ":")).encode()


def parsed(request: Request) -> Document:
    """Return the document of a trace or log request; raises DecodeError where the body is none."""
    return _Json(request) if request.encoding is Encoding.JSON else _Protobuf(request)


def _object(request: Request) -> dict[str, object]:
    try:
        value = json.loads(request.body)
    except (ValueError, RecursionError):
        raise DecodeError("the body is no JSON") from None
    if not isinstance(value, dict):
        raise DecodeError("the body is no JSON object")
    name = _LISTS[request.signal]
    if not isinstance(value.get(name, []), list | None):
        raise DecodeError(f"{name} is no array")
    return value


def _valid(span: object) -> bool:
    """Return whether both ids are hex of the full length and not all zero, which files are not held to."""
    return isinstance(span, dict) and all(
        isinstance(value := span.get(name), str) and len(value) == digits and hex_id(value, digits // 2)
        for name, digits in _ID_DIGITS.items()
    )
