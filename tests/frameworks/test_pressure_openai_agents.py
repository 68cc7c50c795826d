"""The pressure in the OpenAI Agents SDK, over the verdicts on spans of OpenInference."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import page
import pytest
import runs_page
from agents import Agent, ModelResponse, RunConfig, Runner, Usage, function_tool, trace
from agents.models.interface import Model
from descent import ALL, FIXING, LEVELS, LOOKING, PLAN, Work, reached
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from openinference.instrumentation import using_session
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from pydantic import BaseModel
from runs_page import recorded
from stuck import Call
from traced import Host, Traced

from otel_stall.pressure import OURS, Abandonment, Ladder
from otel_stall.pressure.openai_agents import stall_agent, stall_run_config


@pytest.fixture(scope="module", autouse=True)
def instrumented(host: Host) -> Iterator[None]:
    OpenAIAgentsInstrumentor().instrument(tracer_provider=host.provider, exclusive_processor=True)
    yield
    OpenAIAgentsInstrumentor().uninstrument()


class Scripted(Model):
    """Asks for the calls one by one, or once it was told to re-plan for those of its plan; keeps what it was shown."""

    def __init__(self, calls: Sequence[Call], plan: Sequence[Call] = ()) -> None:
        self.calls, self.plan = list(calls), list(plan)
        self.shown: list[list[dict[str, Any]]] = []

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        self.shown.append(json.loads(json.dumps(kwargs["input"])))
        if self.plan and "write a new plan" in said(self.shown[-1]):
            self.calls, self.plan = list(self.plan), []
        if self.calls:
            call = self.calls.pop(0)
            output: Any = ResponseFunctionToolCall(
                arguments=json.dumps(call.arguments),
                call_id=f"call-{len(self.shown)}",
                name=call.tool,
                type="function_call",
            )
        else:
            text = ResponseOutputText(annotations=[], text="done", type="output_text")
            output = ResponseOutputMessage(
                id="message", content=[text], role="assistant", status="completed", type="message"
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def said(items: Sequence[dict[str, Any]]) -> str:
    last = items[-1]
    return str(last.get("output", last.get("content")))


class Run:
    """One agent in one session, with what it was shown."""

    def __init__(
        self,
        session: str,
        ladder: Ladder | None = None,
        *,
        plan: Sequence[Call] = (),
        output: type[Any] | None = None,
    ):
        self.work, self.session, self.ladder = Work(), session, ladder or Ladder()
        self.questions: dict[int, str] = {}
        self.model = Scripted([*FIXING, *LOOKING], plan)
        tools = [function_tool(self.work.bash), function_tool(self.work.write_file)]
        agent: Agent[Any] = Agent(name="coder", model=self.model, tools=tools, output_type=output)
        self.agent = stall_agent(agent, ladder) if ladder is not None else agent
        self.config = stall_run_config(ladder) if ladder is not None else RunConfig()

    def start(self, decision: bool | None = None) -> Any:
        """Run the agent; where a call is held back, decide on it and go on, in one trace."""
        with using_session(self.session), trace("fix the test"):
            result = Runner.run_sync(self.agent, "fix the test", max_turns=100, run_config=self.config)
            if decision is None:
                return result
            self.questions[self.work.calls] = str(self.ladder.look(self.session).question()["text"])
            state = result.to_state()
            for held in result.interruptions:
                state.approve(held) if decision else state.reject(held)
            return Runner.run_sync(self.agent, state, max_turns=100, run_config=self.config)

    def turns(self, text: str) -> list[int]:
        """Return after how many answered calls the model was shown a text in the last item of its input."""
        return [answers(shown) for shown in self.model.shown if text in said(shown)]


def answers(items: Sequence[dict[str, Any]]) -> int:
    return sum(item.get("type") == "function_call_output" for item in items)


def in_order(items: Sequence[dict[str, Any]]) -> bool:
    """Return whether each call is followed by its answer, and nothing else stands between."""
    waiting: list[str] = []
    for item in items:
        if item.get("type") == "function_call_output":
            if item["call_id"] not in waiting:
                return False
            waiting.remove(item["call_id"])
        elif item.get("type") == "function_call":
            waiting.append(item["call_id"])
        elif waiting:
            return False
    return not waiting


def test_the_stuck_agent_is_pressed_step_by_step(traced: Traced) -> None:
    """It sees the counter at every turn of the stall, is told once to re-plan, the user is asked, it is given up."""
    kept: list[Abandonment] = []
    run = Run("agents stuck", Ladder(ALL, on_abandon=kept.append))
    result = run.start(decision=True)

    assert reached(traced) == LEVELS
    assert run.turns("write a new plan") == [LEVELS["replan"]]
    assert run.turns(OURS) == list(range(LEVELS["notice"], LEVELS["abandon"]))
    assert run.work.calls == LEVELS["abandon"]
    assert result.final_output == kept[0].text
    assert all(map(in_order, run.model.shown))


def test_the_user_is_asked_before_the_next_call(traced: Traced) -> None:
    """The next call is held back as one that needs an approval; nothing is run before it is given."""
    run = Run("agents asked", Ladder(["ask_user"]))
    result = run.start()
    assert len(result.interruptions) == 1
    assert run.work.calls == LEVELS["ask_user"]


def test_a_person_can_refuse_the_call(traced: Traced) -> None:
    """The model is told that it was refused; nobody is asked twice."""
    run = Run("agents refused", Ladder(["ask_user"]))
    result = run.start(decision=False)
    assert result.interruptions == []
    assert result.final_output == "done"
    assert run.work.calls == len(FIXING) + len(LOOKING) - 1


def test_it_is_given_up_with_its_milestones(traced: Traced) -> None:
    """The final output says so, and the record is handed over: the milestone, the trace to go back to."""
    kept: list[Abandonment] = []
    run = Run("agents given up", Ladder(["abandon"], on_abandon=kept.append))
    result = run.start()

    assert run.work.calls == LEVELS["abandon"]
    assert result.final_output.startswith("Stopped, not completed")
    assert [(one.step, one.name) for one in kept[0].milestones] == [(3, "pytest")]
    green = traced.steps()[2]
    assert kept[0].document()["return_to"] == {"step": 3, "trace_id": f"{green.context.trace_id:032x}"}


class Answer(BaseModel):
    """What a structured run returns."""

    text: str


def test_a_run_that_returns_no_text_returns_the_record(traced: Traced) -> None:
    """Where a text is no answer, the final output is the record itself, which is no answer either."""
    result = Run("agents structured", Ladder(["abandon"]), output=Answer).start()
    assert isinstance(result.final_output, Abandonment)


def test_the_recovering_agent_is_left_alone(traced: Traced) -> None:
    """Told to re-plan it makes another plan, which leads to a milestone; no more is said to it."""
    run = Run("agents recovering", Ladder(ALL), plan=PLAN)
    result = run.start()

    assert result.final_output == "done"
    assert run.turns("write a new plan") == [LEVELS["replan"]]
    assert run.turns(OURS) == list(range(LEVELS["notice"], LEVELS["replan"] + 1))
    assert run.work.calls == LEVELS["replan"] + len(PLAN)
    assert (traced.steps()[-1].attributes or {})["stall.milestone.count"] == 2


def test_observing_changes_nothing(traced: Traced) -> None:
    """Without an opt-in all that the model is shown, and the result, is as without us, byte by byte."""
    observed, bare = Run("agents observed", Ladder()), Run("agents bare")
    results = [json.dumps(run.start().to_input_list()) for run in (observed, bare)]

    assert json.dumps(observed.model.shown) == json.dumps(bare.model.shown)
    assert results[0] == results[1]


def shown(run: Run) -> dict[int, str]:
    """Return what we showed after how many calls."""
    texts = ((answers(one), said(one).partition(OURS)) for one in run.model.shown)
    return {number: f"{ours}{text}" if ours else "" for number, (_, ours, text) in texts}


def test_the_page_shows_these_runs(traced: Traced) -> None:
    """What the page shows is what happens."""
    before, kept = Run("agents page before"), list[Abandonment]()
    done = before.start()
    after = Run("agents page after", Ladder(ALL, on_abandon=kept.append))
    ended = after.start(decision=True)
    runs_page.check(
        "OpenAI Agents SDK",
        recorded(shown(before), calls=before.work.calls, last=done.final_output),
        recorded(
            shown(after),
            after.questions,
            calls=after.work.calls,
            last=ended.final_output,
            kept=[f"{one.name}, step {one.step}, {one.evidence}" for one in kept[0].milestones],
        ),
    )


def test_the_page_works(traced: Traced) -> None:
    """The code that the page shows presses a stuck agent."""
    run = Run("agents page code")
    tools = {"bash": run.work.bash, "write_file": run.work.write_file}
    known = page.run("OpenAI Agents SDK", "pressure.md", model=run.model, **tools)
    assert len(known["result"].interruptions) == 1
    assert run.turns("write a new plan") == [LEVELS["replan"]]


def test_what_is_shown_is_not_kept(traced: Traced) -> None:
    """The result holds no word of ours."""
    run = Run("agents transient", Ladder(["notice", "replan"]))
    result = run.start()
    assert run.turns(OURS)
    assert OURS not in json.dumps(result.to_input_list())


@pytest.mark.parametrize("own", ["stop_on_first_tool", {"stop_at_tool_names": ["write_file"]}])
def test_the_agents_own_behaviour_goes_on(traced: Traced, own: Any) -> None:
    """Where a run ends by the agent's own rule, it does so with us as well."""
    run = Run(f"agents own {own}")
    agent = run.agent.clone(tool_use_behavior=own)
    run.agent = stall_agent(agent, Ladder(ALL))
    result = run.start()
    assert run.work.calls == (1 if own == "stop_on_first_tool" else 2)
    assert result.final_output in ("util.py written", Work().bash("pytest -q"))
