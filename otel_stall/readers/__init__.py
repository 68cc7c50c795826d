"""Exported traces in: files, folders and standard input to span views, whatever their format.

The format is told by the content, never by the name. Nothing raises on content: what cannot be used is
a `Problem`, and the good part of a file is still used. Files are read record by record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_stall.errors import DecodeError
from otel_stall.otlp import Signal, signal_of, views
from otel_stall.readers.formats import FORMATS, Format, named, requests
from otel_stall.readers.framing import Frame, frames
from otel_stall.readers.problems import Problem, Problems
from otel_stall.readers.sources import STDIN, Readable, Source, files, opened
from otel_stall.spans import SpanView

if TYPE_CHECKING:
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

__all__ = ["FORMATS", "STDIN", "Format", "Problem", "Problems", "Record", "Source", "read_paths", "records"]


@dataclass(frozen=True, slots=True)
class Record:
    """One trace request with where it stands: in OTLP/JSON form, or as a protobuf message."""

    source: str
    line: int | None
    request: dict[str, object] | TracesData

    def views(self, problems: Problems) -> Iterator[SpanView]:
        """Yield the views of its spans; what has a wrong shape is reported and left out."""
        report = problems.at(self.source, self.line)
        try:
            if isinstance(self.request, dict):
                yield from views(self.request, report)
            else:
                from otel_stall.otlp import protobuf

                yield from protobuf.views(self.request, report)
        except RecursionError:
            report("nested too deeply")

    def json(self) -> dict[str, object]:
        """Return the request in OTLP/JSON form: the parsed object itself where it came so."""
        if isinstance(self.request, dict):
            return self.request
        from otel_stall.otlp import protobuf

        return protobuf.to_json(self.request)


def read_paths(
    paths: Iterable[Source], *, problems: Problems, stdin: Readable | None = None, name: str = ""
) -> Iterator[SpanView]:
    """Yield the spans of files, folders (their files in name order) and "-", in the order of the input.

    Log and metric requests are recognised, counted in `problems.requests` and passed over. `name` is that of
    the one format to read, "" to tell it by the content. Never raises on content or on unreadable files.
    """
    for record in records(paths, problems=problems, stdin=stdin, name=name):
        yield from record.views(problems)


def records(
    paths: Iterable[Source], *, problems: Problems, stdin: Readable | None = None, name: str = ""
) -> Iterator[Record]:
    """Yield the trace requests of the same input, one at a time."""
    named(name)
    for source in files(paths, problems):
        try:
            with opened(source, stdin) as (head, stream):
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
            if signal is Signal.TRACES:
                yield Record(source, frame.line, request)
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
    if name in ("", "otlp"):
        yield Record(source, None, decoded)
    else:
        for request in requests(protobuf.to_json(decoded), report, name):
            yield Record(source, None, request)
