"""Runs the script as a traced agent on the real OpenTelemetry SDK, the stall processor attached.

The spans are those of the GenAI conventions: one `invoke_agent` root, and a `chat` and an `execute_tool`
span for each call. Time is simulated: a call takes a few seconds of trace time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.trace import Span, Status, StatusCode, Tracer, set_span_in_context

from otel_stall.demo.script import SCENES, Call, Scene
from otel_stall.demo.workspace import Workspace
from otel_stall.processor import StallSpanProcessor

__all__ = ["CONVERSATION", "Seen", "run"]

CONVERSATION = "demo-1"
_START_NS = 1_790_000_000_000_000_000
_SECOND = 1_000_000_000


@dataclass(slots=True)
class Seen:
    """What the terminal is told: a new scene, or a call with the span it left behind."""

    scene: Scene | None = None
    call: Call | None = None
    span: ReadableSpan | None = None


@dataclass(slots=True)
class _Run:
    tracer: Tracer
    workspace: Workspace = field(default_factory=Workspace)
    now: int = _START_NS
    tokens: int = 2_000
    ended: list[ReadableSpan] = field(default_factory=list)

    def tick(self, seconds: int) -> int:
        self.now += seconds * _SECOND
        return self.now


class _Last(SpanProcessor):
    """Keeps the span that ended last, as an exporter would see it."""

    def __init__(self, ended: list[ReadableSpan]) -> None:
        self._ended = ended

    def on_end(self, span: ReadableSpan) -> None:
        self._ended[:] = [span]


def run(exporting: SpanProcessor, tell: Callable[[Seen], None]) -> None:
    """Run the whole script; every span goes to `exporting`, and `tell` hears of each scene and call."""
    provider = TracerProvider(resource=Resource.create({"service.name": "billing-fixer"}))
    provider.add_span_processor(StallSpanProcessor())
    provider.add_span_processor(exporting)
    state = _Run(provider.get_tracer("otel_stall.demo"))
    provider.add_span_processor(_Last(state.ended))
    with _turn(state) as root:
        for scene in SCENES:
            tell(Seen(scene=scene))
            for call in _calls(state, root, scene):
                tell(Seen(call=call, span=state.ended[0]))
    provider.shutdown()


@contextmanager
def _turn(state: _Run) -> Iterator[Span]:
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "fixer",
        "gen_ai.conversation.id": CONVERSATION,
    }
    root = state.tracer.start_span("invoke_agent fixer", attributes=attributes, start_time=state.tick(1))
    yield root
    root.end(state.tick(1))


def _calls(state: _Run, root: Span, scene: Scene) -> Iterator[Call]:
    for index, call in enumerate(scene.calls):
        _chat(state, root, compacted=scene.compacted and index == 0)
        _execute(state, root, call)
        yield call


def _chat(state: _Run, root: Span, *, compacted: bool) -> None:
    state.tokens = 2_500 if compacted else state.tokens + 900
    messages = [{"role": "user", "parts": [{"type": "text", "content": "Make the tests pass and commit."}]}]
    span = state.tracer.start_span(
        "chat demo-model", context=set_span_in_context(root), start_time=state.tick(1), attributes=_chat_names()
    )
    span.set_attribute("gen_ai.input.messages", json.dumps(messages))
    span.set_attribute("gen_ai.usage.input_tokens", state.tokens)
    span.set_attribute("gen_ai.usage.output_tokens", 60)
    if compacted:
        span.set_attribute("gen_ai.conversation.compacted", True)
    span.end(state.tick(4))


def _chat_names() -> dict[str, str]:
    return {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": CONVERSATION}


def _execute(state: _Run, root: Span, call: Call) -> None:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.conversation.id": CONVERSATION,
        "gen_ai.tool.name": call.tool,
        "gen_ai.tool.call.id": f"call_{state.now // _SECOND}",
        "gen_ai.tool.call.arguments": json.dumps(dict(call.arguments)),
    }
    span = state.tracer.start_span(
        f"execute_tool {call.tool}",
        context=set_span_in_context(root),
        attributes=attributes,
        start_time=state.tick(1),
    )
    answer = getattr(state.workspace, call.tool)(**call.arguments)
    text, code = answer if isinstance(answer, tuple) else (answer, None)
    span.set_attribute("gen_ai.tool.call.result", text)
    if code is not None:
        span.set_attribute("process.exit.code", code)
    if text.startswith("Error"):
        span.set_status(Status(StatusCode.ERROR))
        span.set_attribute("error.type", "tool_error")
    span.end(state.tick(2))
