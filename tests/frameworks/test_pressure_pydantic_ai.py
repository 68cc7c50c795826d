"""The pressure in pydantic-ai: a capability over the verdicts on its own spans."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
import runs_page
from descent import ALL, FIXING, LEVELS, LOOKING, PLAN, Work, reached
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolDenied
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings
from runs_page import recorded
from stuck import Call
from traced import Traced

from otel_stall.pressure import OURS, Abandoned, Abandonment, Ladder
from otel_stall.pressure.pydantic_ai import stall_capability


class Run:
    """One agent in one conversation, with what it was shown."""

    def __init__(
        self,
        traced: Traced,
        conversation: str,
        *,
        ladder: Ladder | None = None,
        plan: Sequence[Call] = (),
        bare: bool = False,
        output: Any = str,
    ):
        self.work, self.conversation = Work(), conversation
        self.calls, self.plan = [*FIXING, *LOOKING], list(plan)
        self.shown: list[list[ModelMessage]] = []
        capabilities: list[Any] = [Instrumentation(InstrumentationSettings(tracer_provider=traced.provider))]
        self.agent = Agent(
            FunctionModel(self.answer),
            name="coder",
            tools=[self.work.bash, self.work.write_file],
            capabilities=capabilities if bare else [*capabilities, stall_capability(ladder)],
            output_type=[output, DeferredToolRequests],
        )
        self.result: Any = None

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.shown.append(list(messages))
        if self.plan and "write a new plan" in said(messages):
            self.calls, self.plan = list(self.plan), []
        if not self.calls:
            return ModelResponse(parts=[TextPart("done")])
        call = self.calls.pop(0)
        return ModelResponse(parts=[ToolCallPart(call.tool, call.arguments, f"call-{len(self.shown)}")])

    def start(self) -> Run:
        self.result = self.agent.run_sync("fix the test", conversation_id=self.conversation)
        return self

    def resume(self, decision: Any) -> Run:
        decided = DeferredToolResults(approvals={one.tool_call_id: decision for one in self.result.output.approvals})
        self.result = self.agent.run_sync(
            message_history=self.result.all_messages(),
            deferred_tool_results=decided,
            conversation_id=self.conversation,
        )
        return self

    @property
    def messages(self) -> list[ModelMessage]:
        return list(self.result.all_messages())

    def turns(self, text: str) -> list[int]:
        """Return after how many answered calls the model was shown a text in the last request."""
        return [returned(shown) for shown in self.shown if text in said(shown)]


def said(messages: Sequence[ModelMessage]) -> str:
    last = messages[-1]
    assert isinstance(last, ModelRequest)
    return "\n".join(str(part.content) for part in last.parts if isinstance(part, UserPromptPart))


def returned(messages: Sequence[ModelMessage]) -> int:
    return sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)


def in_order(messages: Sequence[ModelMessage]) -> bool:
    """Return whether requests and answers alternate, and each call is answered first in the next request."""
    kinds = [message.kind for message in messages]
    if any(kind == before for before, kind in pairwise(kinds)):
        return False
    for before, after in pairwise(messages):
        calls = [part.tool_call_id for part in before.parts if isinstance(part, ToolCallPart)]
        first = [part.tool_call_id for part in after.parts[: len(calls)] if isinstance(part, ToolReturnPart)]
        if calls != first:
            return False
    return True


def test_the_stuck_agent_is_pressed_step_by_step(traced: Traced) -> None:
    """It sees the counter at every turn of the stall, is told once to re-plan, the user is asked, it is given up."""
    kept: list[Abandonment] = []
    run = Run(traced, "pydantic stuck", ladder=Ladder(ALL, on_abandon=kept.append)).start()
    (held,) = run.result.output.approvals
    assert run.result.output.metadata[held.tool_call_id]["stall"]["level"] == "ask_user"
    assert run.work.calls == LEVELS["ask_user"]
    run.resume(True)

    assert reached(traced) == LEVELS
    assert run.turns("write a new plan") == [LEVELS["replan"]]
    assert run.turns(OURS) == list(range(LEVELS["notice"], LEVELS["abandon"]))
    assert run.work.calls == LEVELS["abandon"]
    assert all(map(in_order, run.shown))
    assert len(kept) == 1


def test_it_is_given_up_with_its_milestones(traced: Traced) -> None:
    """The last answer says so and holds the record: the milestone, the trace to go back to; not a success."""
    kept: list[Abandonment] = []
    run = Run(traced, "pydantic given up", ladder=Ladder(["abandon"], on_abandon=kept.append)).start()

    assert run.work.calls == LEVELS["abandon"]
    assert run.result.output.startswith("Stopped, not completed")
    last = run.messages[-1]
    assert isinstance(last, ModelResponse)
    assert last.metadata == {"stall": kept[0].document()}
    assert [(one.step, one.name) for one in kept[0].milestones] == [(3, "pytest")]
    green = traced.steps()[2]
    assert kept[0].document()["return_to"] == {"step": 3, "trace_id": f"{green.context.trace_id:032x}"}


class Answer(BaseModel):
    """What a structured run returns."""

    text: str


def test_a_run_that_returns_no_text_raises(traced: Traced) -> None:
    """Where a text is no answer, giving up is `Abandoned`, with the record."""
    run = Run(traced, "pydantic structured", ladder=Ladder(["abandon"]), output=Answer)
    with pytest.raises(Abandoned) as raised:
        run.start()
    assert run.work.calls == LEVELS["abandon"]
    assert raised.value.record.document()["outcome"] == "abandoned"


def test_a_person_can_refuse_the_call(traced: Traced) -> None:
    """The refusal and its reason reach the model; nobody is asked twice."""
    run = Run(traced, "pydantic refused", ladder=Ladder(["ask_user"])).start()
    run.calls = run.calls[:2]
    run.resume(ToolDenied("look at the docs instead"))
    assert run.result.output == "done"
    assert "look at the docs instead" in str(run.messages)
    assert run.work.calls == LEVELS["ask_user"] + 2


def test_the_recovering_agent_is_left_alone(traced: Traced) -> None:
    """Told to re-plan it makes another plan, which leads to a milestone; no more is said to it."""
    run = Run(traced, "pydantic recovering", ladder=Ladder(ALL), plan=PLAN).start()

    assert run.result.output == "done"
    assert run.turns("write a new plan") == [LEVELS["replan"]]
    assert run.turns(OURS) == list(range(LEVELS["notice"], LEVELS["replan"] + 1))
    assert run.work.calls == LEVELS["replan"] + len(PLAN)
    assert (traced.steps()[-1].attributes or {})["stall.milestone.count"] == 2


def test_observing_changes_nothing(traced: Traced) -> None:
    """Without an opt-in all that the model is shown, and the history, is as without us, byte by byte."""
    observed = Run(traced, "pydantic observed").start()
    bare = Run(traced, "pydantic bare", bare=True).start()

    assert [plain(shown) for shown in observed.shown] == [plain(shown) for shown in bare.shown]
    assert plain(observed.messages) == plain(bare.messages)


def plain(messages: Sequence[ModelMessage]) -> str:
    """Return messages as JSON, without times and the ids that are drawn at random or given by the test."""
    listed = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
    drawn = ("timestamp", "run_id", "conversation_id")
    for message in listed:
        for each in (message, *message["parts"]):
            for name in drawn:
                each.pop(name, None)
    return json.dumps(listed)


def test_the_page_shows_these_runs(traced: Traced) -> None:
    """What the page shows is what happens."""
    before, kept = Run(traced, "pydantic page before").start(), list[Abandonment]()
    after = Run(traced, "pydantic page after", ladder=Ladder(ALL, on_abandon=kept.append)).start()
    (held,) = after.result.output.approvals
    asked = {after.work.calls: str(after.result.output.metadata[held.tool_call_id]["stall"]["text"])}
    after.resume(True)
    shown = [{returned(one): said(one) if OURS in said(one) else "" for one in run.shown} for run in (before, after)]
    runs_page.check(
        "pydantic-ai",
        recorded(shown[0], calls=before.work.calls, last=before.result.output),
        recorded(
            shown[1],
            asked,
            calls=after.work.calls,
            last=after.result.output,
            kept=[f"{one.name}, step {one.step}, {one.evidence}" for one in kept[0].milestones],
        ),
    )


def test_what_is_shown_is_not_kept(traced: Traced) -> None:
    """The history holds no word of ours."""
    run = Run(traced, "pydantic transient", ladder=Ladder(["notice", "replan"])).start()
    assert run.turns(OURS)
    assert OURS not in str(run.messages)
