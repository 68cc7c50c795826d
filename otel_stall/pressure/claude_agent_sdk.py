"""The pressure in agents of the Claude Agent SDK, as hooks.

options = ClaudeAgentOptions(hooks=stall_hooks(Ladder(["notice", "replan"])))

Tools run in another process, so the hooks themselves say what was called: as spans, which are judged.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from otel_stall import attributes as names
from otel_stall.attachment import attach
from otel_stall.config import StallConfig
from otel_stall.monitor import MAIN
from otel_stall.pressure.ladder import Ladder, Pressure
from otel_stall.processor import StallSpanProcessor
from otel_stall.verdicts import Level

if TYPE_CHECKING:
    from claude_agent_sdk import HookMatcher

__all__ = ["stall_hooks"]

_LOG = logging.getLogger("otel_stall")

_OPEN: Final = 1_024
_SCOPE: Final = "otel_stall.pressure"
_EVENTS: Final = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "PreCompact", "Stop")


def stall_hooks(
    ladder: Ladder | None = None, *, provider: TracerProvider | None = None, config: StallConfig | None = None
) -> dict[Any, list[HookMatcher]]:
    """Return the hooks for `ClaudeAgentOptions`; without levels that act (`Ladder(acts=...)`) they only judge.

    Counter and plan request are `additionalContext` after a tool call. `ask_user` answers "ask" before
    the next call, which Claude Code puts to its user or to `can_use_tool`. `abandon` answers that the run does not
    continue, with a `stopReason` that says so; the record goes to `on_abandon`. The last two are for the main agent:
    the agents below it are shown the counter and asked for a plan.

    Calls become spans `execute_tool` with arguments and results. Where no `provider` is given they are judged
    and go nowhere; one that is given exports them, and gets a processor where it has none. `config` is for a
    processor that is made here. Hooks run on the event loop and raise nothing.
    """
    from claude_agent_sdk import HookMatcher

    if provider is None:
        processor, provider = StallSpanProcessor(config), TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(processor)
    else:
        processor = attach(provider, config=config)
    chosen = ladder or Ladder()
    chosen.source = chosen.source or processor
    hooks = _Hooks(chosen, provider, processor)
    return {event: [HookMatcher(hooks=[hooks.called])] for event in _EVENTS}


class _Hooks:
    """Tells the processor what happens in sessions, and answers with what is due."""

    def __init__(self, ladder: Ladder, provider: TracerProvider, processor: StallSpanProcessor) -> None:
        self._ladder = ladder
        self._tracer = provider.get_tracer(_SCOPE)
        self._processor = processor
        self._open: OrderedDict[str, trace.Span] = OrderedDict()
        self._spoken: OrderedDict[str, None] = OrderedDict()
        self._compacted: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    async def called(self, given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:  # noqa: ARG002 # the SDK's
        """Answer one hook; {} has no opinion."""
        try:
            return self._answered(given, given["hook_event_name"], str(given.get("session_id", "")))
        except Exception as error:
            _LOG.warning("a hook has no answer: %s", type(error).__name__)
            return {}

    def _answered(self, given: Mapping[str, Any], event: str, session: str) -> dict[str, Any]:
        match event:
            case "PreToolUse":
                return self._before(given, session)
            case "PostToolUse" | "PostToolUseFailure":
                return self._after(given, session, event)
            case "UserPromptSubmit":
                self._prompt(session)
            case "PreCompact":
                self._keep(self._compacted, session, None)
            case "Stop":
                self._forget(session)
        return {}

    def _before(self, given: Mapping[str, Any], session: str) -> dict[str, Any]:
        pressure = self._look(given, session)
        if pressure.action is Level.ASK_USER and not given.get("agent_id"):
            # The run goes on only after a person answered, whatever the answer is.
            self._ladder.did(pressure, answered=True)
            asked = {"permissionDecision": "ask", "permissionDecisionReason": pressure.text()}
            return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **asked}}
        self._keep(self._open, _key(given), self._started(given, session))
        return {}

    def _after(self, given: Mapping[str, Any], session: str, event: str) -> dict[str, Any]:
        with self._lock:
            span = self._open.pop(_key(given), None)
        span = span or self._started(given, session)
        if event == "PostToolUseFailure":
            error = str(given.get("error", ""))
            span.set_attribute("error.type", "tool_error")
            span.set_attribute("gen_ai.tool.call.result", error)
        else:
            span.set_attribute("gen_ai.tool.call.result", _text(given.get("tool_response")))
        span.end()
        return self._answer(given, self._look(given, session), event)

    def _answer(self, given: Mapping[str, Any], pressure: Pressure, event: str) -> dict[str, Any]:
        if pressure.action is Level.ABANDON and not given.get("agent_id"):
            record = self._ladder.abandon(pressure)
            return {"continue_": False, "stopReason": record.text} if record is not None else {}
        lines = pressure.lines()
        if pressure.action is Level.REPLAN:
            self._ladder.did(pressure)
        if not lines:
            return {}
        return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": "\n".join(lines)}}

    def _look(self, given: Mapping[str, Any], session: str) -> Pressure:
        return self._ladder.look(session, lane=_lane(given))

    def _started(self, given: Mapping[str, Any], session: str) -> trace.Span:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.conversation.id": session,
            "gen_ai.tool.name": str(given.get("tool_name", "")),
            "gen_ai.tool.call.id": str(given.get("tool_use_id", "")),
            "gen_ai.tool.call.arguments": json.dumps(given.get("tool_input"), default=str),
        }
        if given.get("agent_id"):
            attributes["gen_ai.agent.id"] = str(given["agent_id"])
        span = self._tracer.start_span(f"execute_tool {attributes['gen_ai.tool.name']}", attributes=attributes)
        with self._lock:
            compacted = session in self._compacted
            self._compacted.pop(session, None)
        if compacted:
            span.set_attribute(names.COMPACTION, True)
        return span

    def _prompt(self, session: str) -> None:
        """The first prompt begins the session, each later one is a turn of the user's."""
        with self._lock:
            again = session in self._spoken
        self._keep(self._spoken, session, None)
        self._forget(session)
        if again:
            self._processor.spoke(session)

    def _forget(self, session: str) -> None:
        """Let go of calls that were refused: nobody made them, so they are no steps."""
        with self._lock:
            for key in [key for key in self._open if key.startswith(f"{session}/")]:
                del self._open[key]

    def _keep(self, held: OrderedDict[str, Any], key: str, value: object) -> None:
        with self._lock:
            held[key] = value
            held.move_to_end(key)
            if len(held) > _OPEN:
                held.popitem(last=False)


def _key(given: Mapping[str, Any]) -> str:
    return f"{given.get('session_id', '')}/{given.get('tool_use_id', '')}"


def _lane(given: Mapping[str, Any]) -> str:
    return str(given.get("agent_id") or MAIN)


def _text(response: object) -> str:
    """Return what a tool answered: the text of the shapes that Claude Code's own tools have, or all of it as JSON."""
    if isinstance(response, str):
        return response
    if isinstance(response, Mapping):
        if "stdout" in response:
            return "\n".join(str(response[key]) for key in ("stdout", "stderr") if response.get(key))
        file = response.get("file")
        if isinstance(file, Mapping) and "content" in file:
            return str(file["content"])
    return json.dumps(response, default=str)
