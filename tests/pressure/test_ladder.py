"""Rules of `pressure.Ladder`: what a host asks at each turn, over a processor that judges."""

from __future__ import annotations

import json
import logging
import os

import pytest
from acts import numbered

from otel_stall import StallConfig, StallSpanProcessor, milestone
from otel_stall.errors import ConfigError, SnapshotError
from otel_stall.pressure import Abandonment, Ladder, Pressure
from otel_stall.pressure.ladder import NONE
from otel_stall.testing import RecordedProvider
from otel_stall.verdicts import Level

ALL = ("notice", "replan", "ask_user", "abandon")


class Host:
    """An agent that reads one file over and over, traced, and what it is told at each turn."""

    def __init__(self, ladder: Ladder | None = None, **settings: object) -> None:
        self.processor = StallSpanProcessor(StallConfig.create(settings))
        self.recorded = RecordedProvider(self.processor)
        self.ladder = ladder or Ladder(ALL, source=self.processor)

    def turn(self) -> Pressure:
        self.recorded.tool("read_file", {"path": "a.py"}, numbered("a", count=5))
        pressure = self.ladder.look()
        if pressure.action is Level.ABANDON:
            self.ladder.abandon(pressure)
        else:
            self.ladder.did(pressure)
        return pressure

    def run(self, steps: int, conversation: str = "c-1", agent: str = "coder") -> dict[int, Level | None]:
        """Return what acted, by step."""
        with self.recorded.agent(agent, conversation=conversation):
            turns = [self.turn() for _ in range(steps)]
        return {one.status.step: one.action for one in turns if one.status is not None and one.action is not None}


def test_rungs_act_at_the_steps_the_verdicts_name() -> None:
    """What the last verdict says of each level's step is when it acted."""
    host = Host(detection={"distance_limit": 10})
    acted = host.run(40)

    status = host.processor.standing("c-1")
    assert status is not None
    assert status.stall is not None
    reached = {level: step for level, step in status.stall.levels if level is not Level.NOTICE}
    assert {level: step for step, level in acted.items()} == reached
    assert list(acted.values()) == [Level.REPLAN, Level.ASK_USER, Level.ABANDON]


def test_observing_is_the_default() -> None:
    """Without an opt-in, in code or settings, nothing is shown and nothing acts; level and evidence are there."""
    host = Host(Ladder())
    host.ladder.source = host.processor
    with host.recorded.agent("coder", conversation="c-1"):
        turns = [host.turn() for _ in range(40)]

    assert {(turn.counter, turn.action) for turn in turns} == {(None, None)}
    assert turns[-1].lines() == []
    assert turns[-1].level is Level.ABANDON
    assert turns[-1].evidence


def test_settings_opt_in_per_level() -> None:
    """`pressure.acts` of the settings holds where the code says nothing, and the code's word goes before it."""
    host = Host(pressure={"acts": "notice, replan"})
    host.ladder = Ladder(source=host.processor)
    assert list(host.run(40).values()) == [Level.REPLAN]
    host.ladder = Ladder(["ask_user"], source=host.processor)
    assert list(host.run(40, "c-2").values()) == [Level.ASK_USER]


def test_an_unknown_level_fails_at_start_up() -> None:
    """With the field's name."""
    with pytest.raises(ConfigError, match=r"pressure\.acts\.1"):
        Ladder(["notice", "shout"])
    with pytest.raises(ConfigError, match=r"pressure\.acts\.0"):
        StallConfig.create({"pressure": {"acts": ["shout"]}})


def test_the_current_span_tells_conversation_and_lane() -> None:
    """Inside an agent's span it is that agent's lane, though another was used last."""
    host = Host()
    with host.recorded.agent("coder", conversation="c-1"):
        host.turn()
        with host.recorded.agent("searcher"):
            host.turn()
            inner = host.ladder.look()
        outer = host.ladder.look()
    by_name = host.ladder.look("c-1", agent="coder")

    lanes = [one.status.lane for one in (inner, outer, by_name) if one.status is not None]
    assert lanes == ["coder/searcher", "coder", "coder"]
    assert host.ladder.look("unknown") is NONE
    assert host.ladder.look() is NONE


def test_a_user_turn_resets() -> None:
    """A person who speaks ends the stall; what is after it is another one, from its first rung."""
    host = Host()
    assert list(host.run(14).values()) == [Level.REPLAN]
    host.recorded.chat("?", {"gen_ai.conversation.id": "c-1", "gen_ai.agent.name": "coder", **said(1)})
    host.recorded.chat("?", {"gen_ai.conversation.id": "c-1", "gen_ai.agent.name": "coder", **said(2)})
    assert host.ladder.look("c-1").level is None
    assert list(host.run(14).values()) == [Level.REPLAN]


def said(times: int) -> dict[str, str]:
    messages = [{"role": "user", "parts": [{"type": "text", "content": "go on"}]}] * times
    return {"gen_ai.input.messages": json.dumps(messages)}


