"""Rules of `judge`: readings through lineage, doubles and monitor, on any thread."""

from __future__ import annotations

import threading
from dataclasses import replace

from otel_stall.calls import Reading
from otel_stall.config import StallConfig
from otel_stall.judge import Census, Judge
from otel_stall.lineage import Opening
from otel_stall.monitor import Monitor
from otel_stall.testing import tool_reading

CONFIG = StallConfig()


def read(number: int, conversation: str = "c", text: str = "text") -> Reading:
    return replace(tool_reading("read_file", {"path": "a"}, text, number=number), conversation=conversation)


def opening(reading: Reading) -> Opening:
    return Opening(reading.trace_id, reading.span_id, reading.parent_id, reading.start_ns)


def test_a_batch_is_known_before_it_is_judged() -> None:
    """The agent above a tool call is found though it ends later in the same batch."""
    judge = Judge(Monitor(CONFIG))
    call = replace(read(1, ""), parent_id="f" * 16)
    agent = replace(call, span_id="f" * 16, parent_id="", record=None, agent="coder", is_agent=True, conversation="c")
    first, last = judge.ended([call, agent])
    assert [(one.conversation, one.lane, one.agent) for one in first.judged] == [("c", "coder", "coder")]
    assert last.judged == ()


def test_census() -> None:
    """Conversations are counted once, whatever number of lanes they have, and those inside a stall beside."""
    judge = Judge(Monitor(CONFIG))
    judge.ended([read(number) for number in range(1, 6)])
    judge.ended([read(9, "other"), replace(read(10), agent="coder", agent_id="1")])
    assert judge.census() == Census(conversations=2, active=1, evictions=0, late_steps=0)


def test_what_falls_out_and_what_comes_late() -> None:
    """Lanes beyond the bound and steps behind a later one are counted."""
    judge = Judge(Monitor(StallConfig.create({"bounds": {"conversations": 2}})))
    judge.ended([read(number, str(number)) for number in range(1, 6)])
    judge.ended([read(9, "5"), read(8, "5")])
    assert judge.census() == Census(conversations=2, active=0, evictions=3, late_steps=1)


def test_nothing_waits_longer_than_it_may() -> None:
    """While another thread holds the lock every question has an answer, and what was left out is counted."""
    judge = Judge(Monitor(CONFIG), wait_seconds=0.01)
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with judge._lock:
            held.set()
            over.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    reading = read(1)
    assert judge.opened(opening(reading), named=True) == ""
    judge.passed(reading.trace_id, reading.span_id, reading.end_ns)
    assert [judgement.judged for judgement in judge.ended([reading])] == [()]
    assert judge.census() is None
    over.set()
    thread.join()
    assert judge.skipped == 3
    assert len(judge.ended([reading])[0].judged) == 1


def test_spans_it_knows() -> None:
    """A span is known from its start or its end on."""
    judge = Judge(Monitor(CONFIG))
    started, ended, unseen = read(1), read(2), read(3)
    judge.opened(opening(started), named=False)
    judge.ended([ended])
    assert [judge.knows(each.trace_id, each.span_id) for each in (started, ended, unseen)] == [True, True, False]
