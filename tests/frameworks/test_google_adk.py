"""google-adk writes its own spans; their contents are off unless an environment variable says otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import page
import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from stuck import CALLS, Call, grep, read_file
from traced import STUCK, Judged, Traced

SWITCH = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


class Scripted(BaseLlm):
    """Asks for the calls one by one, then says its last word."""

    model: str = "scripted"
    calls: list[Call]
    last: str = "done"

    async def generate_content_async(self, *args: Any, **kwargs: Any) -> AsyncIterator[LlmResponse]:
        if self.calls:
            call = self.calls.pop(0)
            part = types.Part(function_call=types.FunctionCall(name=call.tool, args=call.arguments))
        else:
            part = types.Part(text=self.last)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def agent(calls: Sequence[Call] = CALLS, tools: Sequence[Any] = (), name: str = "coder", **options: Any) -> LlmAgent:
    return LlmAgent(name=name, model=Scripted(calls=[*calls]), tools=[read_file, grep, *tools], **options)


def talk(coder: LlmAgent, conversation: str, turns: int = 1, approve: bool = False) -> None:
    """Let a person speak to the agent, and approve what it asks for."""

    async def session() -> None:
        runner = InMemoryRunner(coder, app_name="tests")
        await runner.session_service.create_session(app_name="tests", user_id="u", session_id=conversation)
        for _ in range(turns):
            events = await said(runner, types.Part(text="go on"))
            if approve:
                await said(runner, *approvals(events))

    async def said(runner: InMemoryRunner, *parts: types.Part) -> list[Event]:
        message = types.Content(role="user", parts=list(parts))
        return [event async for event in runner.run_async(user_id="u", session_id=conversation, new_message=message)]

    asyncio.run(session())


def approvals(events: Sequence[Event]) -> list[types.Part]:
    asked = [call for event in events for call in event.get_function_calls() if call.name == "adk_request_confirmation"]
    answer = {"confirmed": True}
    return [
        types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response=answer))
        for call in asked
    ]


@pytest.fixture(params=["2", "1"], autouse=True)
def _schema(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test runs with the spans of schema 2, the default, and of schema 1."""
    monkeypatch.setenv(SWITCH, "SPAN_ONLY")
    if request.param == "1":
        monkeypatch.setenv("ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN", "1")


def test_a_stuck_agent_is_told_on_the_exported_spans(traced: Traced, request: pytest.FixtureRequest) -> None:
    """Nine steps, three gains, a stall at the ninth; the session is the conversation."""
    conversation = request.node.name
    talk(agent(), conversation)
    assert traced.judged() == STUCK
    assert traced.lanes() == {(conversation, "coder"): 9}


def test_a_conversation_goes_on_in_its_next_turn(traced: Traced, request: pytest.FixtureRequest) -> None:
    """Two turns of a session are two traces; the steps are counted through."""
    conversation = request.node.name
    coder = agent(CALLS[:4])
    talk(coder, conversation)
    talk(agent(CALLS[4:]), conversation)
    assert traced.judged() == STUCK
    assert traced.traces() == 2
    assert traced.lanes() == {(conversation, "coder"): 9}


def deploy(target: str) -> str:
    """Deploy."""
    return f"{target} is up"


def test_a_call_that_was_confirmed_is_one_step(traced: Traced, request: pytest.FixtureRequest) -> None:
    """The call that waits for its confirmation is no step; the confirmed one is."""
    conversation = request.node.name
    confirmed = FunctionTool(deploy, require_confirmation=True)
    talk(agent([CALLS[0], Call("deploy", {"target": "staging"}), CALLS[1]], [confirmed]), conversation, approve=True)
    assert [judged.step for judged in traced.judged()] == [1, 2, 3]
    assert traced.lanes() == {(conversation, "coder"): 3}


def test_a_sub_agent_has_a_lane_of_its_own(traced: Traced, request: pytest.FixtureRequest) -> None:
    """An agent that is called as a tool counts by itself; the calling agent counts the tool."""
    conversation = request.node.name
    searcher = agent(name="searcher", description="Search")
    searcher.model.last = "main returns what util.add gives it, and that is a float"
    calls = [Call("searcher", {"request": "where?"}), Call("read_file", {"path": "app.py"})]
    talk(agent(calls, [AgentTool(searcher)]), conversation)
    own = [Judged(1, "information", detected=False), Judged(2, "information", detected=False)]
    assert traced.judged() == [*STUCK, *own]
    assert {lane: steps for (_, lane), steps in traced.lanes().items()} == {"coder": 2, "coder/searcher": 9}


def test_without_content_nothing_is_said(
    traced: Traced, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every step is neutral, and the switch is the one of google-adk."""
    monkeypatch.delenv(SWITCH)
    monkeypatch.setenv("ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS", "false")
    talk(agent(), request.node.name)
    assert traced.judged() == [Judged(step, "neutral", detected=False) for step in range(1, 10)]
    assert traced.switches() == {f"{SWITCH}=SPAN_ONLY"}


@pytest.mark.parametrize("_schema", ["2"], indirect=True)
def test_the_page_works(traced: Traced) -> None:
    """The code that the page shows is judged."""
    page.run("Google ADK", provider=traced.provider, model=Scripted(calls=[*CALLS]), read_file=read_file, grep=grep)
    assert traced.judged() == STUCK
    assert traced.lanes() == {("ticket-7", "coder"): 9}
    assert traced.conversations() == {"ticket-7"}
