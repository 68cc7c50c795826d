"""`analyze_paths`: the analysis of large inputs, on all processors and in memory that does not grow with them.

First the input is read in pieces, at the same time. Each process keeps what it read in a temporary file, by
trace, and says which names hang together. Then every crowd of traces and conversations is judged by itself, some
crowds at a time. What comes out is what `analyze` says of the same input: spans of different crowds share nothing.

The temporary files hold what the input holds. They are readable by their owner alone, and gone when this returns.
Memory is bounded by the largest crowd: one conversation is judged as a whole.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import groupby, repeat
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Protocol

from otel_stall.analysis import Part, joined, judge_part, readings
from otel_stall.calls import Reading, ToolCall
from otel_stall.config import StallConfig
from otel_stall.crowds import Crowds, names_of
from otel_stall.findings import Analysis
from otel_stall.readers import Problems, Source
from otel_stall.readers.pieces import PIECE, Piece, count_lines, pieces, told, views_of

__all__ = ["Stages", "analyze_paths"]

SHARE: Final = 16 << 20
"""Bytes of kept readings that are judged at a time, unless one crowd has more."""

_HELD: Final = 2_000
"""Readings that wait until those of one trace are written together, unless their contents are large."""
_HELD_CHARACTERS: Final = 8 << 20


class Stages(Protocol):
    """Who is told how far the work is, on the thread that waits for it; it must not raise."""

    def took(self, count: int) -> None:
        """Take note that so many bytes more were read."""

    def judged(self, done: int, of: int) -> None:
        """Take note of how many crowds of conversations are judged."""


class _Stretch(NamedTuple):
    """Where readings of one trace lie in a temporary file."""

    path: str
    start: int
    length: int


class _Share(NamedTuple):
    """What is judged at a time: how many crowds, and where their readings lie."""

    crowds: int
    stretches: Sequence[_Stretch]


class _Kept(NamedTuple):
    """What one process read of one piece: where it lies, by trace, and the names that hang together."""

    path: str
    traces: array[int]
    lengths: array[int]
    names: set[tuple[int, ...]]
    problems: Problems
    lines: int


def analyze_paths(
    paths: Iterable[Source],
    config: StallConfig,
    *,
    problems: Problems,
    name: str = "",
    details: bool = False,
    jobs: int | None = None,
    piece: int = PIECE,
    share: int = SHARE,
    progress: Stages | None = None,
) -> Analysis | None:
    """Return what `analyze` says of files and folders, None where the input is small, or standard input.

    `jobs` processes take part, as many as there are processors where it is not given. Problems of reading are
    added in the order of the input. `progress` is told of each piece and each share that is done. Never raises
    on content or on unreadable files.
    """
    found = pieces(paths, piece)
    if found is None or len(found) < 2 or sum(map(_size, found)) <= piece:
        return None
    with tempfile.TemporaryDirectory(prefix="otel-stall-") as folder, _processes(jobs) as pool:
        kept: list[_Kept] = []
        for piece_of, one in zip(found, pool.map(_keep, found, repeat(name), repeat(folder)), strict=True):
            kept.append(one)
            if progress is not None:
                progress.took(_size(piece_of))
        told(((one, read.problems, read.lines) for one, read in zip(found, kept, strict=True)), problems)
        shares = list(_shares(kept, share))
        parts = pool.map(_judge, (one.stretches for one in shares), repeat(config), repeat(details))
        return joined(_followed(parts, shares, progress), config)


def _followed(parts: Iterable[Part], shares: Sequence[_Share], progress: Stages | None) -> Iterator[Part]:
    done, of = 0, sum(one.crowds for one in shares)
    for part, one in zip(parts, shares, strict=True):
        done += one.crowds
        if progress is not None:
            progress.judged(done, of)
        yield part


@contextmanager
def _processes(jobs: int | None) -> Iterator[Executor]:
    # A fresh interpreter has none of this one's threads, which a fork would leave behind in the middle of things.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs or os.cpu_count() or 1, context, _start) as pool:
        yield pool


def _size(piece: Piece) -> int:
    if piece.end is not None:
        return piece.end - piece.start
    try:
        return Path(piece.source).stat().st_size
    except OSError:
        return 0


def _keep(piece: Piece, name: str, folder: str) -> _Kept:
    """Read a piece and keep its readings in a file of the folder."""
    handle, path = tempfile.mkstemp(dir=folder)
    problems = Problems()
    kept = _Kept(path, array("Q"), array("Q"), set(), problems, count_lines(piece))
    with os.fdopen(handle, "wb") as stream:
        held: dict[int, list[Reading]] = {}
        waiting = characters = 0
        for reading in readings(views_of(piece, problems, name)):
            names = names_of(reading)
            kept.names.add(names)
            held.setdefault(names[0], []).append(reading)
            waiting, characters = waiting + 1, characters + _characters(reading)
            if waiting == _HELD or characters > _HELD_CHARACTERS:
                _write(held, kept, stream)
                waiting = characters = 0
        _write(held, kept, stream)
    return kept


def _characters(reading: Reading) -> int:
    """Return about how much a reading holds; what is large in it are the texts of a call."""
    call = reading.record
    if not isinstance(call, ToolCall):
        return 0
    given = call.arguments.value
    texts = [call.result.value, *(given.values() if isinstance(given, Mapping) else (given,))]
    return sum(len(text) for text in texts if isinstance(text, str))


def _write(held: dict[int, list[Reading]], kept: _Kept, stream: BinaryIO) -> None:
    """Write the readings that are held, those of one trace together."""
    for trace, listed in held.items():
        data = pickle.dumps(listed, pickle.HIGHEST_PROTOCOL)
        stream.write(data)
        kept.traces.append(trace)
        kept.lengths.append(len(data))
    held.clear()


def _shares(kept: Sequence[_Kept], size: int) -> Iterator[_Share]:
    """Yield where the readings of whole crowds lie, each time about so many bytes."""
    crowds = Crowds()
    for one in kept:
        for names in one.names:
            crowds.join(names)
    by_crowd: dict[int, list[_Stretch]] = {}
    for one in kept:
        start = 0
        for trace, length in zip(one.traces, one.lengths, strict=True):
            by_crowd.setdefault(crowds.of(trace), []).append(_Stretch(one.path, start, length))
            start += length
    share: list[_Stretch] = []
    count = taken = 0
    for crowd in sorted(by_crowd):
        stretches = by_crowd[crowd]
        more = sum(stretch.length for stretch in stretches)
        if share and taken + more > size:
            yield _Share(count, share)
            share, count, taken = [], 0, 0
        share += stretches
        count += 1
        taken += more
    if share:
        yield _Share(count, share)


def _start() -> None:
    # Much is made here that lives until the end, and hardly anything that refers to itself: looking for that
    # again and again takes a third of the time.
    gc.set_threshold(100_000, 50, 1_000)


def _judge(share: Sequence[_Stretch], config: StallConfig, details: bool) -> Part:
    return judge_part(_read(share), config, details=details)


def _read(share: Sequence[_Stretch]) -> Iterator[Reading]:
    """Yield the readings of a share, out of one file after the other."""
    for path, stretches in groupby(sorted(share), key=itemgetter(0)):
        with Path(path).open("rb") as stream:
            for stretch in stretches:
                stream.seek(stretch.start)
                yield from pickle.loads(stream.read(stretch.length))