def test_what_we_show_to_the_model_is_no_user_turn() -> None:
    """The line and the call for a plan may stand in a message of the user's: the stall goes on."""
    host = Host()
    host.run(14)
    line = host.ladder.look("c-1").counter
    whose = {"gen_ai.conversation.id": "c-1", "gen_ai.agent.name": "coder"}
    host.recorded.chat("?", {**whose, **said(1)})
    with_line = [*json.loads(said(1)["gen_ai.input.messages"]), {"role": "user", "content": line}]
    host.recorded.chat("?", {**whose, "gen_ai.input.messages": json.dumps(with_line)})

    assert line is not None
    assert host.ladder.look("c-1").level is Level.REPLAN


def test_abandoned_with_its_milestones() -> None:
    """The record has what was verified, with trace and step; it is logged and handed over once."""
    kept: list[Abandonment] = []
    host = Host()
    host.ladder = Ladder(ALL, source=host.processor, on_abandon=kept.append)
    with host.recorded.agent("coder", conversation="c-1") as span:
        host.turn()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("otel_stall.marking.attached", lambda _: host.processor)
            milestone("schema migrated", timestamp=host.recorded.clock())
        for _ in range(40):
            last = host.turn()
        trace_id = f"{span.get_span_context().trace_id:032x}"

    (record,) = kept
    document = json.loads(record.json())
    assert (document["outcome"], document["return_to"]) == ("abandoned", {"step": 1, "trace_id": trace_id})
    assert [(one["name"], one["evidence"]) for one in document["milestones"]] == [("schema migrated", "observed")]
    assert list(document["actions"]) == ["replan", "ask_user"]
    assert "not completed" in document["reason"]
    assert last.action is None
    (event,) = [one for one in host.recorded.spans()[-1].events if one.name == "stall.abandoned"]
    assert event.attributes is not None
    assert event.attributes["stall.kept.milestones"] == ("step 1: schema migrated (observed)",)
    assert event.attributes["stall.return.trace_id"] == trace_id


def test_asked_again_the_record_is_the_same_and_is_logged_once() -> None:
    """A framework that runs a turn again gets the record again; nothing is told twice."""
    kept: list[Abandonment] = []
    host = Host()
    ladder = Ladder(["abandon"], source=host.processor, on_abandon=kept.append)
    host.ladder = Ladder([], source=host.processor)
    host.run(40)
    due = ladder.look("c-1")

    assert ladder.abandon(due) == kept[0]
    again = ladder.abandon(due)
    assert again is not None
    assert again.document()["milestones"] == kept[0].document()["milestones"]
    assert len(kept) == 1
    assert ladder.abandon(ladder.look("c-1")) is None


def test_a_callback_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is raised into the host."""

    def fails(record: Abandonment) -> None:
        raise OSError(record.conversation)

    host = Host()
    host.ladder = Ladder(["abandon"], source=host.processor, on_abandon=fails)
    with caplog.at_level(logging.WARNING, "otel_stall"):
        assert list(host.run(40).values()) == [Level.ABANDON]
    assert [one.message for one in caplog.records] == ["on_abandon failed: OSError"]


def test_a_source_that_fails_is_no_pressure(caplog: pytest.LogCaptureFixture) -> None:
    """A bug of ours costs the host nothing."""

    class Broken(StallSpanProcessor):
        def standing(self, conversation: str = "", *, lane: str = "", agent: str = "") -> None:
            raise RuntimeError

    assert Ladder(ALL, source=Broken(StallConfig())).look("c") is NONE
    assert caplog.records


def test_without_a_processor_there_is_no_pressure() -> None:
    """Nothing attached, nothing known."""
    assert Ladder(ALL).look("c-1") is NONE


def test_goes_on_after_a_restart() -> None:
    """What acted is kept by the host, as text; a damaged one is refused."""
    host = Host()
    host.run(14)
    again = Ladder(ALL, source=host.processor)
    again.restore(host.ladder.snapshot())

    assert again.look("c-1").action is None
    assert Ladder(ALL, source=host.processor).look("c-1").action is Level.REPLAN
    assert again.snapshot() == host.ladder.snapshot()
    for damaged in ("", "[]", '{"lanes": [["c"]]}', '{"lanes": [["c", "l", 1, [["no", 1]], [], null]]}'):
        with pytest.raises(SnapshotError):
            again.restore(damaged)
    assert again.look("c-1").action is None


def test_lanes_beyond_the_bound_are_forgotten_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lane asked for longest ago goes first."""
    monkeypatch.setattr("otel_stall.pressure.ladder._LANES", 2)
    host = Host()
    for name in ("a", "b", "c"):
        host.run(14, f"c-{name}")
    assert host.ladder.forgotten == 1
    assert [host.ladder.look(f"c-{name}").action for name in "bc"] == [None, None]
    assert host.ladder.look("c-a").action is Level.REPLAN


def test_a_forked_child_asks_with_a_lock_of_its_own() -> None:
    """One that a thread of the parent held at the fork would never be given back there."""
    host = Host()
    host.run(14)
    with host.ladder._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if host.ladder.look("c-1").level is Level.REPLAN else 1)
        _, status = os.waitpid(child, 0)
    assert status == 0
