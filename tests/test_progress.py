"""How far long work is: on a terminal, after a second, and gone when it is done."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pytest
from rich.cells import cell_len

from otel_stall.progress import Progress, size_of, watched
from otel_stall.readers import STDIN, Problems, read_paths

SECOND = 1_000_000_000
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def frames(self) -> list[str]:
        """Return what stood on the line, one text after the other, without the bar; the last is written twice."""
        lines = re.split(r"[\r\n]+", _ESCAPES.sub("", self.getvalue()))
        return [text for text, _ in groupby(line.lstrip(" ━╸╺") for line in lines if line.strip())]


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")


class TestWhatIsShown:
    def test_nothing_in_the_first_second(self, clock: Clock) -> None:
        """Short work leaves no trace on the terminal."""
        stream = Terminal()
        with Progress("reading", (1, 100), stream, clock=clock) as progress:
            clock.now += 0.99
            progress.read("c")
            progress.judged(1, 1)
        assert stream.getvalue() == ""

    def test_bytes_files_conversations_rate_and_time_left(self, clock: Clock, tmp_path: Path) -> None:
        """While files are read: what of how much, from how many, and how long it will take."""
        path = tmp_path / "a"
        path.write_bytes(b"x" * 5_000_000)
        stream = Terminal()
        with Progress("reading", (2, 20_000_000), stream, clock=clock) as progress:
            with progress.open(path) as opened:
                opened.read(1_000_000)
                progress.read("c-1")
                progress.read("")
                progress.read("c-2")
                progress.read("c-1")
                clock.now += 2
                opened.read()
            clock.now += 2
            progress.read("c-1")
        assert stream.frames() == [
            "reading 5.0/20.0 MB, 0:06 left, 2.5 MB/s, 2 conversations, 0/2 files",
            "reading 5.0/20.0 MB, 0:12 left, 1.2 MB/s, 2 conversations, 1/2 files",
        ]

    def test_of_a_pipe_no_total_is_known(self, clock: Clock) -> None:
        """What was read is told all the same."""
        stream = Terminal()
        with Progress("reading", (1, None), stream, clock=clock) as progress:
            opened = progress.counted(io.BytesIO(b"x" * 400))
            clock.now += 4
            opened.read()
        assert stream.frames() == ["reading 400 B, 100 B/s"]

    def test_judging_has_a_rate_of_its_own(self, clock: Clock) -> None:
        """Conversations are counted from when the first was judged."""
        stream = Terminal()
        with Progress("reading", (1, 100), stream, clock=clock) as progress:
            clock.now += 10
            progress.judged(0, 7_204)
            clock.now += 1
            progress.judged(2, 7_204)
        assert stream.frames() == [
            "judging 0/7,204 conversations, 0/s",
            "judging 2/7,204 conversations, 1:00:01 left, 2/s",
        ]

    def test_ten_times_a_second_at_most(self, clock: Clock) -> None:
        """A terminal is not flooded."""
        stream = Terminal()
        with Progress("reading", (1, None), stream, clock=clock) as progress:
            clock.now += 1
            for number in range(1_000):
                clock.now += 0.001
                progress.read(str(number))
        assert 10 <= len(stream.frames()) <= 12

    @pytest.mark.parametrize("columns", [20, 40, 80])
    def test_one_line_whatever_the_width(self, columns: int, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        """On a narrow terminal the line is cut, never folded."""
        monkeypatch.setenv("COLUMNS", str(columns))
        stream = Terminal()
        with Progress("reading", (123_456, 10**15), stream, clock=clock) as progress:
            clock.now += 3_600
            for number in range(50):
                progress.read(str(number))
        (line,) = {line for line in re.split(r"[\r\n]+", _ESCAPES.sub("", stream.getvalue())) if line}
        assert cell_len(line) <= columns

    def test_it_is_taken_back(self, clock: Clock) -> None:
        """At the end, also where work fails, the line is erased and the cursor is there again."""
        stream = Terminal()
        with contextlib.suppress(KeyboardInterrupt), Progress("reading", (1, 9), stream, clock=clock) as progress:
            clock.now += 2
            progress.read("c")
            raise KeyboardInterrupt
        assert stream.getvalue().endswith("\x1b[2K")
        assert "\x1b[?25h" in stream.getvalue()


class TestWhere:
    @pytest.mark.parametrize(("stream", "term"), [(None, "xterm"), (io.StringIO(), "xterm"), (Terminal(), "dumb")])
    def test_on_a_terminal_alone(self, stream: io.StringIO | None, term: str) -> None:
        """Neither where it is not wanted, nor in a pipe, nor on a terminal that takes nothing back."""
        with watched("reading", [], io.BytesIO(), stream, {"TERM": term}) as progress:
            assert progress is None

    def test_on_a_terminal(self) -> None:
        """A terminal has it."""
        with watched("reading", [], io.BytesIO(), Terminal(), {"TERM": "xterm"}) as progress:
            assert isinstance(progress, Progress)


class TestSize:
    def test_files_of_folders_count(self, tmp_path: Path) -> None:
        """Bytes are those of the files as they are, compressed ones compressed; what is missing has none."""
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "a.gz").write_bytes(gzip.compress(b"x" * 10_000))
        (tmp_path / "in" / "b").write_bytes(b"123")
        size = (tmp_path / "in" / "a.gz").stat().st_size + 3
        assert size_of([tmp_path / "in", tmp_path / "none"], io.BytesIO()) == (3, size)

    def test_standard_input(self, tmp_path: Path) -> None:
        """Of a file it has a size, of a pipe it has none."""
        path = tmp_path / "a"
        path.write_bytes(b"1234")
        with path.open("rb") as stream:
            assert size_of([STDIN, path], stream) == (2, 8)
        read, write = os.pipe()
        with os.fdopen(read, "rb") as stream, os.fdopen(write, "wb"):
            assert size_of([STDIN, path], stream) == (2, None)

    def test_what_is_read_is_counted(self, clock: Clock, tmp_path: Path) -> None:
        """All bytes of a compressed file are counted once, those of files that cannot be opened are none."""
        path = tmp_path / "a.gz"
        path.write_bytes(gzip.compress(json.dumps({"resourceSpans": []}).encode()))
        stream = Terminal()
        with Progress("reading", (2, 10_000), stream, clock=clock) as progress:
            list(read_paths([path, tmp_path / "none"], problems=Problems(), open_file=progress.open))
            clock.now += 2
            progress.read("")
        (shown,) = stream.frames()
        assert shown.startswith(f"reading {path.stat().st_size / 1000:.1f}/10.0 kB, ")
        assert shown.endswith(", 2/2 files")


def in_terminal(arguments: Sequence[str], feed: Sequence[bytes], *, pause: float) -> tuple[bytes, str]:
    """Run a command with standard error on a terminal and its input in pieces; return both outputs."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environ = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    command = [sys.executable, "-m", "otel_stall", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=side, env=environ) as child:
        os.close(side)
        assert child.stdin is not None
        for piece in feed:
            child.stdin.write(piece)
            child.stdin.flush()
            time.sleep(pause)
        out, _ = child.communicate(timeout=60)
    shown = b""
    with os.fdopen(main, "rb", buffering=0) as terminal, contextlib.suppress(OSError):  # EIO: the other side is closed
        while piece := terminal.read(65_536):
            shown += piece
    return out, shown.decode()


