"""Faults of disks and files: full, read-only, damaged, of another version, of another program."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from acts import Act, bash, compacted, edit, feed, green, read, readings, red
from downstreams import Kept, assembled_gateway, run, traces

from otel_stall.baseline import Baseline, Group, SegmentMean
from otel_stall.conversations import Lane
from otel_stall.errors import ConfigError, SnapshotError
from otel_stall.gateway.settings import GatewayConfig
from otel_stall.gateway.state import opened
from otel_stall.journal import Entry
from otel_stall.monitor import Monitor
from otel_stall.steps import observation

ACTS: list[Act] = [read("a.py", "x = 1"), red(), edit("a.py", "1", "2"), green(), compacted(), *[bash("ls", "a")] * 6]


def monitor() -> Monitor:
    made = Monitor()
    feed(made, readings(ACTS[:3]))
    return made


def goes_on(restored: Monitor) -> None:
    """A monitor that took a state can be used, whatever the state says."""
    for (conversation, lane), _ in list(restored.lanes):
        feed(restored, readings(ACTS[-4:], trace=9), conversation, lane)
        for status in restored.status(conversation):
            json.dumps(status.document())
    restored.snapshot()


def damaged(data: bytes) -> Iterator[bytes]:
    """Yield the data cut at every byte, and with one bit of every byte flipped."""
    for at in range(len(data)):
        yield data[:at]
        yield data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]


def restores(data: bytes) -> None:
    restored = Monitor()
    before = restored.snapshot()
    try:
        restored.restore(data.decode("utf-8", "surrogateescape"))
    except SnapshotError:
        assert restored.snapshot() == before
    else:
        goes_on(restored)


def loads_lane(data: bytes) -> None:
    restored = Monitor()
    try:
        restored.replay(("c", "main"), Lane.load(data), ())
    except SnapshotError:
        return
    goes_on(restored)


def loads_entry(data: bytes) -> None:
    restored = Monitor()
    try:
        restored.replay(("c", "main"), Lane(), [Entry.load(data.decode("utf-8", "surrogateescape"))])
    except SnapshotError:
        return
    goes_on(restored)


SAVED: dict[str, tuple[Callable[[], str], Callable[[bytes], None]]] = {
    "snapshot": (lambda: monitor().snapshot(), restores),
    "lane": (lambda: next(lane.dump() for _, lane in monitor().lanes), loads_lane),
    "journal": (lambda: Entry.of((one := readings(ACTS)[1]), observation(one), "coder").dump(), loads_entry),
}


class TestSaved:
    @pytest.mark.timeout(300)
    @pytest.mark.parametrize("name", SAVED)
    def test_damaged_anywhere(self, name: str) -> None:
        """A snapshot, a saved lane or an entry of the journal that is cut at any byte, or has any byte changed.

        Host: SnapshotError, and nothing is changed; or what it says is taken, and counting goes on from there.
        Told: the error says what cannot be read, not what it held.
        """
        made, load = SAVED[name]
        for data in damaged(made().encode()):
            load(data)

    @pytest.mark.parametrize(
        "text", ["", "null", "[]", "{}", '{"lanes": 5}', "<html>", "[" * 50_000, '{"version": []}']
    )
    @pytest.mark.parametrize("name", SAVED)
    def test_of_another_program(self, name: str, text: str) -> None:
        """A saved state that another program wrote.

        Host: the same.
        Told: the same.
        """
        SAVED[name][1](text.encode())
        with pytest.raises(SnapshotError):
            Monitor().restore(text)

    def test_of_a_later_version(self) -> None:
        """A snapshot of a later release.

        Host: SnapshotError, nothing is changed.
        Told: the error names both versions.
        """
        text = json.dumps({**json.loads(monitor().snapshot()), "version": 99})
        with pytest.raises(SnapshotError, match="version 99, this release reads 1"):
            Monitor().restore(text)


class TestBaseline:
    TEXT = Baseline(0.05, 0.9, (Group("coder", None, 9, 9, 40, False, (SegmentMean(1, 9, 0.5),)),)).dump()

    def test_damaged_anywhere(self, tmp_path: Path) -> None:
        """A baseline that is cut at any byte, or has any byte changed.

        Host: ConfigError at its start, or the settings as the file now says; nothing after the start.
        Told: the error names the file and the field.
        """
        path = tmp_path / "baseline.json"
        for data in damaged(self.TEXT.encode()):
            path.write_bytes(data)
            with suppress(ConfigError):
                Baseline.load(path).group("coder")

    @pytest.mark.parametrize("data", [b"", b"\0" * 99, b"PK\x03\x04", b"[" * 50_000, b'{"version": 99}', b"null"])
    def test_of_another_program_or_version(self, data: bytes, tmp_path: Path) -> None:
        """A baseline that another program, or a later release, wrote.

        Host: ConfigError at its start.
        Told: the same.
        """
        path = tmp_path / "baseline.json"
        path.write_bytes(data)
        with pytest.raises(ConfigError, match=r"baseline\.json"):
            Baseline.load(path)


class TestStateFile:
    def test_damaged_anywhere(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """A gateway's state file that is cut or changed in any of a hundred places.

        Host: the gateway starts and takes requests.
        Told: a file that cannot be read is kept as `….unreadable`, and the log says why.
        """
        path = tmp_path / "state"
        with assembled_gateway(Kept(), state={"file": path}) as parts:
            assert parts.gateway.handle(traces(run())).ok
        whole = path.read_bytes()
        for number in range(100):
            at = number * len(whole) // 100
            (folder := tmp_path / str(number)).mkdir()
            (folder / "state").write_bytes(whole[:at] + (b"\xff" * 40 + whole[at + 40 :] if number % 2 else b""))
            with assembled_gateway(Kept(), state={"file": folder / "state"}) as parts:
                assert parts.gateway.handle(traces(run("next"))).ok
            aside = (folder / "state.unreadable").exists()
            assert aside == (str(folder / "state.unreadable") in caplog.text)

    def test_of_another_program(self, tmp_path: Path) -> None:
        """A state file that is the database of another program.

        Host: the gateway does not start, and the file stays as it was.
        Told: ConfigError with the setting's name.
        """
        path = tmp_path / "state"
        with sqlite3.connect(path) as base:
            base.execute("CREATE TABLE bookmarks (url TEXT)")
            base.execute("PRAGMA user_version = 64")
        base.close()
        before = path.read_bytes()
        with (
            pytest.raises(ConfigError, match=r"gateway\.state\.file: .* another program"),
            assembled_gateway(Kept(), state={"file": path}),
        ):
            pass
        assert path.read_bytes() == before
        assert [one.name for one in tmp_path.iterdir()] == ["state"]

    @pytest.mark.parametrize("folder", ["/proc", "/dev/null", "no"])
    def test_where_none_can_be(self, folder: str, tmp_path: Path) -> None:
        """A state file in a place where no file can be made: read-only, no folder, missing.

        Host: the gateway does not start.
        Told: ConfigError with the setting's name.
        """
        with (
            pytest.raises(ConfigError, match=r"gateway\.state\.file"),
            assembled_gateway(Kept(), state={"file": tmp_path / folder / "state"}),
        ):
            pass

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="the limit on files is POSIX's")
    def test_on_a_full_disk(self, tmp_path: Path) -> None:
        """The disk is full while the gateway saves, and has room again later.

        Host: requests are answered and forwarded all the while; with room again everything is saved.
        Told: `stall.gateway.unsaved` counts failures; the log says it once until a save succeeds.
        """
        path = tmp_path / "state"
        done = subprocess.run(
            [sys.executable, "-c", FULL, str(Path(__file__).parents[1]), str(path)],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert (done.returncode, done.stderr.count("the state cannot be saved")) == (0, 1), done.stderr
        assert len(opened(path)[1].lanes) == 41

    def test_on_a_disk_that_stays_full(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The disk stays full for as long as the gateway runs.

        Host: what waits to be saved stays as small as what is kept.
        Told: the same.
        """
        limits = {"remembered_spans": 50}
        with assembled_gateway(Kept(), state={"file": tmp_path / "state"}, limits=limits) as parts:
            keeper = parts.keeper
            assert keeper is not None
            monkeypatch.setattr("otel_stall.gateway.keeper._MOST", 200)
            keeper._most = 200
            keeper._file._base.execute("PRAGMA query_only = ON")
            for number in range(150):
                assert parts.gateway.handle(traces(run(f"c-{number}", steps=6))).ok
            waiting = keeper._unsaved.entries
            assert len([one for one in waiting.values() if one is None]) <= 400
            keeper._file._base.execute("PRAGMA query_only = OFF")
        saved = opened(tmp_path / "state")[1]
        assert (len(saved.remarks), len(saved.lanes)) == (50, 150)


