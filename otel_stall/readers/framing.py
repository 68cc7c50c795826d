"""From a stream of bytes to its records: JSON values, or protobuf messages, one at a time.

Three framings, told by the first bytes: JSON (one value a line, or values over several lines), messages
each behind its length as four bytes big-endian (the collector's file exporter with format `proto` or
with compression), and one bare protobuf message, which is cut into its fields.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from otel_stall.readers.problems import Problems
from otel_stall.readers.sources import DAMAGE

__all__ = ["MAX_RECORD", "Frame", "frames", "parsed_line", "separate_lines"]

MAX_RECORD = 256 << 20
"""Bytes of one line, message or JSON value over several lines that are read; longer ones are left out."""

_FIELD = 0x0A  # tag of field 1, length-delimited: the resources of a request
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
_BLANK = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
# One that does not end goes to the end of the line: looked for again from each quote in it, it would take for ever.
_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_OPENING = re.compile(rb"^[{\[]", re.MULTILINE)


class Lined(Protocol):
    """A stream of lines."""

    def readline(self, size: int = -1, /) -> bytes:
        """Return the next line, or `size` bytes of it, b"" at the end."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One record: a parsed JSON value or the bytes of a protobuf message, and the line it begins at."""

    line: int | None
    value: object = None
    message: bytes | None = None


def frames(head: bytes, stream: io.BufferedReader, source: str, problems: Problems) -> Iterator[Frame]:
    """Yield the records of a stream; damage is reported, and what lies before it was given out."""
    try:
        if not head.strip(_BLANK):
            yield from _nothing(head, stream, source, problems)
        elif _is_json(head):
            yield from _json(stream, source, problems)
        elif _is_delimited(head):
            yield from _delimited(stream, source, problems)
        elif head[0] == _FIELD:
            yield from _fields(stream, source, problems)
        else:
            problems.add(source, None, "not a trace: neither JSON nor OTLP protobuf")
    except DAMAGE as error:
        problems.add(source, None, f"reading stopped: {_reason(error)}")


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _nothing(head: bytes, stream: io.BufferedReader, source: str, problems: Problems) -> Iterator[Frame]:
    if len(head) == len(stream.read(len(head) + 1)):
        problems.add(source, None, "the file is empty")
    else:
        problems.add(source, None, "not a trace: the file begins with blanks only")
    yield from ()


def _is_json(head: bytes) -> bool:
    """Whether JSON begins here, or, among other output of a program, at a line further on."""
    text = head.removeprefix(_BOM).lstrip(_BLANK)
    return not _BINARY.search(text[:512]) and bool(_OPENING.search(text))


def _is_delimited(head: bytes) -> bool:
    length = int.from_bytes(head[:4], "big")
    begins = head[4:5] in (bytes([_FIELD]), b"{") or head[4:8] == _ZSTANDARD
    return begins and 0 < length <= MAX_RECORD and head[0] != _FIELD


# JSON


def _json(stream: io.BufferedReader, source: str, problems: Problems) -> Iterator[Frame]:
    lines = _lines(stream, source, problems)
    first = next(lines, None)
    if first is None:
        return
    value = parsed_line(first[1])
    second = None
    if value is not None:
        yield Frame(first[0], value)
    elif first[1].strip() not in (b"{", b"[") and (second := next(lines, None)) and _parses(second[1]):
        problems.add(source, first[0], "broken JSON")
    else:
        yield from _values(_again(first, second, lines), source, problems)
        return
    yield from _each(_again(second, None, lines), source, problems)


def separate_lines(stream: Lined, source: str, problems: Problems, *, begins: bool) -> Iterator[Frame]:
    """Yield the records of lines that are each a JSON value by itself, as those after such a first one are.

    `begins`: the stream is the beginning of its source.
    """
    return _each(_lines(stream, source, problems, begins=begins), source, problems)


def _each(lines: Iterator[tuple[int, bytes]], source: str, problems: Problems) -> Iterator[Frame]:
    for number, line in lines:
        try:
            yield Frame(number, parse(line))
        except (ValueError, RecursionError) as error:
            problems.add(source, number, f"broken JSON: {_json_reason(error)}")


def _again(
    first: tuple[int, bytes] | None, second: tuple[int, bytes] | None, rest: Iterator[tuple[int, bytes]]
) -> Iterator[tuple[int, bytes]]:
    yield from (line for line in (first, second) if line)
    yield from rest


