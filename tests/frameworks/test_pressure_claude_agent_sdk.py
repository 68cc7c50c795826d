"""The pressure in the Claude Agent SDK: its client dispatches the hooks, the other end of its protocol is played here.

The program at the other end runs the tools and asks the model; what it does with an answer of a hook is that
program's affair, so that the tests hold what the hooks answer, step by step.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import runs_page
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, Transport
from claude_agent_sdk.types import PermissionResultAllow, PermissionResultDeny, ToolPermissionContext
from descent import ALL, FIXING, LEVELS, LOOKING, PLAN, Work
from runs_page import recorded
from stuck import Call
from traced import Traced

from otel_stall import StallConfig
from otel_stall.pressure import OURS, Abandonment, Ladder
from otel_stall.pressure.claude_agent_sdk import stall_hooks

CONFIG = StallConfig.create({"detection": {"distance_limit": 10}})
NAMES = {"bash": "Bash", "write_file": "Write"}


class Program(Transport):
    """Plays the program: an agent that makes the calls one by one, and those of its plan once told to re-plan."""

    def __init__(self, session: str, calls: Sequence[Call] = (*FIXING, *LOOKING), plan: Sequence[Call] = ()) -> None:
        self.session, self.calls, self.plan = session, list(calls), list(plan)
        self.work = Work()
        self.shown: dict[int, str] = {}
        self.asked: list[int] = []
        self.questions: dict[int, str] = {}
        self.stopped = ""
        self._out: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._answers: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._hooks: dict[str, list[str]] = {}
        self._run: asyncio.Task[None] | None = None
        self._requests = 0

    async def connect(self) -> None:
        pass

    async def close(self) -> None:
        self._out.put_nowait(None)

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None:
        pass

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        while (message := await self._out.get()) is not None:
            yield message

    async def write(self, data: str) -> None:
        message = json.loads(data)
        if message["type"] == "control_request":
            config = message["request"].get("hooks") or {}
            self._hooks = {
                event: [callback for each in matchers for callback in each["hookCallbackIds"]]
                for event, matchers in config.items()
            }
            answer = {"subtype": "success", "request_id": message["request_id"], "response": {}}
            self._out.put_nowait({"type": "control_response", "response": answer})
        elif message["type"] == "control_response":
            response = message["response"]
            self._answers.pop(response["request_id"]).set_result(response)
        elif message["type"] == "user":
            self._run = asyncio.create_task(self._turn())

    async def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        self._requests += 1
        number, waiting = f"request-{self._requests}", asyncio.get_running_loop().create_future()
        self._answers[number] = waiting
        self._out.put_nowait({"type": "control_request", "request_id": number, "request": request})
        answered = await waiting
        assert answered["subtype"] == "success", answered
        return dict(answered["response"])

    async def _hook(self, event: str, **given: Any) -> dict[str, Any]:
        known = {"session_id": self.session, "transcript_path": "", "cwd": "", "hook_event_name": event, **given}
        answer: dict[str, Any] = {}
        for callback in self._hooks.get(event, ()):
            request = {"subtype": "hook_callback", "callback_id": callback, "input": known}
            answer |= await self._request({**request, "tool_use_id": given.get("tool_use_id")})
        return answer

    async def _turn(self) -> None:
        await self._hook("UserPromptSubmit", prompt="fix the test")
        while self.calls and not self.stopped:
            await self._call(self.calls.pop(0))
        await self._hook("Stop", stop_hook_active=False)
        self._out.put_nowait(
            {
                "type": "result",
                "subtype": "success",
                "duration_ms": 1,
                "duration_api_ms": 1,
                "is_error": False,
                "num_turns": 1,
                "session_id": self.session,
                "result": self.stopped or "done",
            }
        )

    async def _call(self, call: Call) -> None:
        number = f"call-{len(self.calls)}-{len(self.plan)}"
        given: dict[str, Any] = {"tool_name": NAMES[call.tool], "tool_input": call.arguments, "tool_use_id": number}
        before = await self._hook("PreToolUse", **given)
        if before.get("hookSpecificOutput", {}).get("permissionDecision") == "ask":
            self.asked.append(self.work.calls)
            self.questions[self.work.calls] = before["hookSpecificOutput"]["permissionDecisionReason"]
            request = {"subtype": "can_use_tool", "tool_name": given["tool_name"], "input": call.arguments}
            if (await self._request(request))["behavior"] == "deny":
                return
        said = getattr(self.work, call.tool)(**call.arguments)
        response = {"stdout": said, "stderr": "", "interrupted": False} if call.tool == "bash" else said
        after = await self._hook("PostToolUse", **given, tool_response=response)
        if after.get("continue") is False:
            self.stopped = after["stopReason"]
        if context := after.get("hookSpecificOutput", {}).get("additionalContext"):
            self.shown[self.work.calls] = context
            if self.plan and "write a new plan" in context:
                self.calls, self.plan = list(self.plan), []


def run(program: Program, ladder: Ladder | None = None, *, prompts: int = 1, allow: bool = True, **more: Any) -> None:
    """Run the client over the program; a person answers what is asked."""

    async def decide(tool: str, given: dict[str, Any], context: ToolPermissionContext) -> Any:
        return PermissionResultAllow() if allow else PermissionResultDeny(message="look at the docs")

    async def converse() -> None:
        hooks = stall_hooks(ladder, **({"config": CONFIG} | more))
        options = ClaudeAgentOptions(hooks=hooks, can_use_tool=decide)
        async with ClaudeSDKClient(options, transport=program) as client:
            for _ in range(prompts):
                await client.query("fix the test")
                async for _message in client.receive_response():
                    pass

    asyncio.run(converse())


def told(program: Program, text: str) -> list[int]:
    return [step for step, shown in program.shown.items() if text in shown]


def test_the_stuck_agent_is_pressed_step_by_step() -> None:
    """The counter after every call of the stall, one call for a plan, one question, then it is stopped."""
    kept: list[Abandonment] = []
    program = Program("claude stuck")
    run(program, Ladder(ALL, on_abandon=kept.append))

    assert told(program, "write a new plan") == [LEVELS["replan"]]
    assert told(program, OURS) == list(range(LEVELS["notice"], LEVELS["abandon"]))
    assert program.asked == [LEVELS["ask_user"]]
    assert program.work.calls == LEVELS["abandon"]
    assert program.stopped == kept[0].text
    assert [(one.step, one.name) for one in kept[0].milestones] == [(3, "pytest")]


def test_a_person_can_refuse_the_call() -> None:
    """The refused call is no step; nobody is asked twice."""
    program = Program("claude refused")
    run(program, Ladder(["ask_user"]), allow=False)
    assert program.asked == [LEVELS["ask_user"]]
    assert program.work.calls == len(FIXING) + len(LOOKING) - 1


def test_the_recovering_agent_is_left_alone() -> None:
    """Told to re-plan it makes another plan, which leads to a milestone; no more is said to it."""
    program = Program("claude recovering", plan=PLAN)
    run(program, Ladder(ALL))

    assert told(program, OURS) == list(range(LEVELS["notice"], LEVELS["replan"] + 1))
    assert program.work.calls == LEVELS["replan"] + len(PLAN)
    assert (program.asked, program.stopped) == ([], "")


def test_the_page_shows_these_runs() -> None:
    """What the page shows is what happens."""
    before, after, kept = Program("claude page before"), Program("claude page after"), list[Abandonment]()
    run(before)
    run(after, Ladder(ALL, on_abandon=kept.append))
    runs_page.check(
        "Claude Agent SDK",
        recorded(before.shown, calls=before.work.calls, last="done"),
        recorded(
            after.shown,
            after.questions,
            calls=after.work.calls,
            last=after.stopped,
            kept=[f"{one.name}, step {one.step}, {one.evidence}" for one in kept[0].milestones],
        ),
    )


def test_observing_answers_nothing() -> None:
    """Without an opt-in no hook has an opinion: every answer is empty."""
    program = Program("claude observed")
    run(program)
    assert (program.shown, program.asked, program.stopped) == ({}, [], "")
    assert program.work.calls == len(FIXING) + len(LOOKING)


def test_a_prompt_ends_the_stall() -> None:
    """The second prompt is a turn of the user's: what is counted is counted anew."""
    program = Program("claude prompts", calls=[*FIXING, *LOOKING[:16]])
    ladder = Ladder(["notice"])
    run(program, ladder)
    assert ladder.look("claude prompts").level is not None

    again = Program("claude prompts", calls=[*FIXING, *LOOKING[:16]])
    ladder = Ladder(["notice"])
    run(again, ladder, prompts=2)
    assert ladder.look("claude prompts").level is None


