"""Exported traces in: files, folders and standard input to span views, whatever their format.

The format is told by the content, never by the name. Nothing raises on content: what cannot be used is
a `Problem`, and the good part of a file is still used. Files are read record by record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_stall.errors import DecodeError
from otel_stall.otlp import Signal, log_views, signal_of, views
from otel_stall.readers.formats import FORMATS, Format, named, requests
from otel_stall.readers.framing import Frame, frames
from otel_stall.readers.problems import Problem, Problems
from otel_stall.readers.sources import STDIN, Open, Readable, Source, files, open_file, opened
from otel_stall.spans import SpanView

if TYPE_CHECKING:
    from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

__all__ = [
    "FORMATS",
    "STDIN",
    "Format",
    "Problem",
    "Problems",
    "Record",
    "Source",
    "read_frame",
    "read_paths",
    "records",
]


@dataclass(frozen=True, slots=True)
class Record:
    """One request of traces or logs with where it stands: in OTLP/JSON form, or as a protobuf message."""

    source: str
    line: int | None
    request: dict[str, object] | TracesData | LogsData
    signal: Signal = Signal.TRACES

    def views(self, problems: Problems) -> Iterator[SpanView]:
        """Yield the views of its spans or log records; what has a wrong shape is reported and left out."""
        report = problems.at(self.source, self.line)
        try:
            if isinstance(self.request, dict):
                yield from (log_views if self.signal is Signal.LOGS else views)(self.request, report)
            else:
                from otel_stall.otlp import protobuf

                yield from protobuf.views_of(self.request, report)
        except RecursionError:
            report("nested too deeply")

    def json(self) -> dict[str, object] | None:
        """Return a trace request in OTLP/JSON form, the parsed object itself where it came so; None for logs."""
        if self.signal is Signal.LOGS:
            return None
        if isinstance(self.request, dict):
            return self.request
        from otel_stall.otlp import protobuf

        return protobuf.to_json(self.request)  # type: ignore[arg-type]  # what is no log request is a trace request


def read_paths(
    paths: Iterable[Source],
    *,
    problems: Problems,
    stdin: Readable | None = None,
    name: str = "",
    open_file: Open = open_file,
) -> Iterator[SpanView]:
    """Yield the spans and log records of files, folders (their files in name order) and "-", in the order of the input.

    Metric requests are counted in `problems.requests` and passed over. `name` is that of the one format to
    read, "" to tell it by the content; `open_file` opens the files. Never raises on content or on unreadable files.
    """
    for record in records(paths, problems=problems, stdin=stdin, name=name, open_file=open_file):
        for view in record.views(problems):
            problems.items += 1
            yield view


def read_frame(frame: Frame, source: str, problems: Problems, name: str = "") -> Iterator[SpanView]:
    """Yield the spans and log records of one frame of that source."""
    for record in _records(frame, source, problems, name):
        for view in record.views(problems):
            problems.items += 1
            yield view


def records(
    paths: Iterable[Source],
    *,
    problems: Problems,
    stdin: Readable | None = None,
    name: str = "",
    open_file: Open = open_file,
) -> Iterator[Record]:
    """Yield the requests of traces and logs of the same input, one at a time."""
    named(name)
    for source in files(paths, problems):
        try:
            with opened(source, stdin, open_file) as (head, stream):
                for frame in frames(head, stream, str(source), problems):
                    yield from _records(frame, str(source), problems, name)
        except OSError as error:
            problems.add(str(source), None, f"cannot be read: {error.strerror or type(error).__name__}")


def _records(frame: Frame, source: str, problems: Problems, name: str) -> Iterator[Record]:
    report = problems.at(source, frame.line)
    try:
        if frame.message is not None:
            yield from _decoded(frame.message, source, problems, name)
            return
        for request in requests(frame.value, report, name):
            signal = signal_of(request) or Signal.TRACES
            problems.requests[signal] += 1
            if signal is not Signal.METRICS:
                yield Record(source, frame.line, request, signal)
    except RecursionError:
        report("nested too deeply")


def _decoded(message: bytes, source: str, problems: Problems, name: str) -> Iterator[Record]:
    """Yield a protobuf message as a record; a format that changes what it reads gets it as OTLP/JSON."""
    from otel_stall.otlp import protobuf

    report = problems.at(source, None)
    if name and not named(name)[0].protobuf:
        report(f"not {named(name)[0].title}: OTLP protobuf")
        return
    try:
        signal, decoded = protobuf.decode(message)
    except DecodeError as error:
        report(str(error))
        return
    problems.requests[signal] += 1
    if decoded is None:
        return
    if name in ("", "otlp") or signal is Signal.LOGS:
        yield Record(source, None, decoded, signal)
    else:
        for request in requests(protobuf.to_json(decoded), report, name):  # type: ignore[arg-type]  # no logs here
            yield Record(source, None, request)
