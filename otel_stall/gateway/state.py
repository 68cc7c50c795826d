"""The state of a gateway in a file, so that one that was killed goes on where it was.

The file is an SQLite database: each save writes only what changed, in one transaction, and a process that
dies in the middle leaves the save before. It holds digests, counters and verdicts, no content.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple

from otel_stall.conversations import Lane
from otel_stall.emission import Event, Severity
from otel_stall.errors import UNREADABLE, SnapshotError
from otel_stall.gateway.annotator import SavedRemark, SpanKey
from otel_stall.gateway.events import Remark
from otel_stall.journal import Entry, LaneChange, LaneKey
from otel_stall.judge import Changes
from otel_stall.lineage import TraceState

__all__ = ["STATE_VERSION", "Saved", "StateFile", "Unsaved", "opened", "unsaved"]

_LOG = logging.getLogger("otel_stall")

STATE_VERSION: Final = 1
"""Written into the file; one of a newer version is put aside."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS entries (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, UNIQUE (kind, key)
);
CREATE TABLE IF NOT EXISTS told (number INTEGER PRIMARY KEY, lane TEXT NOT NULL, entry TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS told_to ON told (lane);
"""
_OURS: Final = ("entries", "told")
_PUT: Final = """INSERT INTO entries (kind, key, value) VALUES (?, ?, ?)
    ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value"""
_ENTRY: Final = "SELECT 1 FROM entries WHERE kind = ? AND key = ?"
_TOLD: Final = "SELECT 1 FROM told WHERE lane = ? LIMIT 1"
_REMOVE: Final = "DELETE FROM entries WHERE kind = ? AND key = ?"
_BUSY_SECONDS: Final = 5.0
_LANE, _TRACE, _REMARK = "lane", "trace", "remark"


class Unsaved(NamedTuple):
    """What changed, as it is written: texts by kind and key, None for what is gone, and lanes by their keys."""

    entries: dict[tuple[str, str], str | None]
    lanes: dict[str, LaneChange]

    def __bool__(self) -> bool:
        return bool(self.entries or self.lanes)

    def then(self, later: Unsaved) -> Unsaved:
        """Return both as one."""
        lanes = {key: change.after(self.lanes.get(key)) for key, change in later.lanes.items()}
        return Unsaved(self.entries | later.entries, self.lanes | lanes)


class Saved(NamedTuple):
    """What a file held: lanes with what they were told since, and remarks in the order in which they were made."""

    lanes: dict[LaneKey, tuple[Lane, list[Entry]]]
    traces: dict[str, TraceState]
    remarks: dict[SpanKey, SavedRemark]


def unsaved(changes: Changes, remarks: Mapping[SpanKey, SavedRemark | None]) -> Unsaved:
    """Return changes as they are written."""
    entries: dict[tuple[str, str], str | None] = {}
    for trace, state in changes.traces.items():
        entries[_TRACE, trace] = None if state is None else json.dumps(state)
    for span, saved in remarks.items():
        entries[_REMARK, json.dumps(span)] = None if saved is None else _text(saved)
    return Unsaved(entries, {json.dumps(key): change for key, change in changes.lanes.items()})


class StateFile:
    """A state file; used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        with suppress(OSError):  # SQLite says better why a file cannot be made
            os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600))
        self._base = sqlite3.connect(path, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None)
        # Text that is none is damage to be found where it is read, not a database that cannot be used.
        self._base.text_factory = lambda text: text.decode("utf-8", "replace")

    def load(self) -> Saved:
        """Return what was saved last, all empty in a new file; raises SnapshotError where it cannot be read.

        Raises sqlite3.OperationalError where the file is another process's, or may not be written.
        """
        try:
            self._prepare()
            saved = Saved({}, {}, {})
            for kind, key, value in self._base.execute("SELECT kind, key, value FROM entries ORDER BY number"):
                _take(saved, kind, key, value)
            for key, text in self._base.execute("SELECT lane, entry FROM told ORDER BY number"):
                saved.lanes.setdefault(_lane_key(key), (Lane(), []))[1].append(Entry.load(text))
        except UNREADABLE as error:
            reason = str(error) if isinstance(error, SnapshotError) else type(error).__name__
            raise SnapshotError(reason) from None
        except sqlite3.OperationalError:
            raise  # locked by another process, or not to be written: what it holds may be sound
        except sqlite3.DatabaseError as error:
            # SQLite quotes the file, which may hold anything.
            raise SnapshotError(ascii(str(error)[:200])[1:-1]) from None
        return saved

    def _prepare(self) -> None:
        tables = {name for (name,) in self._base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and tables.isdisjoint(_OURS):
            raise sqlite3.OperationalError("it is a database of another program")
        (version,) = self._base.execute("PRAGMA user_version").fetchone()
        if version > STATE_VERSION:
            raise SnapshotError(f"it is of version {version}, this release reads {STATE_VERSION}")
        # One gateway alone: what two of them counted side by side would make no sense.
        self._base.execute("PRAGMA locking_mode = EXCLUSIVE")
        # In WAL mode a commit survives the death of the process without waiting for the disk.
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA synchronous = NORMAL")
        self._base.executescript(_TABLES)
        self._base.execute(f"PRAGMA user_version = {STATE_VERSION}")

    def save(self, what: Unsaved) -> None:
        """Write what changed, all or nothing; raises sqlite3.Error where that fails."""
        anew = {key: change.state for key, change in what.lanes.items() if change.anew}
        entries = what.entries | {(_LANE, key): state for key, state in anew.items()}
        told = [(key, entry) for key, change in what.lanes.items() for entry in change.entries]
        with self._transaction():
            self._base.executemany(_REMOVE, [key for key, value in entries.items() if value is None])
            self._base.executemany(_PUT, [(*key, value) for key, value in entries.items() if value is not None])
            self._base.executemany("DELETE FROM told WHERE lane = ?", [(key,) for key in anew])
            self._base.executemany("INSERT INTO told (lane, entry) VALUES (?, ?)", told)

    def needed(self, what: Unsaved) -> Unsaved:
        """Return changes that could not be saved without those that say of what the file never held that it is gone.

        What the file holds is looked up; where it cannot even be read, it is taken to hold nothing.
        """
        gone = [key for key, value in what.entries.items() if value is None]
        lanes = [key for key, change in what.lanes.items() if change.anew and change.state is None]
        try:
            needless = {key for key in gone if not self._holds(_ENTRY, key)}
            away = {key for key in lanes if not self._holds(_ENTRY, (_LANE, key)) and not self._holds(_TOLD, (key,))}
        except sqlite3.Error:
            needless, away = set(gone), set(lanes)
        return Unsaved(
            {key: value for key, value in what.entries.items() if key not in needless},
            {key: change for key, change in what.lanes.items() if key not in away},
        )

    def _holds(self, query: str, key: tuple[str, ...]) -> bool:
        return self._base.execute(query, key).fetchone() is not None

    def _transaction(self) -> sqlite3.Connection:
        self._base.execute("BEGIN IMMEDIATE")
        return self._base  # as a context it commits, or rolls back where an error comes through

    def close(self) -> None:
        """Close the file."""
        self._base.close()


def opened(path: Path) -> tuple[StateFile, Saved]:
    """Return the file with what it held. One that cannot be read is put aside as `….unreadable`, and said so.

    Raises sqlite3.Error or SnapshotError where no file can be made at that path.
    """
    file = StateFile(path)
    try:
        return file, file.load()
    except SnapshotError as error:
        file.close()
        aside = path.with_name(path.name + ".unreadable")
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.replace(f"{path}{suffix}", f"{aside}{suffix}")
        _LOG.error("%s cannot be read (%s) and is kept as %s; counting starts anew", path, error, aside)
    file = StateFile(path)
    return file, file.load()


def _take(saved: Saved, kind: str, key: str, value: str) -> None:
    if kind == _LANE:
        saved.lanes[_lane_key(key)] = (Lane.load(value), [])
    elif kind == _TRACE:
        saved.traces[key] = TraceState(*json.loads(value))
    elif kind == _REMARK:
        trace_id, span_id = json.loads(key)
        saved.remarks[trace_id, span_id] = _remark(json.loads(value))


def _lane_key(text: str) -> LaneKey:
    conversation, lane = json.loads(text)
    return str(conversation), str(lane)


def _text(saved: SavedRemark) -> str:
    return json.dumps({**asdict(saved.remark), "told": saved.told})


def _remark(value: dict[str, Any]) -> SavedRemark:
    events, mirrored = tuple(_events(value["events"])), tuple(_events(value["mirrored"]))
    return SavedRemark(Remark(value["attributes"], events, mirrored, value["whose"]), bool(value["told"]))


def _events(listed: list[dict[str, Any]]) -> Iterator[Event]:
    for one in listed:
        yield Event(one["name"], Severity(one["severity"]), one["attributes"])