def request(index: int) -> bytes:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "bash",
        "gen_ai.conversation.id": f"c-{index % 3}",
    }
    span = {
        "traceId": f"{index % 3 + 1:032x}",
        "spanId": f"{index + 1:016x}",
        "name": "execute_tool bash",
        "startTimeUnixNano": str(index * SECOND),
        "endTimeUnixNano": str(index * SECOND + 1),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode() + b"\n"


FEED = [b"".join(request(index) for index in range(first, first + 600)) for first in (0, 600, 1_200)]


class TestCommand:
    def test_on_a_terminal(self) -> None:
        """Long work shows how far it is on standard error, and takes it back; the report is as without it."""
        out, shown = in_terminal(["analyze", "-"], FEED, pause=0.7)
        assert re.search(r"reading [\d.]+ kB, [\d.]+ kB/s, 3 conversations", _ESCAPES.sub("", shown))
        assert shown.endswith("\x1b[2K")
        assert shown.count("\n") == shown.count("\x1b[1A")
        assert b"3 conversations" in out.splitlines()[0]

    def test_not_when_it_is_not_wanted(self) -> None:
        """With --no-progress the terminal stays empty."""
        assert in_terminal(["analyze", "--no-progress", "-"], FEED, pause=0.7)[1] == ""

    def test_not_in_a_pipe(self) -> None:
        """What is no terminal gets nothing, however long it takes."""
        command = [sys.executable, "-m", "otel_stall", "analyze", "-"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            assert child.stdin is not None
            for piece in FEED:
                child.stdin.write(piece)
                child.stdin.flush()
                time.sleep(0.7)
            out, err = child.communicate(timeout=60)
        assert (child.returncode, err) == (0, b"")
        assert out
