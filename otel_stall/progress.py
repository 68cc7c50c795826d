"""How far long work is, on the terminal: files, bytes, conversations, rate and time left; gone when it is done.

Nothing is shown of work that takes less than a second, and nothing anywhere but on a terminal. Bytes are those of the
files, compressed as they are.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Final, Self, TextIO

from otel_stall.readers import STDIN, Problems, Source
from otel_stall.readers.sources import Readable, files
from otel_stall.report.numbers import counted

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

__all__ = ["Amount", "Progress", "size_of", "watched"]

AFTER: Final = 1.0
"""Seconds of work before anything is shown."""
EVERY: Final = 0.1
"""Seconds between two changes of what is shown."""

Amount = tuple[int, int | None]
"""How many files there are, and how many bytes; None where that is not known."""


@contextmanager
def watched(
    doing: str, paths: Iterable[Source], stdin: BinaryIO, stream: TextIO | None, environ: Mapping[str, str]
) -> Iterator[Progress | None]:
    """Give what shows how far work on these paths is, on a terminal where a line can be taken back; else None."""
    if stream is None or not stream.isatty() or environ.get("TERM") == "dumb":
        yield None
        return
    with Progress(doing, size_of(paths, stdin), stream) as progress:
        yield progress


def size_of(paths: Iterable[Source], stdin: BinaryIO) -> Amount:
    """Return the files and bytes that paths stand for; a pipe among them has no known size."""
    sizes = [_size(source, stdin) for source in files(paths, Problems())]
    known = [size for size in sizes if size is not None]
    return len(sizes), sum(known) if len(known) == len(sizes) else None


def _size(source: Source, stdin: BinaryIO) -> int | None:
    try:
        found = os.fstat(stdin.fileno()) if source == STDIN else Path(source).stat()
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else None


class Progress:
    """A line on a terminal from the first second on, until the `with` block ends.

    It opens the files that are read, and is told by the analysis how far it is. Not thread-safe: all calls
    come from the thread that works.
    """

    def __init__(
        self, doing: str, amount: Amount, stream: TextIO, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._doing = doing
        self._files, self._bytes = amount
        self._stream = stream
        self._clock = clock
        self._began = self._phase_began = clock()
        self._next = self._began + AFTER
        self._read_files = self._read_bytes = 0
        self._named: set[str] = set()
        self._judged = self._of = 0
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    @contextmanager
    def open(self, path: Path) -> Iterator[Readable]:
        """Give a file whose bytes are counted as they are read; raises OSError where it cannot be opened."""
        try:
            with path.open("rb") as stream:
                yield self.counted(stream)
        finally:
            self._read_files += 1

    def counted(self, stream: Readable) -> Readable:
        """Return a stream whose bytes are counted as they are read."""
        return _Counted(stream, self.took)

    def read(self, conversation: str) -> None:
        """Take note that a span was read, and which conversation it names."""
        self._named.add(conversation)
        self._tick()

    def judged(self, done: int, of: int) -> None:
        """Take note of how many conversations are judged."""
        if not self._of:
            self._phase_began = self._clock()
        self._judged, self._of = done, of
        self._tick()

    def took(self, count: int) -> None:
        """Take note that so many bytes more were read."""
        self._read_bytes += count
        self._tick()

    def _tick(self) -> None:
        now = self._clock()
        if now < self._next:
            return
        self._next = now + EVERY
        if self._bar is not None:
            self._tell(self._bar, now)
            self._bar.refresh()
            return
        self._bar = _bar(self._stream, self._clock)
        self._tell(self._bar, now)
        self._bar.start()

    def _tell(self, bar: Bar, now: float) -> None:
        done, of = (self._judged, self._of) if self._of else (self._read_bytes, self._bytes)
        rate = done / max(now - self._phase_began, 1e-9)
        left = (of - done) / rate if of and 0 < done <= of else None
        told = self._judging(rate, left) if self._of else self._reading(rate, left)
        bar.update(bar.tasks[0].id, completed=done, total=of, told=", ".join(filter(None, told)))

    def _judging(self, rate: float, left: float | None) -> Iterator[str]:
        yield f"judging {self._judged:,}/{counted(self._of, 'conversation')}"
        yield _duration(left)
        yield f"{rate:,.0f}/s"

    def _reading(self, rate: float, left: float | None) -> Iterator[str]:
        named = len(self._named - {""})
        yield f"{self._doing} {_bytes(self._read_bytes, self._bytes)}"
        yield _duration(left)
        yield f"{_bytes(int(rate))}/s"
        yield counted(named, "conversation") if named else ""
        yield f"{self._read_files:,}/{self._files:,} files" if self._files > 1 else ""


def _bytes(count: int, of: int | None = None) -> str:
    """Return bytes as "12.3 MB", or with a total as "12.3/45.6 MB"."""
    from rich.filesize import pick_unit_and_suffix

    unit, suffix = pick_unit_and_suffix(of or count, ["B", "kB", "MB", "GB", "TB"], 1000)
    digits = 0 if unit == 1 else 1
    return "/".join(f"{part / unit:,.{digits}f}" for part in (count, of) if part is not None) + f" {suffix}"


class _Counted:
    """A stream that tells how many bytes were taken from it."""

    def __init__(self, stream: Readable, took: Callable[[int], None]) -> None:
        self._some: Callable[[int], bytes | None] = getattr(stream, "read1", stream.read)
        self._all = stream.read
        self._took = took

    def read(self, size: int = -1, /) -> bytes:
        data = self._all(size)
        self._took(len(data))
        return data

    def read1(self, size: int = -1, /) -> bytes:
        data = self._some(size) or b""
        self._took(len(data))
        return data


def _bar(stream: TextIO, clock: Callable[[], float]) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(bar_width=16), TextColumn("{task.fields[told]}", markup=False))
    bar = Bar(*columns, console=Console(file=stream), auto_refresh=False, transient=True, get_time=clock)
    bar.add_task("", total=None, told="")
    return bar


def _duration(seconds: float | None) -> str:
    """Return a time left in words of a clock, "" where it is not known."""
    if seconds is None:
        return ""
    minutes, rest = divmod(int(min(seconds, 359_999)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} left" if hours else f"{minutes}:{rest:02} left"
