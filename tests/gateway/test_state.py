"""The state file: a gateway that ended, or was killed, goes on where it was."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from downstreams import Kept, assembled_gateway, attributes, records_of, run, spans_of, traces

from otel_stall.emission import Event, Severity
from otel_stall.errors import ConfigError, SnapshotError
from otel_stall.gateway.annotator import SavedRemark
from otel_stall.gateway.answers import Answer, Code
from otel_stall.gateway.events import Remark
from otel_stall.gateway.state import StateFile, opened, unsaved
from otel_stall.judge import Changes
from otel_stall.lineage import TraceState


def _verdicts(kept: Kept) -> list[dict[str, Any]]:
    return [attributes(span) for span in spans_of(kept.requests) if span.name.startswith("execute_tool")]


def _rewritten(span: Any, changes: dict[str, str | None]) -> None:
    """Give an ended span of the SDK other attributes; None takes one off."""
    both = {**span.attributes, **changes}
    span._attributes = {name: value for name, value in both.items() if value is not None}


def _events(kept: Kept) -> list[str]:
    return [record.event_name for record in records_of(kept.requests)]


def test_a_restart_in_the_middle_changes_no_verdict(tmp_path: Path) -> None:
    """Two gateways, one after the other with one file, say what one says; attributes and events."""
    spans = run(steps=30)
    whole, parted = Kept(), Kept()
    with assembled_gateway(whole) as parts:
        parts.gateway.handle(traces(spans[:9]))
        parts.gateway.handle(traces(spans[9:]))
    for piece in (spans[:9], spans[9:]):
        with assembled_gateway(parted, state={"file": tmp_path / "state"}) as parts:
            assert parts.gateway.handle(traces(piece)).ok
    assert _verdicts(parted) == _verdicts(whole)
    assert _events(parted) == _events(whole)


def test_what_came_before_a_restart_and_again_after_it_counts_once(tmp_path: Path) -> None:
    """A request that was judged and never acknowledged gets the same verdicts from the next process."""
    spans = run(steps=8)
    kept = Kept(Answer(Code.UNAVAILABLE))
    with assembled_gateway(kept, events=False, state={"file": tmp_path / "state"}) as parts:
        assert parts.gateway.handle(traces(spans)).retryable
    with assembled_gateway(kept, events=False, state={"file": tmp_path / "state"}) as parts:
        assert parts.gateway.handle(traces(spans)).ok
    assert [one["stall.step"] for one in _verdicts(kept)] == list(range(1, 9))


def test_an_answer_waits_for_the_file(tmp_path: Path) -> None:
    """When a request is acknowledged its verdicts are in the file already, as a second reader sees."""
    with assembled_gateway(Kept(), state={"file": tmp_path / "state", "seconds": 3600}) as parts:
        assert parts.gateway.handle(traces(run("known"))).ok
        assert parts.keeper is not None
        copy = tmp_path / "copy"
        for suffix in ("", "-wal"):  # what a killed process leaves
            (tmp_path / f"copy{suffix}").write_bytes((tmp_path / f"state{suffix}").read_bytes())
        saved = opened(copy)[1]
    assert [key[0] for key in saved.lanes] == ["known"]


def test_a_provisional_conversation_is_known_after_a_restart(tmp_path: Path) -> None:
    """Steps counted under their trace's id belong to the conversation that a span names later, in another process."""
    named = run("late", steps=3)
    for span in named[:3]:  # the tool spans name nothing, the agent's span at the end does
        _rewritten(span, {"gen_ai.conversation.id": None, "gen_ai.agent.name": None})
    path = tmp_path / "state"
    with assembled_gateway(Kept(), state={"file": path}) as parts:
        parts.gateway.handle(traces(named[:3]))
    with assembled_gateway(Kept(), state={"file": path}) as parts:
        parts.gateway.handle(traces(named[3:]))
        lanes = [key for key, lane in parts.judge.monitor.lanes if lane.counters.step == 3]
    assert [conversation for conversation, _ in lanes] == ["late"]


