"""Pieces of the input that can be read at the same time: stretches of lines of large files, and whole files.

A file can be cut where it is not compressed and its first line is a JSON value by itself: then every line is read
for itself, whatever stands before it. Any other file is one piece. What the pieces tell, one after the other, is
what the whole input would have told.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from otel_stall.readers import Problems, Source, read_frame, read_paths
from otel_stall.readers.framing import MAX_RECORD, parsed_line, separate_lines
from otel_stall.readers.sources import DAMAGE, STDIN, files
from otel_stall.spans import SpanView

__all__ = ["PIECE", "Piece", "count_lines", "pieces", "told", "views_of"]

PIECE = 32 << 20
"""Bytes of a piece, unless a line is longer."""

_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


@dataclass(frozen=True, slots=True)
class Piece:
    """A file from one byte to another, each at the beginning of a line; `end` is None for a whole file.

    `problems` are those of finding the file: a folder that holds none.
    """

    source: str
    start: int = 0
    end: int | None = None
    problems: Problems | None = None


def pieces(paths: Iterable[Source], size: int = PIECE) -> list[Piece] | None:
    """Return the input in pieces, in its order; None where it has to be read as one, from standard input."""
    found: list[Piece] = []
    for path in paths:
        problems = Problems()
        listed = list(files([path], problems))
        if STDIN in map(str, listed):
            return None
        if problems.count:
            found.append(Piece(str(path), problems=problems))
        for source in listed:
            found += _cut(str(source), size)
    return found


def views_of(piece: Piece, problems: Problems, name: str = "") -> Iterator[SpanView]:
    """Yield the spans and log records of a piece; lines are counted from its own first."""
    if piece.problems is not None:
        return
    if piece.end is None:
        yield from read_paths([Path(piece.source)], problems=problems, name=name)
        return
    try:
        with Path(piece.source).open("rb") as stream:
            stream.seek(piece.start)
            stretch = _Stretch(stream, piece.end)
            for frame in separate_lines(stretch, piece.source, problems, begins=piece.start == 0):
                yield from read_frame(frame, piece.source, problems, name)
    except DAMAGE as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        problems.add(piece.source, None, f"reading stopped: {reason}")


def told(parts: Iterable[tuple[Piece, Problems, int]], into: Problems) -> None:
    """Add what went wrong in pieces, each with its number of lines, as the whole input would have told it."""
    source, before = "", 0
    for piece, problems, lines in parts:
        if piece.source != source or piece.start == 0:
            source, before = piece.source, 0
        for one in (piece.problems or problems).kept:
            moved = replace(one, line=one.line + before) if one.line is not None else one
            into.add(moved.source, moved.line, moved.error)
        into.dropped += problems.dropped
        into.requests += problems.requests
        into.items += problems.items
        before += lines


def _cut(source: str, size: int) -> Iterator[Piece]:
    path = Path(source)
    try:
        whole = path.stat().st_size
        with path.open("rb") as stream:
            if whole <= size or not _is_cuttable(stream):
                yield Piece(source)
                return
            starts = [0]
            while (at := starts[-1] + size) < whole:
                stream.seek(at)
                _skip_line(stream)
                if stream.tell() >= whole:
                    break
                starts.append(stream.tell())
    except OSError:
        yield Piece(source)
        return
    for start, end in zip(starts, [*starts[1:], whole], strict=True):
        yield Piece(source, start, end)


def _is_cuttable(stream: io.BufferedReader) -> bool:
    first = stream.readline(MAX_RECORD + 1)
    return not first.startswith(_PACKED) and len(first) <= MAX_RECORD and parsed_line(first) is not None


def _skip_line(stream: io.BufferedReader) -> None:
    while (rest := stream.readline(1 << 20)) and not rest.endswith(b"\n"):
        pass


class _Stretch:
    """A stream that ends where a piece ends."""

    def __init__(self, stream: io.BufferedReader, end: int) -> None:
        self._stream = stream
        self._left = end - stream.tell()

    def readline(self, size: int = -1, /) -> bytes:
        limit = self._left if size < 0 else min(size, self._left)
        line = self._stream.readline(limit) if limit else b""
        self._left -= len(line)
        return line


def count_lines(piece: Piece) -> int:
    """Return how many lines a piece of a cut file has, 0 for a whole file."""
    if piece.end is None:
        return 0
    lines, left = 0, piece.end - piece.start
    with Path(piece.source).open("rb") as stream:
        stream.seek(piece.start)
        while left > 0 and (block := stream.read(min(left, 1 << 20))):
            lines += block.count(b"\n")
            left -= len(block)
    return lines
