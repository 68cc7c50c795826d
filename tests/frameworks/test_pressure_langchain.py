"""The pressure in langchain and langgraph: middleware over the verdicts on spans of OpenInference."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import page
import pytest
import runs_page
from descent import ALL, FIXING, LEVELS, LOOKING, PLAN, Work, reached
from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, messages_to_dict
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from openinference.instrumentation.langchain import LangChainInstrumentor
from runs_page import recorded
from stuck import Call
from traced import Host, Traced

from otel_stall.pressure import OURS, Abandonment, Ladder
from otel_stall.pressure.langchain import stall_middleware


@pytest.fixture(scope="module", autouse=True)
def instrumented(host: Host) -> Iterator[None]:
    instrumentor = LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=host.provider)
    yield
    instrumentor.uninstrument()


class Model(BaseChatModel):
    """Asks for the calls one by one, or once it was told to re-plan for those of its plan; keeps what it was shown."""

    calls: list[Call]
    plan: list[Call]
    shown: list[list[BaseMessage]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Model:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.shown.append(list(messages))
        if self.plan and "write a new plan" in messages[-1].text:
            self.calls, self.plan = list(self.plan), []
        if not self.calls:
            return ChatResult(generations=[ChatGeneration(message=AIMessage("done"))])
        call = self.calls.pop(0)
        asked = {"name": call.tool, "args": call.arguments, "id": f"call-{len(self.shown)}", "type": "tool_call"}
        return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=[asked]))])


class Run:
    """One agent on one thread, with what it was shown and what it was asked."""

    def __init__(self, thread: str, *, ladder: Ladder | None = None, plan: Sequence[Call] = (), bare: bool = False):
        self.work = Work()
        self.model = Model(calls=[*FIXING, *LOOKING], plan=list(plan), shown=[])
        self.config = {"configurable": {"thread_id": thread}, "recursion_limit": 500}
        self.agent = create_agent(
            self.model,
            [self.work.bash, self.work.write_file],
            name="coder",
            middleware=[] if bare else [stall_middleware(ladder)],
            checkpointer=InMemorySaver(),
        )
        self.state: dict[str, Any] = {}

    def start(self) -> Run:
        self.state = self.agent.invoke({"messages": [HumanMessage("fix the test", id="first")]}, self.config)
        return self

    def resume(self, answer: object) -> Run:
        self.state = self.agent.invoke(Command(resume=answer), self.config)
        return self

    @property
    def messages(self) -> list[BaseMessage]:
        return list(self.state["messages"])

    def turns(self, text: str) -> list[int]:
        """Return after how many calls the model was shown a text in the last message."""
        return [number for number, shown in enumerate(self.model.shown) if text in shown[-1].text]


def in_order(messages: Sequence[BaseMessage]) -> bool:
    """Return whether every call is answered right after it and nothing else is answered: what providers ask for."""
    waiting: list[str | None] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                return False
            waiting.remove(message.tool_call_id)
        elif waiting:
            return False
        if isinstance(message, AIMessage):
            waiting = [call["id"] for call in message.tool_calls]
    return not waiting


def test_the_stuck_agent_is_pressed_step_by_step(traced: Traced) -> None:
    """It sees the counter at every turn of the stall, is told once to re-plan, the user is asked, it is given up."""
    kept: list[Abandonment] = []
    run = Run("stuck", ladder=Ladder(ALL, on_abandon=kept.append)).start()
    assert [asked.value["level"] for asked in run.state["__interrupt__"]] == ["ask_user"]
    assert run.work.calls == LEVELS["ask_user"]
    run.resume({"action": "go on"})

    assert reached(traced) == LEVELS
    assert run.turns("write a new plan") == [LEVELS["replan"]]
    assert run.turns(f"{OURS} ") == list(range(LEVELS["notice"], len(run.model.shown)))
    assert all(map(in_order, run.model.shown))
    assert in_order(run.messages)
    assert len(kept) == 1


def test_it_is_given_up_with_its_milestones(traced: Traced) -> None:
    """The record is on the last message: an honest reason, the milestone, the trace to go back to; not a success."""
    kept: list[Abandonment] = []
    run = Run("given up", ladder=Ladder(["abandon"], on_abandon=kept.append)).start()

    assert run.work.calls == LEVELS["abandon"]
    record = run.messages[-1].additional_kwargs["stall"]
    assert record == kept[0].document()
    assert record["outcome"] == "abandoned"
    assert [(one["step"], one["name"], one["evidence"]) for one in record["milestones"]] == [(3, "pytest", "observed")]
    green = traced.steps()[2]
    assert record["return_to"] == {"step": 3, "trace_id": f"{green.context.trace_id:032x}"}
    assert record["milestones"][0]["fingerprint"] == (green.attributes or {})["stall.outcome.fingerprint"]
    assert run.messages[-1].text.startswith("Stopped, not completed")


def test_a_person_who_answers_is_heard(traced: Traced) -> None:
    """The answer is the user's next message: the stall ends and the agent goes on; nothing is given up."""
    run = Run("answered", ladder=Ladder(["ask_user", "abandon"])).start()
    run.model.calls = run.model.calls[:1]
    run.resume("look at the docs")

    assert [message.text for message in run.messages if isinstance(message, HumanMessage)] == [
        "fix the test",
        "look at the docs",
    ]
    assert run.messages[-1].text == "done"
    assert all(map(in_order, run.model.shown))