@pytest.mark.parametrize("damage", ["text", "version", "value", "cut"])
def test_a_file_that_cannot_be_read_is_put_aside(damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Damaged, or written by a newer release: it is kept under another name, said so, and counting starts anew."""
    path = tmp_path / "state"
    with assembled_gateway(Kept(), state={"file": path}) as parts:
        parts.gateway.handle(traces(run()))
    if damage == "text":
        path.write_text("no database at all, but long enough to be taken for one" * 10)
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:2_000])
    else:
        with sqlite3.connect(path) as base:
            base.execute({"version": "PRAGMA user_version = 99", "value": "UPDATE entries SET value = '{'"}[damage])
        base.close()
    kept = Kept()
    with assembled_gateway(kept, state={"file": path}) as parts:
        parts.gateway.handle(traces(run()))
    assert _verdicts(kept)[0]["stall.step"] == 1
    assert (tmp_path / "state.unreadable").exists()
    assert "counting starts anew" in caplog.text


def test_a_file_in_use_is_refused_at_the_start(tmp_path: Path) -> None:
    """Two gateways never share a file; the second does not start, and the first one's state stays."""
    with assembled_gateway(Kept(), state={"file": tmp_path / "state"}) as parts:
        parts.gateway.handle(traces(run()))
        with (
            pytest.raises(ConfigError, match=r"gateway\.state\.file"),
            assembled_gateway(Kept(), state={"file": tmp_path / "state"}),
        ):
            pass
    assert not (tmp_path / "state.unreadable").exists()


def test_a_place_where_no_file_can_be_is_refused_at_the_start(tmp_path: Path) -> None:
    """A missing folder is a wrong setting, with its name."""
    with (
        pytest.raises(ConfigError, match=r"gateway\.state\.file"),
        assembled_gateway(Kept(), state={"file": tmp_path / "no" / "state"}),
    ):
        pass


def test_a_save_that_fails_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """On a full disk requests go on, failures are counted and said once, and the next save writes it all."""
    save = StateFile.save
    full = [True]

    def failing(file: StateFile, entries: Any) -> None:
        if full:
            raise sqlite3.OperationalError("database or disk is full")
        save(file, entries)

    monkeypatch.setattr(StateFile, "save", failing)
    with assembled_gateway(Kept(), state={"file": tmp_path / "state"}) as parts:
        for conversation in ("c-1", "c-2"):
            assert parts.gateway.handle(traces(run(conversation))).ok
        assert parts.keeper is not None
        assert parts.keeper.failures >= 2
        full.clear()
    assert caplog.text.count("the state cannot be saved (OperationalError)") == 1
    assert {conversation for conversation, _ in opened(tmp_path / "state")[1].lanes} == {"c-1", "c-2"}


def test_everything_saved_is_loaded_again(tmp_path: Path) -> None:
    """Traces, remarks with their events and what fell out come back as they were."""
    remark = Remark(
        {"stall.step": 3, "stall.evidence": ["a"]}, (Event("stall.started", Severity.INFO, {"x": 1}),), (), {}
    )
    traces_ = {"t-1": TraceState("c", mixed=True, provisional=True), "t-2": TraceState("d")}
    file, empty = opened(tmp_path / "state")
    assert not any(empty)
    file.save(unsaved(Changes({}, traces_), {("t-1", "s-1"): SavedRemark(remark, told=True)}))
    file.save(unsaved(Changes({}, {"t-2": None}), {}))
    file.close()
    saved = opened(tmp_path / "state")[1]
    assert saved.traces == {"t-1": traces_["t-1"]}
    assert saved.remarks == {("t-1", "s-1"): SavedRemark(remark, told=True)}


def test_the_file_holds_no_content(tmp_path: Path) -> None:
    """Of arguments and results nothing is found in the state file."""
    secret = "hunter2-never-to-be-found"
    spans = run(steps=6)
    for span in spans[:6]:
        _rewritten(span, {"gen_ai.tool.call.result": secret, "gen_ai.tool.call.arguments": secret})
    with assembled_gateway(Kept(), state={"file": tmp_path / "state"}) as parts:
        parts.gateway.handle(traces(spans))
    for path in tmp_path.iterdir():
        assert secret.encode() not in path.read_bytes()


def test_a_snapshot_error_says_why(tmp_path: Path) -> None:
    """The version that was found and the one that is read are named."""
    path = tmp_path / "state"
    file, _ = opened(path)
    file.close()
    with sqlite3.connect(path) as base:
        base.execute("PRAGMA user_version = 99")
    base.close()
    file = StateFile(path)
    with pytest.raises(SnapshotError, match="version 99"):
        file.load()
    file.close()