class TestCommands:
    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
    @pytest.mark.parametrize("form", ["text", "json", "otlp"])
    def test_output_on_a_full_disk(self, form: str, tmp_path: Path) -> None:
        """`otel-stall analyze` writes to a disk that is full.

        Host: exit status 2.
        Told: one line on standard error, no traceback.
        """
        data = tmp_path / "traces.json"
        data.write_bytes((Path(__file__).parents[1] / "fixtures/readers/host.traces.json").read_bytes())
        command = [sys.executable, "-m", "otel_stall", "analyze", "--format", form, str(data)]
        to_file = subprocess.run(
            [*command, "-o", "/dev/full"], stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
        with open("/dev/full", "w") as full:  # as a shell redirects to it
            to_output = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        for done in (to_file, to_output):
            told = [line for line in done.stderr.splitlines() if "No space left" in line]
            assert (done.returncode, len(told), "Traceback" in done.stderr) == (2, 1, False), done.stderr


def test_settings_of_the_gateway_name_no_folder(tmp_path: Path) -> None:
    """A state file that is a folder.

    Host: the gateway does not start.
    Told: ConfigError with the setting's name.
    """
    assert GatewayConfig.model_validate({"forward": {"url": "grpc://127.0.0.1:1"}}).state.file is None
    with pytest.raises(ConfigError, match=r"gateway\.state\.file"), assembled_gateway(Kept(), state={"file": tmp_path}):
        pass


FULL = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from downstreams import Kept, assembled_gateway, run, traces

def room(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

path, kept = Path(sys.argv[2]), Kept()
with assembled_gateway(kept, state={"file": path}, events=False) as parts:
    assert parts.gateway.handle(traces(run("first"))).ok
    room(path.with_name("state-wal").stat().st_size + 5_000)
    for number in range(40):
        assert parts.gateway.handle(traces(run(f"c-{number}"))).ok
    assert parts.keeper.failures > 1, parts.keeper.failures
    room(resource.RLIM_INFINITY)
    assert parts.gateway.handle(traces(run("c-1"))).ok
assert len(kept.requests) >= 42, len(kept.requests)
"""