def test_a_provider_exports_the_calls(traced: Traced) -> None:
    """With a provider of the host's the calls are spans in its export, judged like any others."""
    program = Program("claude exported", calls=[*FIXING, *LOOKING[:10]])
    run(program, Ladder(["notice"]), provider=traced.provider, config=None)

    assert traced.lanes() == {("claude exported", "main"): 13}
    assert traced.conversations() == {"claude exported"}
    assert told(program, OURS) == [12, 13]


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "?"])
def test_a_hook_that_is_told_too_little_has_no_opinion(event: str) -> None:
    """Fields that are missing raise nothing."""
    hooks = stall_hooks(Ladder(ALL))
    (matcher,) = hooks["PreToolUse"]
    named = {"hook_event_name": event}
    for given in (named, {**named, "session_id": "s", "tool_response": object()}, {}):
        assert asyncio.run(matcher.hooks[0](given, None, {"signal": None})) == {}


def test_an_agent_below_is_told_and_not_stopped() -> None:
    """It has a lane of its own; asking and stopping are for the main agent."""
    (matcher,) = stall_hooks(Ladder(ALL), config=CONFIG)["PostToolUse"]
    answers = []
    for number, call in enumerate([*FIXING, *LOOKING]):
        given = {
            "session_id": "claude below",
            "agent_id": "a1",
            "agent_type": "explorer",
            "tool_name": NAMES[call.tool],
            "tool_input": call.arguments,
            "tool_use_id": f"call-{number}",
            "tool_response": getattr(Work(), call.tool)(**call.arguments),
        }
        for event in ("PreToolUse", "PostToolUse"):
            answers.append(asyncio.run(matcher.hooks[0]({"hook_event_name": event, **given}, None, {"signal": None})))
    said = [answer["hookSpecificOutput"] for answer in answers if answer]
    assert all(set(one) == {"hookEventName", "additionalContext"} for one in said)
    assert sum("write a new plan" in one["additionalContext"] for one in said) == 1
