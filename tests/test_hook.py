"""The hook of a coding agent: what it answers by event and rung, and its silence in every other case."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from downstreams import grpc_downstream, process, run, traces

from otel_stall import hook
from otel_stall.gateway.answers import OK

TOLD = "[otel-stall] 9 steps since the last verified milestone"


def _hooked(event: object, *arguments: str, **environ: str) -> tuple[int, str, str]:
    """Run the hook as a coding agent does and return status, output and errors."""
    text = event if isinstance(event, str) else json.dumps(event)
    command = [sys.executable, "-m", "otel_stall", "hook", *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=30, env=environ, check=False)
    return done.returncode, done.stdout, done.stderr


def _event(name: str, session: str = "s-1") -> dict[str, str]:
    return {"session_id": session, "hook_event_name": name, "tool_name": "Bash"}


@pytest.mark.parametrize(
    ("name", "advice", "answer"),
    [
        ("PostToolUse", {"counter": None, "action": None, "text": None}, {}),
        ("PreToolUse", {"counter": TOLD, "action": None, "text": None}, {}),
        (
            "PostToolUse",
            {"counter": TOLD, "action": None, "text": None},
            {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": TOLD}},
        ),
        (
            "AfterTool",
            {"counter": TOLD, "action": "replan", "text": "Plan anew."},
            {"hookSpecificOutput": {"hookEventName": "AfterTool", "additionalContext": f"{TOLD}\nPlan anew."}},
        ),
        (
            "PreToolUse",
            {"counter": TOLD, "action": "ask_user", "text": "Go on?"},
            {
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "ask",
                    "permissionDecisionReason": "Go on?",
                }
            },
        ),
        (
            "PostToolUse",
            {"counter": None, "action": "abandon", "text": "Stopped."},
            {"continue": False, "stopReason": "Stopped."},
        ),
    ],
)
def test_answers(name: str, advice: dict[str, str | None], answer: dict[str, object]) -> None:
    """Counter and plan are context for the model, a question is the host's own approval, giving up stops the run."""
    assert hook._answer(name, advice) == answer


def test_a_stuck_session_is_told_at_the_rungs_that_act(tmp_path: Path) -> None:
    """Counter at each event, the plan once, by a real gateway and a real process; a healthy one hears nothing."""
    config = tmp_path / "rules.yaml"
    config.write_text("pressure: {acts: [notice, replan]}\n")
    with grpc_downstream(lambda _: OK) as to, process("--forward", f"grpc://{to}", "--config", str(config)) as gateway:
        assert gateway.send(traces(run("stuck session/1", steps=12)))
        assert gateway.send(traces(run("fine", steps=1)))
        admin = {"OTEL_STALL_ADMIN": gateway.addresses["admin"]}
        said = [_hooked(_event("PostToolUse", "stuck session/1"), "claude-code", **admin) for _ in range(2)]
        silent = [
            _hooked(_event("PostToolUse", "fine"), "claude-code", **admin),
            _hooked(_event("PostToolUse", "never seen"), "claude-code", **admin),
            _hooked(_event("SessionStart", "stuck session/1"), "claude-code", **admin),
            _hooked(_event("PreToolUse", "stuck session/1"), "claude-code", **admin),
        ]
    first, second = (json.loads(out)["hookSpecificOutput"]["additionalContext"] for _, out, _ in said)
    assert first.startswith("[otel-stall] ")
    assert "dead end" in first
    assert "dead end" not in second
    assert silent == [(0, "", "")] * 4


def test_observing_is_the_default() -> None:
    """Without levels that act a stuck session hears nothing."""
    with grpc_downstream(lambda _: OK) as to, process("--forward", f"grpc://{to}") as gateway:
        assert gateway.send(traces(run("stuck", steps=12)))
        admin = {"OTEL_STALL_ADMIN": gateway.addresses["admin"]}
        assert _hooked(_event("PostToolUse", "stuck"), "claude-code", **admin) == (0, "", "")


@pytest.mark.parametrize("event", ["", "no json", "[]", "{}", '{"session_id": 3, "hook_event_name": "PostToolUse"}'])
def test_silent_where_anything_is_wrong(event: str) -> None:
    """No gateway, no event, no session: nothing is printed and the status is 0."""
    assert _hooked(event, "claude-code", OTEL_STALL_ADMIN="127.0.0.1:1") == (0, "", "")


def test_silent_where_the_gateway_is_slow(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One that accepts and never answers costs half a second."""
    monkeypatch.setattr(hook, "_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as slow:
        monkeypatch.setenv("OTEL_STALL_ADMIN", f"http://127.0.0.1:{slow.getsockname()[1]}")
        monkeypatch.setattr(sys, "stdin", _Stdin(_event("PostToolUse")))
        assert hook.run(["claude-code"]) == 0
    assert capsys.readouterr().out == ""


class _Stdin:
    def __init__(self, event: Any) -> None:
        self.buffer = io.BytesIO(json.dumps(event).encode())


@pytest.mark.parametrize("arguments", [[], ["emacs"], ["claude-code", "more"]])
def test_an_unknown_host_is_said(arguments: list[str]) -> None:
    """Status 2 with the hosts there are: a mistake in the settings, seen when they are written."""
    status, out, errors = _hooked("{}", *arguments)
    assert (status, out) == (2, "")
    assert "claude-code" in errors


def test_help_tells_of_it() -> None:
    """`otel-stall hook --help` is the command line's."""
    status, out, _ = _hooked("", "--help")
    assert status == 0
    assert "claude-code" in out


def test_an_answer_that_drips(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway that answers byte by byte holds the agent up no longer than one that does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                for _ in range(100):
                    connection.sendall(b"H")
                    time.sleep(0.1)

        thread = Thread(target=drip)
        thread.start()
        began = time.monotonic()
        monkeypatch.setenv("OTEL_STALL_ADMIN", f"127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(TimeoutError):
            hook._asked("c", ("replan",))
        took = time.monotonic() - began
        thread.join()
    assert took < 5
