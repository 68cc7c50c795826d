"""strands-agents writes its own spans: contents stand in span events, or with an opt-in in attributes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import page
import pytest
from strands import Agent, ToolContext, tool
from strands.models.model import Model
from strands.telemetry import tracer as strands_tracer
from stuck import CALLS, Call, grep, read_file
from traced import STUCK, Judged, Traced


class Scripted(Model):
    """Asks for the calls one by one, then says its last word."""

    def __init__(self, calls: list[Call], last: str = "done") -> None:
        self.calls = calls
        self.last = last

    def update_config(self, **model_config: Any) -> None:
        return None

    def get_config(self) -> dict[str, object]:
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        yield {"messageStart": {"role": "assistant"}}
        if self.calls:
            call = self.calls.pop(0)
            use = {"name": call.tool, "toolUseId": f"call-{id(self)}-{len(self.calls)}"}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(call.arguments)}}}}
            stop = "tool_use"
        else:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": self.last}}}
            stop = "end_turn"
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": stop}}


TOOLS = [tool(read_file), tool(grep)]


def agent(conversation: str, calls: tuple[Call, ...] = CALLS, tools: list[Any] = TOOLS, name: str = "coder") -> Agent:
    return Agent(
        model=Scripted([*calls]),
        tools=tools,
        name=name,
        callback_handler=None,
        trace_attributes={"session.id": conversation},
    )


@pytest.fixture(params=["", "gen_ai_latest_experimental"], autouse=True)
def _convention(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test runs with contents in events and in attributes."""
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", request.param)
    monkeypatch.setattr(strands_tracer, "_tracer_instance", None)


def test_a_stuck_agent_is_told_on_the_exported_spans(traced: Traced, request: pytest.FixtureRequest) -> None:
    """Nine steps, three gains, a stall at the ninth; the session is the conversation."""
    conversation = request.node.name
    agent(conversation)("fix the test")
    assert traced.judged() == STUCK
    assert traced.lanes() == {(conversation, "coder"): 9}


def test_a_conversation_goes_on_in_its_next_run(traced: Traced, request: pytest.FixtureRequest) -> None:
    """Two runs are two traces; the steps are counted through."""
    conversation = request.node.name
    agent(conversation, CALLS[:4])("fix the test")
    agent(conversation, CALLS[4:])("go on")
    assert traced.judged() == STUCK
    assert traced.traces() == 2
    assert traced.lanes() == {(conversation, "coder"): 9}


@tool(context=True)
def deploy(target: str, tool_context: ToolContext) -> str:
    """Deploy, once a person agrees."""
    return f"{target} is up: {tool_context.interrupt('may', reason='May I?')}"


def test_a_call_that_was_interrupted_is_one_step(traced: Traced, request: pytest.FixtureRequest) -> None:
    """The call that asks is no step; the one that goes on after the answer is."""
    conversation = request.node.name
    coder = agent(conversation, (CALLS[0], Call("deploy", {"target": "staging"}), CALLS[1]), [*TOOLS, deploy])
    asked = coder("deploy it")
    answers = [{"interruptResponse": {"interruptId": each.id, "response": "yes"}} for each in asked.interrupts]
    coder(answers)
    assert [judged.step for judged in traced.judged()] == [1, 2, 3]
    assert traced.lanes() == {(conversation, "coder"): 3}


def test_a_sub_agent_has_a_lane_of_its_own(traced: Traced, request: pytest.FixtureRequest) -> None:
    """An agent that is called through a tool counts by itself; the calling agent counts the tool."""
    conversation = request.node.name
    searcher = agent(conversation, CALLS, TOOLS, "searcher")
    searcher.model.last = "main returns what util.add gives it, and that is a float"

    @tool
    async def search(question: str) -> str:
        """Let another agent search."""
        return str(await searcher.invoke_async(question))

    calls = (Call("search", {"question": "where?"}), Call("read_file", {"path": "app.py"}))
    agent(conversation, calls, [*TOOLS, search])("fix the test")
    own = [Judged(1, "information", detected=False), Judged(2, "information", detected=False)]
    assert traced.lanes() == {(conversation, "coder"): 2, (conversation, "coder/searcher"): 9}
    assert traced.judged() == [*STUCK, *own]


@pytest.mark.parametrize("_convention", [""], indirect=True)
def test_the_page_works(traced: Traced) -> None:
    """The code that the page shows is judged."""
    page.run("Strands Agents", provider=traced.provider, model=Scripted([*CALLS]), read_file=read_file, grep=grep)
    assert traced.judged() == STUCK
    assert traced.lanes() == {("ticket-7", "coder"): 9}
    assert traced.conversations() == {"ticket-7"}
