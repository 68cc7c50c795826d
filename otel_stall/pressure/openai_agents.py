"""The pressure in agents of the OpenAI Agents SDK.

ladder = Ladder(["notice", "replan", "ask_user", "abandon"])
result = await Runner.run(stall_agent(agent, ladder), task, run_config=stall_run_config(ladder))

Tool calls are judged from the spans of OpenInference (docs/frameworks.md).
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from otel_stall.pressure.ladder import Ladder, Pressure
from otel_stall.verdicts import Level

if TYPE_CHECKING:
    from agents import Agent, RunConfig

__all__ = ["stall_agent", "stall_run_config"]


def stall_run_config(ladder: Ladder, config: RunConfig | None = None, *, conversation: str = "") -> RunConfig:
    """Return a run's configuration whose `call_model_input_filter` shows counter and plan request to the model.

    They are added to the text of the last item of the input, after a filter that `config` has already; neither
    the session nor the result keeps them. `conversation` is that of the current span where not given.
    """
    from agents import RunConfig

    config = config or RunConfig()
    before = config.call_model_input_filter

    async def show(data: Any) -> Any:
        model_data = data.model_data
        if before is not None:
            made = before(data)
            model_data = await made if inspect.isawaitable(made) else made
        pressure = ladder.look(conversation, agent=data.agent.name)
        shown = _shown(model_data, pressure)
        if pressure.action is Level.REPLAN and shown is not model_data:
            ladder.did(pressure)
        return shown

    return replace(config, call_model_input_filter=show)


def stall_agent(agent: Agent[Any], ladder: Ladder, *, conversation: str = "") -> Agent[Any]:
    """Return a clone of an agent that asks the user and gives up where that is due.

    `ask_user` holds the next function call back for an approval (`result.interruptions`), as `needs_approval`
    does; `ladder.look(conversation).question()` says why. `abandon` ends the run after the tools ran, by
    `tool_use_behavior`: the final output is a text that says so, or the record where the agent returns no text.
    What the agent's tools and behaviour do themselves goes on. Agents that it hands over to are wrapped by themselves.
    """
    from agents import FunctionTool, ToolsToFinalOutputResult

    name = agent.name

    def held_back(tool: Any) -> Any:
        if not isinstance(tool, FunctionTool):
            return tool
        own = tool.needs_approval

        async def needs_approval(context: Any, arguments: dict[str, Any], call_id: str) -> bool:
            pressure = ladder.look(conversation, agent=name)
            if pressure.action is Level.ASK_USER:
                # The run goes on only after a person answered, whatever the answer is.
                ladder.did(pressure, answered=True)
                held.add(call_id)
            asks = await own(context, arguments, call_id) if callable(own) else own
            return asks or call_id in held

        held: set[str] = set()
        return replace(tool, needs_approval=needs_approval)

    async def end(context: Any, results: list[Any]) -> Any:
        pressure = ladder.look(conversation, agent=name)
        record = ladder.abandon(pressure) if pressure.action is Level.ABANDON else None
        if record is None:
            return await _own_end(agent, context, results)
        return ToolsToFinalOutputResult(True, record.text if agent.output_type in (None, str) else record)

    return agent.clone(tools=[held_back(tool) for tool in agent.tools], tool_use_behavior=end)


async def _own_end(agent: Agent[Any], context: Any, results: list[Any]) -> Any:
    """Return what the agent's own behaviour says to the results of its tools."""
    from agents import ToolsToFinalOutputResult

    own: Any = agent.tool_use_behavior
    if callable(own):
        made = own(context, results)
        return await made if inspect.isawaitable(made) else made
    stops = own["stop_at_tool_names"] if isinstance(own, dict) else None
    for result in results:
        if own == "stop_on_first_tool" or (stops is not None and result.tool.name in stops):
            return ToolsToFinalOutputResult(True, result.output)
    return ToolsToFinalOutputResult(False)


def _shown(model_data: Any, pressure: Pressure) -> Any:
    """Return the model's input with our lines at the end of its last item, or of the instructions."""
    lines = pressure.lines()
    if not lines:
        return model_data
    text = "\n".join(lines)
    last = model_data.input[-1] if model_data.input else None
    key = _body(last)
    if key is None or not isinstance(last, dict):
        return replace(model_data, instructions="\n\n".join(filter(None, (model_data.instructions, text))))
    body = last[key]
    added = f"{body}\n\n{text}" if isinstance(body, str) else [*body, {"type": "input_text", "text": text}]
    return replace(model_data, input=[*model_data.input[:-1], {**last, key: added}])


def _body(item: object) -> str | None:
    """Return the key of the text that our lines may follow: of a tool's output, or of a user's message."""
    if not isinstance(item, dict):
        return None
    key = "output" if item.get("type") == "function_call_output" else "content"
    speaks = key == "output" or item.get("role") == "user"
    return key if speaks and isinstance(item.get(key), str | list) else None