def test_a_person_can_stop_it(traced: Traced) -> None:
    """Answered with "stop", the run is given up with its milestones."""
    run = Run("stopped", ladder=Ladder(["ask_user"])).start().resume("stop")
    assert run.work.calls == LEVELS["ask_user"]
    assert run.messages[-1].additional_kwargs["stall"]["milestones"][0]["step"] == 3


def test_the_recovering_agent_is_left_alone(traced: Traced) -> None:
    """Told to re-plan it makes another plan, which leads to a milestone; no more is said to it."""
    run = Run("recovering", ladder=Ladder(ALL), plan=PLAN).start()

    assert "__interrupt__" not in run.state
    assert run.messages[-1].text == "done"
    assert run.turns("write a new plan") == [LEVELS["replan"]]
    assert run.turns(OURS) == list(range(LEVELS["notice"], LEVELS["replan"] + 1))
    assert len(run.model.shown) == LEVELS["replan"] + len(PLAN) + 1
    assert (traced.steps()[-1].attributes or {})["stall.milestone.count"] == 2


@pytest.mark.parametrize("with_ladder", [True, False])
def test_observing_changes_nothing(traced: Traced, with_ladder: bool) -> None:
    """Without an opt-in all that the model is shown, and the state, is as without us, byte by byte."""
    observed = Run(f"observed {with_ladder}", ladder=Ladder() if with_ladder else None).start()
    bare = Run(f"bare {with_ladder}", bare=True).start()

    assert [plain(shown) for shown in observed.model.shown] == [plain(shown) for shown in bare.model.shown]
    assert plain(observed.messages) == plain(bare.messages)
    assert reached(traced) == LEVELS


def plain(messages: Sequence[BaseMessage]) -> str:
    """Return messages as text, without the ids that are drawn at random."""
    listed = [message.model_copy(update={"id": None}) for message in messages]
    return json.dumps(messages_to_dict(listed))


def test_what_is_shown_is_not_kept(traced: Traced) -> None:
    """The state holds no word of ours but the last message of a run that was given up."""
    run = Run("transient", ladder=Ladder(["notice", "replan"])).start()
    assert run.turns(OURS)
    assert [message for message in run.messages if OURS in message.text] == []


def shown(run: Run) -> dict[int, str]:
    """Return what we showed after how many calls."""
    texts = (messages[-1].text.partition(OURS) for messages in run.model.shown)
    return {number: f"{ours}{text}" if ours else "" for number, (_, ours, text) in enumerate(texts)}


def test_the_page_shows_these_runs(traced: Traced) -> None:
    """What the page shows is what happens."""
    before, kept = Run("page before").start(), list[Abandonment]()
    after = Run("page after", ladder=Ladder(ALL, on_abandon=kept.append)).start()
    asked = {after.work.calls: str(after.state["__interrupt__"][0].value["text"])}
    after.resume({"action": "go on"})
    runs_page.check(
        "langchain",
        recorded(shown(before), calls=before.work.calls, last=before.messages[-1].text),
        recorded(
            shown(after),
            asked,
            calls=after.work.calls,
            last=after.messages[-1].text,
            kept=[f"{one.name}, step {one.step}, {one.evidence}" for one in kept[0].milestones],
        ),
    )


def test_the_page_works(traced: Traced) -> None:
    """The code that the page shows presses a stuck agent."""
    run = Run("page code")
    known = page.run(
        "langchain",
        "pressure.md",
        model=run.model,
        bash=run.work.bash,
        write_file=run.work.write_file,
        config=run.config,
    )
    assert [asked.value["level"] for asked in known["result"]["__interrupt__"]] == ["ask_user"]
    assert run.turns("write a new plan") == [LEVELS["replan"]]


async def asynchronous(run: Run) -> dict[str, Any]:
    message = {"messages": [HumanMessage("fix the test", id="first")]}
    return dict(await run.agent.ainvoke(message, run.config))


def test_asynchronous_agents_are_pressed_alike(traced: Traced) -> None:
    """`ainvoke` gives the same steps."""
    import asyncio

    run = Run("asynchronous", ladder=Ladder(["notice", "replan", "abandon"]))
    state = asyncio.run(asynchronous(run))
    assert run.work.calls == LEVELS["abandon"]
    assert run.turns("write a new plan") == [LEVELS["replan"]]
    assert state["messages"][-1].additional_kwargs["stall"]["outcome"] == "abandoned"
