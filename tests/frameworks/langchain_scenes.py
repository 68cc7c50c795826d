"""An agent of langchain, which is a graph of langgraph, in the scenes that every instrumentation must pass.

langchain writes no spans itself. OpenLLMetry leaves its wrappers behind when it is taken off, so that each
instrumentation is tested in a process of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import page
from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from stuck import CALLS, Call, grep, read_file
from traced import STUCK, Judged, Traced


class Model(BaseChatModel):
    """Asks for the calls one by one, then says its last word."""

    calls: list[Call]
    last: str = "done"

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Model:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        if not self.calls:
            return ChatResult(generations=[ChatGeneration(message=AIMessage(self.last))])
        call = self.calls.pop(0)
        asked = {"name": call.tool, "args": call.arguments, "id": f"call-{len(self.calls)}", "type": "tool_call"}
        return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=[asked]))])


def asked(conversation: str) -> tuple[dict[str, Any], dict[str, Any]]:
    message = {"messages": [{"role": "user", "content": "fix the test"}]}
    return message, {"configurable": {"thread_id": conversation}, "recursion_limit": 100}


NEUTRAL = [Judged(step, "neutral", detected=False) for step in range(1, 10)]
"""What the export says of `stuck.CALLS` without their content."""


def deploy(target: str) -> str:
    """Deploy, once a person agrees."""
    return f"{target} is up: {interrupt('May I?')}"


def stuck_run(conversation: str, calls: Sequence[Call] = CALLS) -> None:
    agent = create_agent(Model(calls=list(calls)), [read_file, grep], name="coder")
    agent.invoke(*asked(conversation))


class Scenes:
    """What holds whichever instrumentation writes the spans, and also where two do."""

    heading: str
    """What the instrumentation is shown under in the page."""
    below = "coder/searcher"
    """Lane of the agent that another calls through a tool."""

    def test_a_stuck_agent_is_told_on_the_exported_spans(self, traced: Traced) -> None:
        """Nine steps, three gains, a stall at the ninth; each call counts once."""
        stuck_run("stuck")
        assert traced.judged() == STUCK
        assert traced.lanes() == {("stuck", "coder"): 9}

    def test_a_conversation_goes_on_in_its_next_run(self, traced: Traced) -> None:
        """Two runs of one thread are two traces; the steps are counted through."""
        stuck_run("two runs", CALLS[:4])
        stuck_run("two runs", CALLS[4:])
        assert traced.judged() == STUCK
        assert traced.traces() == 2
        assert traced.lanes() == {("two runs", "coder"): 9}

    def test_a_call_that_was_interrupted_is_one_step(self, traced: Traced) -> None:
        """The call that asks is no step; the one that goes on after the answer is."""
        calls = [CALLS[0], Call("deploy", {"target": "staging"}), CALLS[1]]
        agent = create_agent(Model(calls=calls), [read_file, deploy], name="coder", checkpointer=InMemorySaver())
        message, config = asked("interrupt")
        agent.invoke(message, config)
        agent.invoke(Command(resume="yes"), config)
        assert [judged.step for judged in traced.judged()] == [1, 2, 3]
        assert traced.lanes() == {("interrupt", "coder"): 3}

    def test_a_sub_agent_has_a_lane_of_its_own(self, traced: Traced) -> None:
        """An agent that is called through a tool counts by itself; the calling agent counts the tool."""
        findings = "main returns what util.add gives it, and that is a float"
        searcher = create_agent(Model(calls=list(CALLS), last=findings), [read_file, grep], name="searcher")

        def search(question: str) -> str:
            """Let another agent search."""
            answer = searcher.invoke({"messages": [{"role": "user", "content": question}]}, {"recursion_limit": 100})
            return str(answer["messages"][-1].content)

        calls = [Call("search", {"question": "where?"}), Call("read_file", {"path": "app.py"})]
        agent = create_agent(Model(calls=calls), [search, read_file], name="coder")
        agent.invoke(*asked("delegation"))
        own = [Judged(1, "information", detected=False), Judged(2, "information", detected=False)]
        assert traced.lanes() == {("delegation", "coder"): 2, ("delegation", self.below): 9}
        assert traced.judged() == [*STUCK, *own]

    def test_the_page_works(self, traced: Traced) -> None:
        """The code that the page shows is judged."""
        model = Model(calls=list(CALLS))
        page.run(self.heading, provider=traced.provider, model=model, read_file=read_file, grep=grep)
        assert traced.judged() == STUCK
        assert traced.lanes() == {("ticket-7", "coder"): 9}
        assert traced.conversations() == {"ticket-7"}