def _lines(stream: Lined, source: str, problems: Problems, *, begins: bool = True) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that hold something, with their numbers; one beyond the limit is left out."""
    number = 0
    while line := stream.readline(MAX_RECORD + 1):
        number += 1
        if len(line) > MAX_RECORD and not line.endswith(b"\n"):
            problems.add(source, number, f"a line of more than {MAX_RECORD >> 20} MiB is left out")
            while (rest := stream.readline(1 << 20)) and not rest.endswith(b"\n"):
                pass
            continue
        if number == 1 and begins:
            line = line.removeprefix(_BOM)
        if not line.isspace():
            yield number, line


def _values(lines: Iterator[tuple[int, bytes]], source: str, problems: Problems) -> Iterator[Frame]:
    """Yield values that may take several lines, as pretty-printers write them; foreign lines are counted."""
    held: list[bytes] = []
    first_foreign = 0
    began = depth = size = foreign = 0
    for number, line in lines:
        if held and _restarts(held, line):
            problems.add(source, began, "broken JSON: the value breaks off")
            held, depth, size = [], 0, 0
        if not held:
            if not _begins(line):
                foreign += 1
                first_foreign = first_foreign or number
                continue
            began = number
        held.append(line)
        size += len(line)
        depth += _nesting(line)
        if depth > 0 and size <= MAX_RECORD:
            continue
        yield from _value(held, began, source, problems)
        held, depth, size = [], 0, 0
    if held:
        problems.add(source, began, "broken JSON: the value breaks off")
    if foreign:
        problems.add(source, first_foreign, f"{foreign} lines here and below are no JSON")


def _value(held: list[bytes], began: int, source: str, problems: Problems) -> Iterator[Frame]:
    try:
        yield Frame(began, parse(b"".join(held)))
    except (ValueError, RecursionError) as error:
        problems.add(source, began, f"broken JSON: {_json_reason(error)}")


def _begins(line: bytes) -> bool:
    return line.lstrip(_BLANK)[:1] in (b"{", b"[")


def _restarts(held: list[bytes], line: bytes) -> bool:
    """Whether a new value begins though the one before is not complete: only told by indentation."""
    return len(held) > 1 and held[1][:1] in b" \t" and held[0][:1] in b"{[" and line[:1] in b"{["


def _nesting(line: bytes) -> int:
    bare = _STRINGS.sub(b"", line)
    return bare.count(b"{") + bare.count(b"[") - bare.count(b"}") - bare.count(b"]")


def _parses(line: bytes) -> bool:
    return _begins(line) and parsed_line(line) is not None


def parsed_line(line: bytes) -> object:
    """Return the object or array of a line, None where it is no complete one."""
    try:
        return parse(line)
    except (ValueError, RecursionError):
        return None


def parse(data: bytes) -> object:
    """Return a JSON value; invalid UTF-8 becomes the replacement character, NaN and surrogates pass."""
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    return json.loads(text.strip())


def _json_reason(error: Exception) -> str:
    """Return why parsing failed, without the content."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.removesuffix(' at')} at column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else "a number with too many digits"


# Protobuf


def _delimited(stream: io.BufferedReader, source: str, problems: Problems) -> Iterator[Frame]:
    for index in range(1, 1 << 62):
        prefix = stream.read(4)
        if not prefix:
            return
        length = int.from_bytes(prefix, "big")
        if len(prefix) < 4 or not 0 <= length <= MAX_RECORD:
            problems.add(source, None, f"message {index}: no valid length, the rest is left out")
            return
        data = stream.read(length)
        if len(data) < length:
            problems.add(source, None, f"message {index} breaks off")
            return
        yield from _message(data, index, source, problems)


def _message(data: bytes, index: int, source: str, problems: Problems) -> Iterator[Frame]:
    if data.startswith(_ZSTANDARD):
        import zstandard

        try:
            # The library makes room for as much as the frame says it holds, whatever that is.
            if zstandard.frame_content_size(data) > MAX_RECORD:
                problems.add(source, None, f"message {index} of more than {MAX_RECORD >> 20} MiB is left out")
                return
            data = zstandard.ZstdDecompressor().decompress(data, max_output_size=MAX_RECORD)
        except zstandard.ZstdError as error:
            problems.add(source, None, f"message {index}: damaged Zstandard data: {error}")
            return
    if not _is_json(data[:1024]):
        yield Frame(None, message=data)
        return
    try:
        yield Frame(None, parse(data))
    except (ValueError, RecursionError) as error:
        problems.add(source, None, f"message {index}: broken JSON: {_json_reason(error)}")


def _fields(stream: io.BufferedReader, source: str, problems: Problems) -> Iterator[Frame]:
    """Yield each occurrence of field 1 as a message of its own: the whole may be larger than memory."""
    while tag := stream.read(1):
        length = _varint(stream)
        if tag[0] != _FIELD or not 0 <= length <= MAX_RECORD:
            problems.add(source, None, "not OTLP protobuf from here on, the rest is left out")
            return
        data = stream.read(length)
        if len(data) < length:
            problems.add(source, None, "the protobuf message breaks off")
            return
        yield Frame(None, message=tag + _encoded(length) + data)


def _varint(stream: io.BufferedReader) -> int:
    value = 0
    for shift in range(0, 35, 7):
        byte = stream.read(1)
        if not byte:
            return -1
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
    return -1


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
