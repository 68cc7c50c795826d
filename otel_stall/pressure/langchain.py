"""The pressure in agents of langchain and langgraph, as middleware of `create_agent`.

agent = create_agent(model, tools, middleware=[stall_middleware()], checkpointer=InMemorySaver())

Tool calls are judged from the spans of an instrumentation (docs/frameworks.md).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from otel_stall.pressure.ladder import Ladder, Pressure
from otel_stall.verdicts import Level

if TYPE_CHECKING:
    from langchain.agents.middleware import AgentMiddleware

__all__ = ["stall_middleware"]


def stall_middleware(ladder: Ladder | None = None, *, agent: str = "") -> AgentMiddleware[Any, Any]:
    """Return the middleware of one agent; without levels that act (`Ladder(acts=...)`) it changes nothing.

    Counter and plan request are added to the text of the last message of a request, so that no order of messages
    is ever new to a provider and nothing of them stays in the state. `ask_user` is an `interrupt`, which needs a
    checkpointer: its value holds text, level, evidence and counters; resumed with a text, that is the user's
    next message, with "stop" the run ends as by `abandon`, and with anything else it goes on. `abandon` ends
    the run with a last message that says so, and holds the record under `additional_kwargs["stall"]`.

    `agent` is the name of the agent's lane, by default the name it was created with, or else the lane used last.
    Hooks run on the thread of the graph; nothing of ours is raised.
    """
    from langchain.agents.middleware import AgentMiddleware, hook_config

    chosen = ladder or Ladder()

    class StallMiddleware(AgentMiddleware[Any, Any]):
        """Shows the counter, asks for a plan, asks the user, gives up: each where it was opted into."""

        @hook_config(can_jump_to=["end"])
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002 # the hook's
            """Ask the user, or end the run, where that is due."""
            pressure = _look(chosen, agent)
            if pressure.action is Level.ASK_USER:
                return _asked(chosen, pressure)
            return _given_up(chosen, pressure) if pressure.action is Level.ABANDON else None

        @hook_config(can_jump_to=["end"])
        async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            """Do the same."""
            return self.before_model(state, runtime)

        def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
            """Show the counter, and ask for a plan where that is due."""
            pressure = _look(chosen, agent)
            response = handler(_shown(request, pressure))
            _told(chosen, pressure)
            return response

        async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
            """Do the same."""
            pressure = _look(chosen, agent)
            response = await handler(_shown(request, pressure))
            _told(chosen, pressure)
            return response

    return StallMiddleware()


def _look(ladder: Ladder, agent: str) -> Pressure:
    from langgraph.config import get_config

    config = get_config()
    named = agent or str(config.get("metadata", {}).get("lc_agent_name") or "")
    thread = str(config.get("configurable", {}).get("thread_id") or "")
    pressure = ladder.look(thread, agent=named) if thread else ladder.look(agent=named)
    return pressure if pressure.status is not None or not named else ladder.look(thread)


def _told(ladder: Ladder, pressure: Pressure) -> None:
    if pressure.action is Level.REPLAN:
        ladder.did(pressure)


def _asked(ladder: Ladder, pressure: Pressure) -> dict[str, Any] | None:
    """Return what the user's answer changes. The graph runs this again from its start when it is resumed."""
    from langchain_core.messages import HumanMessage
    from langgraph.types import interrupt

    answer = interrupt(pressure.question())
    if _stops(answer):
        return _given_up(ladder, pressure)
    ladder.did(pressure, answered=True)
    return {"messages": [HumanMessage(answer)]} if isinstance(answer, str) and answer else None


def _stops(answer: object) -> bool:
    said = answer.get("action") if isinstance(answer, Mapping) else answer
    return isinstance(said, str) and said.strip().lower() == "stop"


def _given_up(ladder: Ladder, pressure: Pressure) -> dict[str, Any] | None:
    from langchain_core.messages import AIMessage

    record = ladder.abandon(pressure)
    if record is None:
        return None
    last = AIMessage(record.text, additional_kwargs={"stall": record.document()})
    return {"jump_to": "end", "messages": [last]}


def _shown(request: Any, pressure: Pressure) -> Any:
    """Return the request with our lines at the end of its last message; the state keeps that as it was."""
    lines = pressure.lines()
    if not lines:
        return request
    text = "\n".join(lines)
    last = request.messages[-1] if request.messages else None
    if last is None or last.type not in ("tool", "human"):
        return request.override(system_message=_system(request.system_message, text))
    return request.override(messages=[*request.messages[:-1], last.model_copy(update={"content": _added(last, text)})])


def _added(message: Any, text: str) -> Any:
    if isinstance(message.content, str):
        return f"{message.content}\n\n{text}"
    return [*message.content, {"type": "text", "text": text}]


def _system(message: Any, text: str) -> Any:
    from langchain_core.messages import SystemMessage

    return SystemMessage(text) if message is None else SystemMessage(content=_added(message, text))
