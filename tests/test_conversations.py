"""Rules of `conversations`: the state of a lane, the bounded store of lanes, and their snapshot."""

from __future__ import annotations

import json

import pytest
from acts import SECOND, Act, bash, compacted, edit, feed, numbered, read, readings, red, search

from otel_stall.config import BoundsConfig
from otel_stall.conversations import SNAPSHOT_VERSION, Lane, Lanes
from otel_stall.counters import Counters
from otel_stall.errors import SnapshotError
from otel_stall.monitor import Monitor

BUSY: list[Act] = [
    *[bash("ls", "a")] * 8,
    red(),
    edit("a.py", "1", "2"),
    read("a.py", numbered("a"), offset=1, limit=30),
    search("flood walls river town", "The walls of the river town were built after the flood of last spring."),
    bash("grep x a.py", "", 1),
    compacted(),
    *[bash("ls", "a")] * 4,
]


def busy_lane() -> Lane:
    """Return a lane in which every part of the state holds something."""
    monitor = Monitor()
    feed(monitor, readings(BUSY, agent="coder"))
    lane = monitor.lanes.get(("c", "main"))
    assert lane is not None
    return lane


class TestDump:
    def test_gives_back_an_equal_lane(self) -> None:
        """A lane survives as text, whatever it holds."""
        lane = busy_lane()

        assert lane.open is not None
        assert Lane.load(lane.dump()) == lane
        assert Lane.load(Lane().dump()) == Lane()

    def test_is_plain_json(self) -> None:
        """Any reader of JSON reads it, and equal lanes give equal texts."""
        lane = busy_lane()
        state = json.loads(lane.dump())

        assert (state["agent"], state["counters"]["step"]) == ("coder", 17)
        assert Lane.load(lane.dump()).dump() == lane.dump()

    @pytest.mark.parametrize("data", ["", "{", "[]", "null", '{"counters": 3}', "[" * 100_000, b"\xff", '{"open": {}}'])
    def test_a_damaged_one_is_refused(self, data: str | bytes) -> None:
        """What is no lane is said to be none, without its contents."""
        with pytest.raises(SnapshotError):
            Lane.load(data)


class TestUse:
    def test_makes_a_lane_once(self) -> None:
        """The same key gives the same lane; lanes of one conversation are apart."""
        lanes = Lanes()
        lane = lanes.use(("c", "main"))

        assert lanes.use(("c", "main")) is lane
        assert lanes.use(("c", "main/helper")) is not lane
        assert lanes.get(("other", "main")) is None
        assert len(lanes) == 2

    def test_the_one_longest_without_a_step_falls_out_first(self) -> None:
        """Over the bound, by the order of use; what fell out is counted."""
        lanes = Lanes(BoundsConfig(conversations=2))
        for name in ("a", "b", "a", "c"):
            lanes.use((name, "main"))

        assert [key[0] for key, _ in lanes] == ["a", "c"]
        assert lanes.evicted == 1

    def test_looking_is_no_use(self) -> None:
        """A status query keeps no lane alive."""
        lanes = Lanes(BoundsConfig(conversations=2))
        lanes.use(("a", "main"))
        lanes.use(("b", "main"))
        lanes.get(("a", "main"))
        lanes.use(("c", "main"))

        assert lanes.get(("a", "main")) is None


class TestExpire:
    def test_drops_what_is_idle(self) -> None:
        """A lane whose last step is longer ago than the bound, in the time of the traces."""
        lanes = Lanes(BoundsConfig(idle_seconds=10))
        for name, end in (("a", 5), ("b", 20)):
            lanes.use((name, "main")).last_end_ns = end * SECOND
        lanes.expire(20 * SECOND)

        assert [key[0] for key, _ in lanes] == ["b"]
        assert lanes.evicted == 1

    def test_an_idle_lane_starts_anew(self) -> None:
        """Whether or not it was dropped before, a lane that was idle for too long is a new one."""
        lanes = Lanes(BoundsConfig(idle_seconds=10))
        lanes.use(("a", "main"), 5 * SECOND).tokens = 7

        assert lanes.use(("a", "main"), 15 * SECOND).tokens == 7
        assert lanes.use(("a", "main"), 26 * SECOND).tokens is None
        assert lanes.evicted == 1


