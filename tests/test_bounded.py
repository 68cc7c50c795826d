"""Rules of `bounded`: no memory grows without end, and nothing falls out of one without being counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from otel_stall.bounded import MEMORIES, trim
from otel_stall.calls import HostMark, ModelCall, Reading
from otel_stall.config import StallConfig
from otel_stall.conversations import Lane, Lanes
from otel_stall.judge import Judge
from otel_stall.lineage import Opening
from otel_stall.monitor import Monitor, at_mark
from otel_stall.testing import tool_reading

SMALL = {"bounds": {"open_spans": 8, "conversations": 4, "calls": 4, "lines": 8}}


def test_the_oldest_go_first() -> None:
    """Down to the limit, each counted, and returned for who has to know."""
    dropped: Counter[str] = Counter()
    entries = dict.fromkeys("abcd", 1)
    assert trim(entries, 2, dropped, "marks") == [("a", 1), ("b", 1)]
    assert trim(entries, 2, dropped, "marks") == []
    assert (list(entries), dropped) == (["c", "d"], {"marks": 2})


def call(number: int) -> Reading:
    reading = tool_reading("read", {"a": number}, f"line {number}", number=number)
    return replace(reading, trace_id=f"{number:032x}", agent=f"agent {number}", conversation=f"c {number // 100}")


class TestCensus:
    def forgotten(self, judge: Judge) -> dict[str, int]:
        census = judge.census()
        assert census is not None
        assert set(census.forgotten) <= set(MEMORIES)
        return dict(census.forgotten)

    def test_where_nothing_fell_out(self) -> None:
        """Nothing is told."""
        judge = Judge(Monitor())
        judge.ended([call(number) for number in range(1, 9)])
        assert self.forgotten(judge) == {}

    def test_a_long_run(self) -> None:
        """Ended spans, traces, agents, calls and digests: each is counted by what it was."""
        judge = Judge(Monitor(StallConfig.create(SMALL)))
        for number in range(1, 5_000):
            judge.ended([replace(call(number), conversation="c", agent="")])
        found = self.forgotten(judge)
        assert (found["ended_spans"], found["traces"]) == (4_999 - 2, 4_999 - 8)
        assert {"calls", "digests"} <= set(found)

    def test_spans_that_do_not_end(self) -> None:
        """The oldest ones, beyond the bound."""
        judge = Judge(Monitor(StallConfig.create(SMALL)))
        for number in range(1, 21):
            judge.opened(Opening(f"{number:032x}", f"{number:016x}", "", number), named=False)
        assert self.forgotten(judge) == {"open_spans": 12}

    def test_marks_of_spans_that_do_not_end(self) -> None:
        """What was counted once could then be counted again."""
        judge = Judge(Monitor(StallConfig.create(SMALL)))
        for number in range(1, 21):
            mark = HostMark(f"m {number}", "observed", number)
            judge.marked(at_mark(replace(call(number), record=None, marks=(mark,)), mark))
        assert self.forgotten(judge)["marks"] == 12

    def test_marks_of_one_span(self) -> None:
        """As many are remembered as a span has events."""
        judge = Judge(Monitor())
        for number in range(1, 131):
            mark = HostMark(f"m {number}", "observed", number)
            judge.marked(at_mark(replace(call(1), record=None, marks=(mark,)), mark))
        assert self.forgotten(judge)["marks"] == 2


class TestDigests:
    @pytest.mark.parametrize("count", [5, 30])
    def test_of_lanes_that_are_gone_stay_counted(self, count: int) -> None:
        """A counter never goes back: neither by an eviction, nor by a snapshot, nor by a rename; late steps neither."""
        lanes = Lanes(StallConfig.create(SMALL).bounds)
        for number in range(count):
            lane = lanes.use((str(number), "main"))
            lane.ledger.evicted, lane.late = 2, 3
        assert (lanes.dropped, lanes.late) == (2 * count, 3 * count)
        again = Lanes(StallConfig.create({"bounds": {"conversations": 2}}).bounds)
        again.restore(lanes.snapshot())
        assert (again.evicted, again.dropped, again.late) == (count - 2, 2 * count, 3 * count)
        (first, _), (last, _) = again
        again.rename(first[0], last[0])
        assert (len(again), again.dropped, again.late) == (1, 2 * count, 3 * count)

    def test_what_a_lane_was_told_before(self) -> None:
        """Ids of calls since the last turn, spans and milestones by name are in the same count."""
        monitor = Monitor(StallConfig.create(SMALL))
        lane = monitor.lanes.use(("c", "main"))
        assert isinstance(lane, Lane)
        for number in range(1, 4_098):
            reading = replace(call(number), record=ModelCall(input_tokens=1))
            monitor.observe(reading, "c", "main", "")
        assert (len(lane.spans), lane.ledger.evicted) == (4_096, 1)
        for number in range(6):
            mark = HostMark(f"m {number}", "observed", 5_000)
            monitor.mark(at_mark(replace(call(5_000), record=None, marks=(mark,)), mark), "c", "main", "")
        assert (len(lane.ledger.milestones), lane.ledger.evicted) == (4, 3)
