"""What is fuzzed: one function for each way in, which raises where something got through that must not.

A target takes bytes, does with them what a user's program would, and lets those errors pass that the way in
promises. `SEEDS` has examples of good input for each, from which a fuzzer starts.
"""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, NoReturn

import zstandard
from acts import Act, bash, compacted, edit, feed, green, numbered, read, readings, red
from downstreams import Kept, assembled_gateway, run, traces
from drawn import Drawn

from otel_stall import dialects
from otel_stall.analysis import analyze
from otel_stall.baseline import Baseline, Group, SegmentMean
from otel_stall.calls import Reading
from otel_stall.config import StallConfig
from otel_stall.conversations import Lane
from otel_stall.doctor import examine
from otel_stall.errors import ConfigError, DecodeError, SnapshotError
from otel_stall.gateway.answers import Encoding, Request
from otel_stall.gateway.bodies import TooLargeError, inflated
from otel_stall.gateway.conversion import as_protobuf
from otel_stall.gateway.core import Gateway
from otel_stall.gateway.settings import load
from otel_stall.journal import Entry
from otel_stall.judge import Judge
from otel_stall.labels import read_labels
from otel_stall.monitor import Monitor
from otel_stall.otlp import Signal
from otel_stall.pressure import Ladder
from otel_stall.readers import FORMATS, Problems, read_paths, records
from otel_stall.report import conversation as conversation_report
from otel_stall.report import doctor as doctor_report
from otel_stall.report import json as json_report
from otel_stall.report import page as page_report
from otel_stall.report import survey as survey_report
from otel_stall.report import text as text_report
from otel_stall.report.cells import Screen
from otel_stall.report.otlp import Verdicts, lines
from otel_stall.steps import observation
from otel_stall.survey import survey

__all__ = ["SEEDS", "TARGETS", "Target"]

Target = Callable[[bytes], None]

_FIXTURES: Final = Path(__file__).parents[1] / "fixtures"
_SMALL: Final = StallConfig.create(
    {"bounds": {"conversations": 4, "lines": 64, "calls": 16, "open_spans": 16}, "metrics": False}
)
_NAMES: Final = ("", *dict.fromkeys(row.name for row in FORMATS))
_LIMIT: Final = 1 << 20


def readers(data: bytes) -> None:
    """Read a file of any format, told by its content or named by the first byte, and judge what is in it."""
    name = _NAMES[data[0] % len(_NAMES)] if data else ""
    _read(data[1:], name)


def compressed(data: bytes) -> None:
    """Read a file that is compressed, damaged or not."""
    packed = gzip.compress(data, 1) if data[:1] < b"\x80" else zstandard.ZstdCompressor().compress(data)
    _read(packed[: len(packed) - data[1] % 16] if len(data) > 1 else packed, "")
    _read(b"\x1f\x8b" + data, "")
    _read(b"\x28\xb5\x2f\xfd" + data, "")


def _read(data: bytes, name: str) -> None:
    """Everything that the command line does with a file; what it prints holds no control or format characters."""
    problems = Problems()
    views = list(read_paths(["-"], problems=problems, stdin=io.BytesIO(data), name=name))
    found, verdicts = analyze(views, _SMALL, details=True), Verdicts("")
    json_report.render(found, problems, steps=True)
    _is_safe(text_report.render(found, problems, Screen(80), whole=True))
    _is_safe(conversation_report.render(found, problems, Screen(80), steps=True))
    page_report.write(io.StringIO(), found, problems, _SMALL)
    _is_safe(doctor_report.render(examine(views), problems))
    _is_safe(survey_report.render(survey(views, _SMALL), problems))
    analyze(views, _SMALL, each=verdicts.take)
    for line in lines(records(["-"], problems=Problems(), stdin=io.BytesIO(data), name=name), verdicts):
        line.encode("utf-8", "replace")


def _is_safe(text: str) -> None:
    assert all(character.isprintable() or character == "\n" for character in text), "it can move the cursor"


def dialect(data: bytes) -> None:
    """Judge spans with known and unknown attributes of any value."""
    drawn = Drawn(data)
    judge = Judge(Monitor(_SMALL), clock=lambda: 1 << 61)
    seen: list[Reading] = []
    while drawn.left > 0 and len(seen) < 24:
        seen.append(dialects.read(drawn.view()))
        judge.ended(seen[-1:])
    judge.ended(seen, dialects.merge(sorted(seen, key=_ended)))
    _goes_on(judge)


def _ended(reading: Reading) -> tuple[int, int, str]:
    return reading.end_ns, reading.start_ns, reading.span_id


