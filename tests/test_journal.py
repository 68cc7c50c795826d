"""Entries and dumps lead to the lanes they were taken from, whatever happened, and however it was cut."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from acts import Act, feed, readings
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from strategies import SMALL, any_calls, lanes

from otel_stall.calls import HostMark, Reading
from otel_stall.conversations import Lane
from otel_stall.errors import SnapshotError
from otel_stall.journal import Entry, Journal, LaneChange, LaneKey
from otel_stall.monitor import Monitor, at_mark
from otel_stall.steps import observation
from otel_stall.testing import tool_reading


class File:
    """What a state file keeps of lanes: a dump and the entries since."""

    def __init__(self) -> None:
        self.lanes: dict[LaneKey, tuple[str | None, list[str]]] = {}

    def save(self, changes: dict[LaneKey, LaneChange]) -> None:
        for key, change in changes.items():
            state, entries = (change.state, []) if change.anew else self.lanes.get(key, (None, []))
            if change.anew and state is None:
                self.lanes.pop(key, None)
            else:
                self.lanes[key] = (state, [*entries, *change.entries])

    def restored(self, into: Monitor) -> Monitor:
        for key, (state, entries) in self.lanes.items():
            into.replay(key, Lane.load(state) if state is not None else Lane(), map(Entry.load, entries))
        return into


def _dumps(monitor: Monitor) -> dict[LaneKey, str]:
    return {key: lane.dump() for key, lane in monitor.lanes}


def _cut(acts: list[Act], size: int) -> Iterable[list[Reading]]:
    every = list(readings(acts))
    return [every[at : at + size] for at in range(0, len(every), size)]


@hypothesis_settings(max_examples=120, deadline=None)
@given(lanes(), st.integers(1, 15), st.integers(1, 12))
def test_a_restored_monitor_is_the_one_that_was_saved(acts: list[Act], size: int, whole_every: int) -> None:
    """After any save a second monitor, given the file alone, has the same lanes."""
    monitor, file = Monitor(SMALL), File()
    monitor.lanes.collect()
    monitor.lanes.journal = Journal(whole_every)
    for piece in _cut(acts, size):
        feed(monitor, piece)
        file.save(monitor.lanes.collect())
        assert _dumps(file.restored(Monitor(SMALL))) == _dumps(monitor)


@hypothesis_settings(max_examples=60, deadline=None)
@given(any_calls())
def test_an_entry_comes_back_as_it_was(call: object) -> None:
    """Whatever a call holds, its entry is the same after a dump; lone surrogates are no obstacle."""
    reading = Reading("t", "s", "", "n", 1, 2, record=call)  # type: ignore[arg-type]
    entry = Entry.of(reading, observation(reading), "\ud800 agent")
    assert Entry.load(entry.dump()) == entry


def test_an_entry_holds_nothing_of_what_the_call_held() -> None:
    """Arguments and results are not in it, only their digests."""
    reading = tool_reading("bash", {"command": "echo hunter2-secret"}, "hunter2-secret was said")
    assert "hunter2" not in Entry.of(reading, observation(reading), "").dump()


def test_a_milestone_of_an_open_span_is_told_again() -> None:
    """What `mark` was called with comes back as a mark."""
    monitor, file = Monitor(), File()
    monitor.lanes.collect()
    reading = at_mark(Reading("t", "s", "", "n", 1, 9), HostMark("sent", "observed", 5))
    monitor.mark(reading, "c", "main", "coder")
    file.save(monitor.lanes.collect())
    (status,) = file.restored(Monitor()).status("c")
    assert [one.name for one in status.milestones] == ["sent"]


def test_a_renamed_lane_is_saved_under_its_new_name_alone() -> None:
    """What was counted under a trace's id is found under the conversation after a restart, and nowhere else."""
    monitor, file = Monitor(), File()
    monitor.lanes.collect()
    monitor.observe(tool_reading("read", {"a": 1}, "x", number=1), "trace", "main", "")
    file.save(monitor.lanes.collect())
    monitor.rename("trace", "real")
    monitor.observe(tool_reading("read", {"a": 2}, "y", number=2), "real", "main", "")
    file.save(monitor.lanes.collect())
    assert list(file.lanes) == [("real", "main")]
    assert _dumps(file.restored(Monitor())) == _dumps(monitor)


def test_changes_that_were_not_written_are_joined() -> None:
    """Entries follow each other; a whole lane stands for all that came before it."""
    first, more = LaneChange(False, None, ("1",)), LaneChange(False, None, ("2",))
    whole = LaneChange(True, "{}", ())
    assert more.after(first).entries == ("1", "2")
    assert whole.after(first) == whole
    assert more.after(whole) == LaneChange(True, "{}", ("2",))


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"reading": {}}', "{" * 3_000])
def test_a_damaged_entry_is_said_to_be_one(text: str) -> None:
    """Never another error."""
    with pytest.raises(SnapshotError):
        Entry.load(text)
