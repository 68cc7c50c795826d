"""pydantic-ai writes its own spans."""

from __future__ import annotations

from collections.abc import Sequence

import page
import pytest
from pydantic_ai import Agent, ApprovalRequired, DeferredToolRequests, DeferredToolResults, RunContext, ToolApproved
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings
from stuck import CALLS, Call, grep, read_file
from traced import STUCK, Judged, Traced


def model(calls: Sequence[Call], last: str = "done") -> FunctionModel:
    """Return a model that asks for the calls one by one, then says its last word."""
    left = list(calls)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if not left:
            return ModelResponse(parts=[TextPart(last)])
        call = left.pop(0)
        return ModelResponse(parts=[ToolCallPart(call.tool, call.arguments, f"call-{len(left)}")])

    return FunctionModel(answer)


def settings(traced: Traced, **options: object) -> Instrumentation:
    return Instrumentation(InstrumentationSettings(tracer_provider=traced.provider, **options))


@pytest.mark.parametrize("version", [2, 3, 4, 5, 6])
def test_a_stuck_agent_is_told_on_the_exported_spans(traced: Traced, version: int) -> None:
    """Nine steps, three gains, a stall at the ninth; lane and conversation are the agent's and the host's."""
    conversation = f"pydantic-ai v{version}"
    agent = Agent(model(CALLS), name="coder", tools=[read_file, grep], capabilities=[settings(traced, version=version)])
    agent.run_sync("fix the test", conversation_id=conversation)
    assert traced.judged() == STUCK
    assert traced.lanes() == {(conversation, "coder"): 9}


def test_a_conversation_goes_on_in_its_next_run(traced: Traced) -> None:
    """Two runs are two traces; with one conversation id the steps are counted through."""
    for calls in (CALLS[:4], CALLS[4:]):
        agent = Agent(model(calls), name="coder", tools=[read_file, grep], capabilities=[settings(traced)])
        agent.run_sync("go on", conversation_id="two runs")
    assert traced.judged() == STUCK
    assert traced.traces() == 2
    assert traced.lanes() == {("two runs", "coder"): 9}


def test_without_content_nothing_is_said(traced: Traced) -> None:
    """Every step is neutral, and the switch is the one of pydantic-ai."""
    capabilities = [settings(traced, include_content=False)]
    agent = Agent(model(CALLS), name="coder", tools=[read_file, grep], capabilities=capabilities)
    agent.run_sync("fix the test", conversation_id="no content")
    assert traced.judged() == [Judged(step, "neutral", detected=False) for step in range(1, 10)]
    assert traced.switches() == {"InstrumentationSettings(include_content=True)"}


def deploy(ctx: RunContext[None], target: str) -> str:
    """Ask for an approval, then deploy."""
    if not ctx.tool_call_approved:
        raise ApprovalRequired
    return f"{target} is up"


def shut_down(target: str) -> str:
    return f"{target} is down"


@pytest.mark.parametrize("tool", ["deploy", "shut_down"])
def test_a_call_that_was_approved_is_one_step(traced: Traced, tool: str) -> None:
    """Whether the tool asks itself or is declared to need an approval: the call counts once, when it was made."""
    agent = Agent(
        model([CALLS[0], Call(tool, {"target": "staging"}), CALLS[1]]),
        name="coder",
        tools=[read_file, deploy],
        output_type=[str, DeferredToolRequests],
        capabilities=[settings(traced)],
    )
    agent.tool_plain(requires_approval=True)(shut_down)
    conversation = f"approval of {tool}"
    asked = agent.run_sync("deploy it", conversation_id=conversation)
    assert isinstance(asked.output, DeferredToolRequests)
    approved = DeferredToolResults(approvals={call.tool_call_id: ToolApproved() for call in asked.output.approvals})
    agent.run_sync(message_history=asked.all_messages(), deferred_tool_results=approved, conversation_id=conversation)
    assert [judged.step for judged in traced.judged()] == [1, 2, 3]
    assert traced.lanes() == {(conversation, "coder"): 3}


def test_a_sub_agent_has_a_lane_of_its_own(traced: Traced) -> None:
    """An agent that is called through a tool counts by itself; the calling agent counts the tool."""
    findings = "main returns what util.add gives it, and that is a float"
    searcher = Agent(model(CALLS, findings), name="searcher", tools=[read_file, grep], capabilities=[settings(traced)])

    async def search(ctx: RunContext[None], question: str) -> str:
        found = await searcher.run(question, conversation_id=ctx.conversation_id)
        return str(found.output)

    coder = Agent(
        model([Call("search", {"question": "where?"}), Call("read_file", {"path": "app.py"})]),
        name="coder",
        tools=[search, read_file],
        capabilities=[settings(traced)],
    )
    coder.run_sync("fix the test", conversation_id="delegation")
    assert traced.lanes() == {("delegation", "coder"): 2, ("delegation", "coder/searcher"): 9}
    own = [Judged(1, "information", detected=False), Judged(2, "information", detected=False)]
    assert traced.judged() == [*STUCK, *own]


def test_the_page_works(traced: Traced) -> None:
    """The code that the page shows is judged."""
    page.run("pydantic-ai", provider=traced.provider, model=model(CALLS), read_file=read_file, grep=grep)
    assert traced.judged() == STUCK
    assert traced.lanes() == {("ticket-7", "coder"): 9}
    assert traced.conversations() == {"ticket-7"}