def _goes_on(judge: Judge) -> None:
    """What was judged can be saved, restored and shown."""
    other = Monitor(_SMALL)
    other.restore(judge.monitor.snapshot())
    assert other.snapshot() == judge.monitor.snapshot()
    for status in judge.status(limit=4) or ():
        json.dumps(status.document())


_SIGNALS: Final = tuple(Signal)


def requests(data: bytes) -> None:
    """Let the gateway take a request of any signal and encoding; no internal error, and one answer."""
    if not data:
        return
    signal = _SIGNALS[data[0] % len(_SIGNALS)]
    encoding = Encoding.JSON if data[0] & 0x80 else Encoding.PROTOBUF
    request = Request(signal, data[1:], encoding)
    gateway, kept = _gateway()
    gateway.handle(request)
    kept.requests.clear()
    with suppress(DecodeError):
        as_protobuf(request)


@cache
def _gateway() -> tuple[Gateway, Kept]:
    kept = Kept()
    parts = assembled_gateway(kept, _SMALL, settle_seconds=0, limits={"remembered_spans": 64}).__enter__()
    parts.gateway._failed = parts.gateway._annotator._emitter.failed = _raised  # type: ignore[method-assign]
    return parts.gateway, kept


def _raised(error: Exception) -> NoReturn:
    raise AssertionError("an internal error") from error


def bodies(data: bytes) -> None:
    """Unpack a body: never more than the limit."""
    for body in (data, b"\x1f\x8b\x08\x00" + data):
        with suppress(DecodeError, TooLargeError):
            assert len(inflated(body, "gzip", _LIMIT)) <= _LIMIT


def snapshot(data: bytes) -> None:
    """Restore a monitor from any text: it refuses and stays as it was, or goes on."""
    monitor = Monitor(_SMALL)
    before = monitor.snapshot()
    try:
        monitor.restore(data.decode("utf-8", "surrogateescape"))
    except SnapshotError:
        assert monitor.snapshot() == before
        return
    _used(monitor)


def lane(data: bytes) -> None:
    """Load a saved lane and go on with it."""
    try:
        loaded = Lane.load(data)
    except SnapshotError:
        return
    monitor = Monitor(_SMALL)
    monitor.replay(("c", "main"), loaded, ())
    _used(monitor)


def entry(data: bytes) -> None:
    """Load an entry of a journal, and fold it."""
    try:
        loaded = Entry.load(data.decode("utf-8", "surrogateescape"))
    except SnapshotError:
        return
    monitor = Monitor(_SMALL)
    monitor.replay(("c", "main"), Lane(), [loaded, loaded])
    _used(monitor)


def _used(monitor: Monitor) -> None:
    acts: list[Act] = [bash("ls", "a"), red(), edit("a", "1", "2"), green(), compacted(), *[bash("ls", "a")] * 7]
    for (conversation, name), _ in list(monitor.lanes):
        feed(monitor, readings(acts), conversation, name)
        for status in monitor.status(conversation):
            json.dumps(status.document())
    monitor.snapshot()