class TestRename:
    def test_moves_all_lanes_of_a_conversation(self) -> None:
        """What was counted under a provisional name goes on under the real one."""
        lanes = Lanes()
        first, second = lanes.use(("trace", "main")), lanes.use(("trace", "main/helper"))
        lanes.rename("trace", "c")

        assert lanes.get(("c", "main")) is first
        assert lanes.get(("c", "main/helper")) is second
        assert lanes.get(("trace", "main")) is None

    def test_goes_on_with_what_was_seen_and_reached(self) -> None:
        """A conversation that has steps of its own goes on with the later ones, and forgets nothing."""
        lanes = Lanes()
        own, later = lanes.use(("c", "main")), lanes.use(("trace", "main"))
        own.ledger.lines = {1: 0, 2: 0}
        own.counters = Counters(step=9, distance=4, milestones=2)
        later.ledger.lines = {2: 1, 3: 1}
        later.counters = Counters(step=3, distance=3, dry=2)
        lanes.rename("trace", "c")

        assert lanes.get(("c", "main")) is later
        assert later.ledger.lines == {1: 0, 2: 1, 3: 1}
        assert later.counters == Counters(step=3, distance=7, dry=2, milestones=2)
        assert len(lanes) == 1

    def test_stays_bounded(self) -> None:
        """What is recalled falls out first."""
        lanes = Lanes(BoundsConfig(lines=2))
        lanes.use(("c", "main")).ledger.lines = {1: 0, 2: 0}
        lanes.use(("trace", "main")).ledger.lines = {3: 0}
        lanes.rename("trace", "c")

        found = lanes.get(("c", "main"))
        assert found is not None
        assert (found.ledger.lines, found.ledger.evicted) == ({2: 0, 3: 0}, 1)


class TestSnapshot:
    def test_restores_order_and_state(self) -> None:
        """All lanes, in the order in which they would fall out."""
        monitor = Monitor()
        for name in ("b", "a"):
            feed(monitor, readings(BUSY), name)
        lanes = Lanes()
        lanes.restore(monitor.snapshot())

        assert list(lanes) == list(monitor.lanes)
        assert [key for key, _ in lanes] == [("b", "main"), ("a", "main")]

    @pytest.mark.parametrize(
        "snapshot",
        [
            *("", "{", "[]", "3", "null", "{}", '{"version": 1}', '{"version": 1, "lanes": 3}', "[" * 100_000),
            *('{"version": "1", "lanes": []}', '{"version": 1, "lanes": [["a"]]}', '{"version": null, "lanes": []}'),
            *(
                '{"version": 1, "lanes": [["a", "main", {"step": {}, "ledger": 3}]]}',
                '{"version": 1, "lanes": ["abc"]}',
            ),
        ],
    )
    def test_a_damaged_one_changes_nothing(self, snapshot: str) -> None:
        """What cannot be read is refused as a whole."""
        lanes = Lanes()
        lane = lanes.use(("c", "main"))

        with pytest.raises(SnapshotError):
            lanes.restore(snapshot)
        assert list(lanes) == [(("c", "main"), lane)]

    def test_a_newer_one_is_refused(self) -> None:
        """The message says which version was found."""
        with pytest.raises(SnapshotError, match=f"version {SNAPSHOT_VERSION + 1}"):
            Lanes().restore(json.dumps({"version": SNAPSHOT_VERSION + 1, "lanes": []}))

    def test_of_more_lanes_than_are_kept(self) -> None:
        """The bound holds for restored lanes as well."""
        full = Lanes()
        for name in "abc":
            full.use((name, "main"))
        lanes = Lanes(BoundsConfig(conversations=2))
        lanes.restore(full.snapshot())

        assert [key[0] for key, _ in lanes] == ["b", "c"]
        assert lanes.evicted == 1
