"""Doubles for tests of agents and of otel-stall: deterministic ids and times, and spans as an agent makes them.

recorded = RecordedProvider(StallSpanProcessor(StallConfig()))
with recorded.agent("coder", conversation="c-1"):
    recorded.tool("read_file", {"path": "a.py"}, "print(1)")
assert recorded.verdicts()[0]["stall.step"] == 1
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import StatusCode, Tracer, use_span
from opentelemetry.util.types import AnyValue

from otel_stall.calls import Capture, Content, Reading, ToolCall
from otel_stall.spans import SpanView, Status

__all__ = ["RecordedProvider", "SequentialIdGenerator", "TickingClock", "tool_reading", "tool_view"]

SECOND_NS: Final = 1_000_000_000
SCOPE: Final = "otel_stall.testing"


class TickingClock:
    """Returns one second more on each call, in ns, from one second after the epoch on."""

    def __init__(self) -> None:
        self._seconds = count(1)

    def __call__(self) -> int:
        """Return the next time."""
        return next(self._seconds) * SECOND_NS


class SequentialIdGenerator(IdGenerator):
    """Gives traces the ids 1, 2, 3, … and spans likewise."""

    def __init__(self) -> None:
        self._traces = count(1)
        self._spans = count(1)

    def generate_trace_id(self) -> int:
        """Return the next trace id."""
        return next(self._traces)

    def generate_span_id(self) -> int:
        """Return the next span id."""
        return next(self._spans)


class RecordedProvider:
    """A tracer provider that keeps what it exports, with methods that make an agent's spans.

    The given processors come before the exporting one; `provider` takes more. Spans follow the GenAI
    conventions, with content.
    """

    def __init__(self, *processors: SpanProcessor, provider: TracerProvider | None = None) -> None:
        self.clock = TickingClock()
        self.exporter = InMemorySpanExporter()
        self.provider = provider or TracerProvider(
            resource=Resource({"service.name": "tests"}),
            id_generator=SequentialIdGenerator(),
            shutdown_on_exit=False,
        )
        for processor in (*processors, SimpleSpanProcessor(self.exporter)):
            self.provider.add_span_processor(processor)

    @property
    def tracer(self) -> Tracer:
        """The tracer that makes the spans."""
        return self.provider.get_tracer(SCOPE)

    @contextmanager
    def span(self, name: str, attributes: Mapping[str, AnyValue] | None = None) -> Iterator[Span]:
        """Make a span current while the block runs; it starts and ends by the clock."""
        span = self.tracer.start_span(name, attributes=attributes, start_time=self.clock())
        assert isinstance(span, Span)
        try:
            with use_span(span):
                yield span
        finally:
            span.end(self.clock())

    @contextmanager
    def agent(self, name: str = "", *, conversation: str = "") -> Iterator[Span]:
        """Make an `invoke_agent` span current while the block runs."""
        attributes: dict[str, AnyValue] = {"gen_ai.operation.name": "invoke_agent"}
        if name:
            attributes["gen_ai.agent.name"] = name
        if conversation:
            attributes["gen_ai.conversation.id"] = conversation
        with self.span(f"invoke_agent {name}".strip(), attributes) as span:
            yield span

    def chat(self, text: str = "", attributes: Mapping[str, AnyValue] | None = None) -> None:
        """Make a `chat` span in which the assistant says `text`."""
        message = {"role": "assistant", "parts": [{"type": "text", "content": text}]}
        own: dict[str, AnyValue] = {"gen_ai.operation.name": "chat"}
        own["gen_ai.output.messages"] = json.dumps([message])
        with self.span("chat", {**own, **(attributes or {})}):
            pass

    def tool(
        self,
        tool: str,
        arguments: object = None,
        result: object = None,
        *,
        error: str = "",
        attributes: Mapping[str, AnyValue] | None = None,
    ) -> None:
        """Make an `execute_tool` span; what is None is not captured, `error` is the error's type."""
        with self.span(f"execute_tool {tool}", {"gen_ai.operation.name": "execute_tool"}) as span:
            span.set_attributes({**_tool_attributes(tool, arguments, result), **(attributes or {})})
            if error:
                span.set_attribute("error.type", error)
                span.set_status(StatusCode.ERROR, error)

    def spans(self) -> list[ReadableSpan]:
        """Return the exported spans, in order of their end."""
        return list(self.exporter.get_finished_spans())

    def verdicts(self) -> list[dict[str, AnyValue]]:
        """Return the `stall.*` attributes of each exported tool span, in order of their end."""
        return [
            {key: value for key, value in (span.attributes or {}).items() if key.startswith("stall.")}
            for span in self.spans()
            if (span.attributes or {}).get("gen_ai.operation.name") == "execute_tool"
        ]


def tool_view(
    tool: str,
    arguments: object = None,
    result: object = None,
    *,
    number: int = 1,
    attributes: Mapping[str, object] | None = None,
) -> SpanView:
    """Return the view of a tool span; `number` gives its span id and its times, all share one trace."""
    own: dict[str, object] = {"gen_ai.operation.name": "execute_tool", **(attributes or {})}
    return SpanView(
        trace_id=f"{1:032x}",
        span_id=f"{number:016x}",
        parent_id="",
        name=f"execute_tool {tool}",
        start_ns=2 * number * SECOND_NS,
        end_ns=(2 * number + 1) * SECOND_NS,
        status=Status.ERROR if "error.type" in own else Status.UNSET,
        attributes={**own, **_tool_attributes(tool, arguments, result)},
        scope=SCOPE,
    )


def tool_reading(
    tool: str, arguments: object = None, result: object = None, *, number: int = 1, failed: bool = False
) -> Reading:
    """Return the reading of such a span; what is None is not captured."""
    view = tool_view(tool, number=number)
    return Reading(
        trace_id=view.trace_id,
        span_id=view.span_id,
        parent_id=view.parent_id,
        name=view.name,
        start_ns=view.start_ns,
        end_ns=view.end_ns,
        scope=view.scope,
        dialect="genai",
        record=ToolCall(tool, _content(arguments), _content(result), failed=failed),
    )


def _content(value: object) -> Content:
    return Content() if value is None else Content(value, Capture.CAPTURED)


def _tool_attributes(tool: str, arguments: object, result: object) -> dict[str, str]:
    attributes = {"gen_ai.tool.name": tool}
    if arguments is not None:
        attributes["gen_ai.tool.call.arguments"] = _json(arguments)
    if result is not None:
        attributes["gen_ai.tool.call.result"] = _json(result)
    return attributes


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
