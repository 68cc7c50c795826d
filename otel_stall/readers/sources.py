"""From paths to byte streams: folders in name order, standard input, gzip and Zstandard by their magic.

A stream that is cut off or damaged raises one of `DAMAGE` when reading arrives there; what lies before
is given out.
"""

from __future__ import annotations

import io
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from otel_stall.readers.problems import Problems

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["DAMAGE", "HEAD", "STDIN", "Open", "Readable", "Source", "files", "open_file", "opened"]

STDIN = "-"
"""Path that stands for standard input."""

HEAD = 1 << 16
"""Bytes at the start of a file by which its format is told."""

DAMAGE = (OSError, EOFError, zlib.error)
"""What reading a damaged or unreadable stream raises."""

_BUFFER = 1 << 20
_GZIP = b"\x1f\x8b"
_ZSTANDARD = b"\x28\xb5\x2f\xfd"

_PIECE = 8192
"""Compressed bytes taken at a time, so that a small piece cannot become very much."""

Source = Path | str
"""A file, a folder, or "-"."""


class Readable(Protocol):
    """A binary stream that can be read once, from front to back."""

    def read(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes, b"" at the end."""


Open = Callable[[Path], AbstractContextManager[Readable]]
"""Opens a file for reading bytes; raises OSError where it cannot."""


def open_file(path: Path) -> AbstractContextManager[Readable]:
    """Return the file itself, opened."""
    return path.open("rb")


def files(paths: Iterable[Source], problems: Problems) -> Iterator[Source]:
    """Yield the files that paths stand for, those of a folder in name order, hidden ones left out."""
    for path in paths:
        if str(path) == STDIN:
            yield STDIN
        elif Path(path).is_dir():
            yield from _in_folder(Path(path), problems)
        else:
            yield Path(path)


def _in_folder(folder: Path, problems: Problems) -> Iterator[Path]:
    try:
        inside = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    except OSError as error:
        problems.add(str(folder), None, _reason(error))
        return
    if not inside:
        problems.add(str(folder), None, "the folder holds no files")
    yield from inside


@contextmanager
def opened(
    source: Source, stdin: Readable | None = None, open_file: Open = open_file
) -> Iterator[tuple[bytes, io.BufferedReader]]:
    """Give the first bytes of a source and a stream of the whole, both decompressed.

    Raises OSError where the file cannot be opened; reading may raise any of `DAMAGE`.
    """
    if source == STDIN:
        yield _peeked(_decompressed(stdin or sys.stdin.buffer))
        return
    with open_file(Path(source)) as stream:
        yield _peeked(_decompressed(stream))


def _decompressed(stream: Readable) -> Readable:
    head = stream.read(4)
    whole = io.BufferedReader(_Joined(head, stream), _BUFFER)
    if head.startswith(_GZIP):
        import gzip

        return gzip.GzipFile(fileobj=whole)
    return _Zstandard(whole) if head.startswith(_ZSTANDARD) else whole


def _peeked(stream: Readable) -> tuple[bytes, io.BufferedReader]:
    head, rest = b"", stream
    try:
        while len(head) < HEAD and (piece := _some(stream, HEAD - len(head))):
            head += piece
    except DAMAGE as error:
        rest = _Broken(error)
    return head, io.BufferedReader(_Joined(head, rest), _BUFFER)


def _some(stream: Readable, size: int) -> bytes:
    """Return what one read gives; `read` alone would lose what came before a damaged place."""
    read: Callable[[int], bytes | None] = getattr(stream, "read1", stream.read)
    return read(size) or b""


class _Joined(io.RawIOBase):
    """A stream whose first bytes were already read."""

    def __init__(self, head: bytes, rest: Readable) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        chunk = self._head[: len(view)] or _some(self._rest, len(view))
        self._head = self._head[len(chunk) :]
        view[: len(chunk)] = chunk
        return len(chunk)


class _Broken:
    """The rest of a damaged stream."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def read(self, _size: int = -1, /) -> bytes:
        raise self._error


class _Zstandard:
    """Frames of Zstandard one after the other; unlike the library's reader, a cut-off one raises EOFError."""

    def __init__(self, stream: Readable) -> None:
        import zstandard

        self._stream = stream
        self._decompressor = zstandard.ZstdDecompressor()
        self._error = zstandard.ZstdError
        self._frame = self._decompressor.decompressobj()
        self._input = b""
        # A piece may become 256 MiB: what is left of it is not copied at each read.
        self._output = io.BytesIO()

    def read(self, size: int = -1, /) -> bytes:
        while not (chunk := self._output.read(size)) and size and self._fill():
            pass
        return chunk

    def _fill(self) -> bool:
        """Decompress one more piece; False at the end of the last frame."""
        piece = self._input or self._stream.read(_PIECE)
        if not piece:
            if not self._frame.eof:
                raise EOFError("the Zstandard data ends in the middle of a frame")
            return False
        if self._frame.eof:
            self._frame = self._decompressor.decompressobj()
        try:
            self._output = io.BytesIO(self._frame.decompress(piece))
        except self._error as error:
            raise OSError(f"damaged Zstandard data: {error}") from None
        self._input = self._frame.unused_data if self._frame.eof else b""
        return True


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
