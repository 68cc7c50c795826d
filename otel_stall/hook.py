"""`otel-stall hook HOST`: a command hook of a coding agent that asks a local gateway what is due, and says it.

It runs at every tool call, so it imports the standard library's lightest modules alone, and nothing of this
package. It prints one JSON object in the host's format, or nothing where nothing is due, nothing answers in time or
anything is wrong; its exit status is always 0. Formats: the hooks references of Claude Code and of Gemini CLI.

Settings are environment variables: `OTEL_STALL_ADMIN` (127.0.0.1:14319), `OTEL_STALL_TOKEN_FILE`.
"""

from __future__ import annotations

import os
import socket
import sys
import time

__all__ = ["HOSTS", "run"]

_SECONDS = 0.5
_MOST = 1 << 20
_DEFAULT = "127.0.0.1:14319"
_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

_TELLS = ("replan", "abandon")
HOSTS: dict[str, dict[str, tuple[str, ...]]] = {
    "claude-code": {
        "PostToolUse": _TELLS,
        "PostToolUseFailure": _TELLS,
        "UserPromptSubmit": _TELLS,
        "PreToolUse": ("ask_user", "abandon"),
    },
    "gemini-cli": {"AfterTool": _TELLS, "BeforeAgent": _TELLS, "BeforeTool": ("abandon",)},
}
"""Of each host the events that are answered, and the rungs that can be carried out at each."""


def run(arguments: list[str]) -> int:
    """Answer one event, read from standard input, on standard output; returns 0, or 2 where the host is unknown."""
    host = arguments[0] if len(arguments) == 1 else ""
    if host not in HOSTS:
        sys.stderr.write(f"usage: otel-stall hook {'|'.join(HOSTS)} < EVENT\n")
        return 2
    try:
        import json

        event = json.loads(sys.stdin.buffer.read(_MOST * 16))
        name = event["hook_event_name"]
        can = HOSTS[host].get(name)
        if can is not None:
            advice = json.loads(_asked(str(event["session_id"]), can))
            if said := _answer(name, advice):
                sys.stdout.write(json.dumps(said) + "\n")
    except Exception:  # a hook that fails must not disturb the agent
        return 0
    return 0


def _answer(name: str, advice: dict[str, str | None]) -> dict[str, object]:
    """Return the answer in the hosts' format, which is the same for both; {} where there is nothing to say."""
    action, text = advice["action"], advice["text"] or ""
    if action == "abandon":
        return {"continue": False, "stopReason": text}
    if action == "ask_user":
        asked = {"hookEventName": name, "permissionDecision": "ask", "permissionDecisionReason": text}
        return {"hookSpecificOutput": asked}
    told = "\n".join(line for line in (advice["counter"], text if action == "replan" else "") if line)
    before = name in ("PreToolUse", "BeforeTool")
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": told}} if told and not before else {}


def _asked(conversation: str, can: tuple[str, ...]) -> str:
    """Return the body of the gateway's answer; raises where there is none in time."""
    host, _, port = os.environ.get("OTEL_STALL_ADMIN", _DEFAULT).removeprefix("http://").strip("/").rpartition(":")
    path = "".join(chr(b) if chr(b) in _SAFE else f"%{b:02X}" for b in conversation.encode())
    lines = [f"POST /advice/{path}?can={','.join(can)} HTTP/1.0", f"Host: {host}", "Content-Length: 0"]
    if token := os.environ.get("OTEL_STALL_TOKEN_FILE"):
        with open(token, encoding="utf-8") as file:
            lines.append(f"Authorization: Bearer {file.read().split()[0]}")
    with socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
        answer, until = b"", time.monotonic() + _SECONDS
        while len(answer) < _MOST and (part := connection.recv(1 << 16)):
            answer += part
            # For the whole answer: one that comes byte by byte would hold up the agent for ever.
            connection.settimeout(max(until - time.monotonic(), 0.001))
    head, _, body = answer.partition(b"\r\n\r\n")
    if head.split(b" ", 2)[1] != b"200":
        raise OSError("refused")
    return body.decode()
