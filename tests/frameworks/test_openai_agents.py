"""openai-agents traces for itself; OpenInference turns that into spans."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import page
import pytest
from agents import Agent, ModelResponse, RunConfig, Runner, Usage, function_tool, trace
from agents.models.interface import Model
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from openinference.instrumentation import TraceConfig, using_session
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from stuck import CALLS, Call, grep, read_file
from traced import STUCK, Judged, Traced


class Scripted(Model):
    """Asks for the calls one by one, then says its last word."""

    def __init__(self, calls: list[Call], last: str = "done") -> None:
        self.calls = calls
        self.last = last

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        if self.calls:
            call = self.calls.pop(0)
            output: Any = ResponseFunctionToolCall(
                arguments=json.dumps(call.arguments),
                call_id=f"call-{id(self)}-{len(self.calls)}",
                name=call.tool,
                type="function_call",
            )
        else:
            text = ResponseOutputText(annotations=[], text=self.last, type="output_text")
            output = ResponseOutputMessage(
                id="message", content=[text], role="assistant", status="completed", type="message"
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


@contextmanager
def instrumented(traced: Traced, config: TraceConfig | None = None) -> Iterator[None]:
    OpenAIAgentsInstrumentor().instrument(
        tracer_provider=traced.provider, config=config or TraceConfig(), exclusive_processor=True
    )
    try:
        yield
    finally:
        OpenAIAgentsInstrumentor().uninstrument()


TOOLS = [function_tool(read_file), function_tool(grep)]


def test_a_stuck_agent_is_told_on_the_exported_spans(traced: Traced) -> None:
    """Nine steps, three gains, a stall at the ninth; the session is the conversation."""
    with instrumented(traced), using_session("openai-agents"):
        agent = Agent(name="coder", model=Scripted([*CALLS]), tools=TOOLS)
        Runner.run_sync(agent, "fix the test", max_turns=20)
    assert traced.judged() == STUCK
    assert traced.lanes() == {("openai-agents", "coder"): 9}


def test_a_conversation_goes_on_in_its_next_run(traced: Traced) -> None:
    """Two runs are two traces; the steps are counted through."""
    with instrumented(traced):
        for calls in (CALLS[:4], CALLS[4:]):
            with using_session("openai-agents two runs"):
                agent = Agent(name="coder", model=Scripted([*calls]), tools=TOOLS)
                Runner.run_sync(agent, "go on", max_turns=20)
    assert traced.judged() == STUCK
    assert traced.traces() == 2
    assert traced.lanes() == {("openai-agents two runs", "coder"): 9}


def test_without_a_session_each_trace_is_a_conversation(traced: Traced) -> None:
    """The group of a workflow does not reach the spans: the trace stands for the conversation."""
    with instrumented(traced), trace("workflow", group_id="group"):
        agent = Agent(name="coder", model=Scripted([*CALLS]), tools=TOOLS)
        Runner.run_sync(agent, "fix the test", max_turns=20)
    assert traced.judged() == STUCK
    (trace_id,) = {f"{span.context.trace_id:032x}" for span in traced.steps()}
    assert traced.lanes() == {(trace_id, "coder"): 9}


@pytest.mark.parametrize("off", ["framework", "instrumentation"])
def test_without_content_nothing_is_said(traced: Traced, off: str) -> None:
    """Every step is neutral, whether the framework or the instrumentation leaves the content out."""
    config = TraceConfig(hide_inputs=off == "instrumentation", hide_outputs=off == "instrumentation")
    with instrumented(traced, config), using_session(f"openai-agents no content {off}"):
        agent = Agent(name="coder", model=Scripted([*CALLS]), tools=TOOLS)
        run_config = RunConfig(trace_include_sensitive_data=off != "framework")
        Runner.run_sync(agent, "fix the test", max_turns=20, run_config=run_config)
    assert traced.judged() == [Judged(step, "neutral", detected=False) for step in range(1, 10)]
    assert traced.switches() == {
        "OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS not set, "
        "and RunConfig.trace_include_sensitive_data not set to false"
    }


def deploy(target: str) -> str:
    return f"{target} is up"


def approved_run() -> None:
    calls = [CALLS[0], Call("deploy", {"target": "staging"}), CALLS[1]]
    agent = Agent(name="coder", model=Scripted(calls), tools=[*TOOLS, function_tool(deploy, needs_approval=True)])
    asked = Runner.run_sync(agent, "deploy it", max_turns=20)
    state = asked.to_state()
    for interruption in asked.interruptions:
        state.approve(interruption)
    Runner.run_sync(agent, state, max_turns=20)


def test_a_call_that_was_approved_is_one_step(traced: Traced) -> None:
    """The call that waits is no step; the approved one is, in a run of the same `trace`."""
    with instrumented(traced), using_session("openai-agents approval"), trace("deployment"):
        approved_run()
    assert [judged.step for judged in traced.judged()] == [1, 2, 3]
    assert traced.lanes() == {("openai-agents approval", "coder"): 3}


def test_a_resumed_run_alone_leaves_no_spans(traced: Traced) -> None:
    """The framework takes up a trace that the instrumentation has closed: what follows is nowhere to be seen."""
    with instrumented(traced), using_session("openai-agents resumed alone"):
        approved_run()
    assert traced.lanes() == {("openai-agents resumed alone", "coder"): 1}


def test_agents_have_lanes_of_their_own(traced: Traced) -> None:
    """An agent used as a tool is below its caller; one that took over by a handoff stands beside it."""
    findings = "main returns what util.add gives it, and that is a float"
    searcher = Agent(name="searcher", model=Scripted([*CALLS], findings), tools=TOOLS)
    fixer = Agent(name="fixer", model=Scripted([CALLS[1]]), tools=TOOLS)
    calls = [Call("search", {"input": "where?"}), CALLS[0], Call("transfer_to_fixer", {})]
    tools = [*TOOLS, searcher.as_tool("search", "Search", max_turns=20)]
    coder = Agent(name="coder", model=Scripted(calls), tools=tools, handoffs=[fixer])
    with instrumented(traced), using_session("openai-agents delegation"):
        Runner.run_sync(coder, "fix the test", max_turns=20)
    lanes = {lane: steps for (_, lane), steps in traced.lanes().items()}
    assert lanes == {"coder": 3, "coder/searcher": 9, "fixer": 1}


def test_the_page_works(traced: Traced) -> None:
    """The code that the page shows is judged."""
    page.run("OpenAI Agents SDK", provider=traced.provider, model=Scripted([*CALLS]), read_file=read_file, grep=grep)
    assert traced.judged() == STUCK
    assert traced.lanes() == {("ticket-7", "coder"): 9}
    assert traced.conversations() == {"ticket-7"}
