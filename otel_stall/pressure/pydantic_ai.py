"""The pressure in agents of pydantic-ai, as a capability.

agent = Agent(model, capabilities=[Instrumentation(), stall_capability()], output_type=[str, DeferredToolRequests])

Tool calls are judged from pydantic-ai's own spans.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from otel_stall.pressure.abandonment import Abandoned
from otel_stall.pressure.ladder import Ladder, Pressure
from otel_stall.verdicts import Level

if TYPE_CHECKING:
    from pydantic_ai.capabilities import Hooks

__all__ = ["stall_capability"]


def stall_capability(ladder: Ladder | None = None) -> Hooks[Any]:
    """Return the capability of an agent; without levels that act (`Ladder(acts=...)`) it changes nothing.

    Counter and plan request are one more part of the last request to the model, after the tools' answers; the
    message history keeps nothing of them. `ask_user` holds back the next tool call by `ApprovalRequired`: the
    agent needs `DeferredToolRequests` among its output types, or `HandleDeferredToolCalls`, and the metadata of the
    call holds text, level and evidence. `abandon` ends the run with a text that says so, whose
    `ModelResponse.metadata["stall"]` holds the record; where the output type allows no text it raises `Abandoned`.

    The conversation is that of the run, the lane that of the agent's name. Hooks run on the event loop and raise
    nothing else of ours.
    """
    from pydantic_ai.capabilities import Hooks

    chosen, hooks = ladder or Ladder(), Hooks[Any]()

    @hooks.on.before_model_request
    async def before_model_request(ctx: Any, request: Any) -> Any:
        pressure = _look(chosen, ctx)
        if pressure.action is Level.ABANDON:
            _give_up(chosen, pressure, text=_takes_text(request.model_request_parameters))
        shown = _shown(request, pressure)
        if pressure.action is Level.REPLAN and shown is not request:
            chosen.did(pressure)
        return shown

    @hooks.on.before_tool_execute
    async def before_tool_execute(ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:  # noqa: ARG001 # the hook's
        pressure = _look(chosen, ctx)
        if pressure.action is Level.ASK_USER and not ctx.tool_call_approved:
            from pydantic_ai import ApprovalRequired

            # The run goes on only after a person answered, whatever the answer is.
            chosen.did(pressure, answered=True)
            raise ApprovalRequired({"stall": pressure.question()})
        return args

    return hooks


def _look(ladder: Ladder, ctx: Any) -> Pressure:
    agent = getattr(ctx.agent, "name", None) or ""
    pressure = ladder.look(ctx.conversation_id or "", agent=agent)
    return pressure if pressure.status is not None else ladder.look(agent=agent)


def _takes_text(parameters: Any) -> bool:
    """Return whether any text is an answer: not where one has to be parsed, or made by a tool alone."""
    return parameters.allow_text_output and parameters.output_mode in ("text", "tool")


def _give_up(ladder: Ladder, pressure: Pressure, *, text: bool) -> None:
    record = ladder.abandon(pressure)
    if record is None:
        return
    if not text:
        raise Abandoned(record)
    from pydantic_ai.exceptions import SkipModelRequest
    from pydantic_ai.messages import ModelResponse, TextPart

    raise SkipModelRequest(ModelResponse(parts=[TextPart(record.text)], metadata={"stall": record.document()}))


def _shown(request: Any, pressure: Pressure) -> Any:
    """Return the request with our lines as one more part of its last message; the history keeps that as it was."""
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    lines, last = pressure.lines(), request.messages[-1] if request.messages else None
    if not lines or not isinstance(last, ModelRequest):
        return request
    added = replace(last, parts=[*last.parts, UserPromptPart("\n".join(lines))])
    return replace(request, messages=[*request.messages[:-1], added])