def state(data: bytes) -> None:
    """Start a gateway from a state file with these bytes: it starts, or says why not."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        path = Path(folder) / "state"
        path.write_bytes(data)
        with (
            suppress(ConfigError),
            assembled_gateway(Kept(), _SMALL, settle_seconds=0, state={"file": path}) as parts,
        ):
            assert parts.gateway.handle(traces(run(steps=2))).ok


def baseline(data: bytes) -> None:
    """Load a baseline and ask it."""
    with _file(data) as path:
        try:
            loaded = Baseline.load(path)
        except ConfigError:
            return
    assert Baseline.load(_written(loaded.dump(), path)) == loaded
    group = loaded.group("coder", "fix")
    assert group is None or group.mean(1) is None or group.limit >= 1


def settings(data: bytes) -> None:
    """Load settings of the rules and of the gateway from YAML."""
    if b"_file" in data or b"baseline" in data or b"ca_" in data:
        return  # these name files of the machine
    with _file(data) as path:
        for loading in (lambda: StallConfig.load(path), lambda: load(path, {}, {})):
            try:
                loading()
            except ConfigError as error:
                str(error).encode()


def labels(data: bytes) -> None:
    """Load what a user knows of runs from CSV."""
    with _file(data) as path, suppress(ConfigError):
        read_labels(path)


def ladder(data: bytes) -> None:
    """Restore what was done about stalls."""
    restored = Ladder(["replan"])
    try:
        restored.restore(data.decode("utf-8", "surrogateescape"))
    except SnapshotError:
        return
    again = Ladder(["replan"])
    again.restore(restored.snapshot())
    assert again.snapshot() == restored.snapshot()


@dataclass(frozen=True)
class _File:
    """A file with these bytes while the block runs."""

    data: bytes

    def __enter__(self) -> Path:
        path = _folder() / "input"
        path.write_bytes(self.data)
        return path

    def __exit__(self, *_: object) -> None:
        pass


_file = _File


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))


def _written(text: str, path: Path) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


TARGETS: Final[Mapping[str, Target]] = {
    target.__name__: target
    for target in (
        readers,
        compressed,
        dialect,
        requests,
        bodies,
        snapshot,
        lane,
        entry,
        state,
        baseline,
        settings,
        labels,
        ladder,
    )
}


def _fixtures(*folders: str) -> Iterator[bytes]:
    for folder in folders:
        for path in sorted((_FIXTURES / folder).glob("*.json*")):
            data = path.read_bytes()
            yield data if len(data) < 60_000 else b"\n".join(data.splitlines()[:2])


def _files() -> list[bytes]:
    return [b"\x00" + data for data in _fixtures("hosts", "readers", "dialects")] + [
        bytes([number]) + data for number, data in enumerate(_fixtures("readers"))
    ]


def _bodies() -> list[bytes]:
    found = [bytes([_SIGNALS.index(Signal.TRACES)]) + traces(run(steps=3)).body]
    for data in _fixtures("hosts"):
        for line in data.splitlines()[:3]:
            signal = Signal.TRACES if b'"resourceSpans"' in line else Signal.LOGS
            number = _SIGNALS.index(signal)
            found.append(bytes([0x81 + number]) + line)
            with suppress(DecodeError):
                found.append(bytes([number]) + as_protobuf(Request(signal, line, Encoding.JSON)).body)
    return found


def _monitor() -> Monitor:
    monitor = Monitor(_SMALL)
    acts: list[Act] = [read("a.py", numbered("a", count=4)), red(), edit("a.py", "1", "2"), green(), compacted()]
    feed(monitor, readings([*acts, *[bash("ls", "a"), bash("ls b", "b")] * 4]))
    return monitor


def _entries() -> list[bytes]:
    return [
        Entry.of(one, observation(one), "coder", 9).dump().encode()
        for one in readings([read("a.py", "x"), red(), edit("a.py", "1", "2"), compacted()])
    ]


def _states() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state"
        with assembled_gateway(Kept(), _SMALL, state={"file": path}) as parts:
            parts.gateway.handle(traces(run(steps=6)))
        return [path.read_bytes()]


_SETTINGS: Final = b"""
detection: {dry_notice: 9, loop_notice: 4}
bounds: &b {conversations: 10, idle_seconds: 1.5e3}
milestones:
  tools: {irreversible: [create_*, "send_?"], checks: [run_tests], never: []}
  commands: {checks: ["make check"], irreversible: ["make release", ./deploy-*]}
pressure: {acts: [notice, replan], hung_seconds: 30}
mode: events_only
stamp: ~
2026-01-01: 1
gateway:
  mode: inline
  forward: {url: "grpc://127.0.0.1:4317", timeout_seconds: 3}
  limits: {requests: 7}
  grpc: "127.0.0.1:1"
"""


def _seeds() -> dict[str, Callable[[], Sequence[bytes]]]:
    group = Group("coder", "fix", 9, 9, 40, False, (SegmentMean(1, 9, 0.5),))
    did = b'{"version": 1, "lanes": [["c", "main", 1, [["replan", 5]], [["notice", 2]], [3, "green"], null]]}'
    return {
        "readers": _files,
        "compressed": lambda: [data[1:] for data in _files()[:8]],
        "dialect": lambda: [bytes((n * seed) % 256 for n in range(400)) for seed in range(1, 40, 2)],
        "requests": _bodies,
        "bodies": lambda: [gzip.compress(b"x" * 1_000), gzip.compress(b"") * 3],
        "snapshot": lambda: [_monitor().snapshot().encode()],
        "lane": lambda: [lane.dump().encode() for _, lane in _monitor().lanes],
        "entry": _entries,
        "state": _states,
        "baseline": lambda: [Baseline(0.05, 0.9, (group,)).dump().encode()],
        "settings": lambda: [_SETTINGS],
        "labels": lambda: [b"conversation,outcome,task,task_class\nc-1,success,t,fix\nc-2,unknown,,\n"],
        "ladder": lambda: [did],
    }


SEEDS: Final[Mapping[str, Callable[[], Sequence[bytes]]]] = _seeds()
