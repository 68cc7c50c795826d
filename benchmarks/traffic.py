"""Traffic of agents for the benchmarks of the gateway: requests of mixed spans with ids of their own."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count
from typing import Final

from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, TracesData

from otel_stall.otlp.editing import key_value_messages

__all__ = ["requests"]

SPANS: Final = 512
"""Spans of a request, the batch size of the SDKs."""
TOOLS: Final = 0.4
"""Share of tool calls; of the rest two thirds are plain spans of libraries, one third model turns."""
_EPOCH_NS: Final = 1_767_225_600_000_000_000
_WORDS: Final = (
    "error warning module function value request response handler config index cache token worker thread socket "
    "buffer stream parser query table schema field column record event queue task retry timeout session user"
).split()


def requests(number: int, *, span_bytes: int, conversations: int = 50, seed: int = 1) -> Iterator[bytes]:
    """Yield so many trace requests; spans have about `span_bytes` each, and conversations take turns."""
    source = random.Random(seed)
    ids = count(1)
    for _ in range(number):
        spans = [_span(source, next(ids), span_bytes, conversations) for _ in range(SPANS)]
        resource = Resource(attributes=key_value_messages({"service.name": "agents", "host.name": "bench"}))
        scoped = ScopeSpans(scope=InstrumentationScope(name="bench.agents"), spans=spans)
        yield TracesData(resource_spans=[ResourceSpans(resource=resource, scope_spans=[scoped])]).SerializeToString()


def _span(source: random.Random, number: int, size: int, conversations: int) -> Span:
    whose = number % conversations
    drawn = source.random()
    room = max(50, size - 420)
    if drawn < TOOLS:
        name, attributes = "execute_tool bash", _tool(source, number, room)
    elif drawn < TOOLS + (1 - TOOLS) / 3:
        name, attributes = "chat", _chat(source, room)
    else:
        name, attributes = "GET", {"http.request.method": "GET", "url.full": "http://x/" + _text(source, room)}
    if name != "GET":
        attributes |= {"gen_ai.conversation.id": f"conversation-{whose}", "gen_ai.agent.name": "coder"}
    return Span(
        trace_id=(1 << 64 | whose + 1).to_bytes(16, "big"),
        span_id=number.to_bytes(8, "big"),
        name=name,
        kind=Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=_EPOCH_NS + number * 1_000_000,
        end_time_unix_nano=_EPOCH_NS + number * 1_000_000 + 900_000,
        attributes=key_value_messages(attributes),
    )


def _tool(source: random.Random, number: int, room: int) -> dict[str, object]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "bash",
        "gen_ai.tool.call.id": f"call-{number}",
        "gen_ai.tool.call.arguments": f'{{"command": "grep -rn {source.choice(_WORDS)} src/{number % 97}"}}',
        "gen_ai.tool.call.result": _text(source, room),
    }


def _chat(source: random.Random, room: int) -> dict[str, object]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m-1",
        "gen_ai.usage.input_tokens": source.randrange(1_000, 90_000),
        "gen_ai.usage.output_tokens": source.randrange(1, 900),
        "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "'
        + _text(source, room).replace("\n", " ")
        + '"}]}]',
    }


def _text(source: random.Random, size: int) -> str:
    lines = []
    left = size
    while left > 0:
        line = f"{source.randrange(10**6)}: " + " ".join(source.choices(_WORDS, k=7))
        lines.append(line)
        left -= len(line) + 1
    return "\n".join(lines)[:size]
