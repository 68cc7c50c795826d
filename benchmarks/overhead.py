"""What judging costs beside what a span costs anyway, on this machine: `python benchmarks/overhead.py`.

CPU time of the whole process per span, the best of several rounds; the set-ups take turns, so that a slow
spell of the machine meets all of them. "span" is what the SDK does without any exporting: start, attributes, end.
"exported" adds a batch processor that encodes to OTLP protobuf and sends nothing. The other columns are
what a `StallSpanProcessor` adds to "exported". It asserts nothing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Final

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from otel_stall import StallConfig, StallSpanProcessor

Values = Mapping[str, object]

SIZES: Final = {"200 B": 200, "2 KB": 2_000, "16 KB": 16_000, "1 MB": 1_000_000}
SETUPS: Final[Mapping[str, Values | None]] = {
    "span": None,
    "exported": None,
    "full": {"metrics": False},
    "minimal": {"metrics": False, "preset": "minimal"},
    "events_only": {"metrics": False, "mode": "events_only"},
    "full + metrics": {},
}
_SPANS: Final = 400
_LARGE: Final = 100_000
_CONVERSATION: Final = 200


class Encoding(SpanExporter):
    """Encodes what it is given as an OTLP exporter does, and sends nothing."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Return success."""
        encode_spans(spans).SerializeToString()
        return SpanExportResult.SUCCESS


@contextmanager
def provider_of(setup: str) -> Iterator[TracerProvider]:
    """Yield a tracer provider with what the set-up adds, and shut it down afterwards."""
    provider = TracerProvider(shutdown_on_exit=False)
    values = SETUPS[setup]
    meters = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False)
    if values is not None:
        config = StallConfig.create({**values, "content_steps": 0})
        logs = LoggerProvider(shutdown_on_exit=False)
        provider.add_span_processor(StallSpanProcessor(config, logger_provider=logs, meter_provider=meters))
    if setup != "span":
        provider.add_span_processor(BatchSpanProcessor(Encoding(), schedule_delay_millis=60_000))
    yield provider
    provider.shutdown()
    meters.shutdown()


def results(size: int, number: int) -> list[str]:
    """Return so many texts of that size, each of log lines that no other has."""
    lines = (
        f"{n:07d} INFO worker-{n % 7} step {n} of the build took {n % 100} units in src/module_{n % 50}.py"
        for n in count()
    )
    texts = []
    for _ in range(number):
        parts: list[str] = []
        while sum(map(len, parts[-1:])) + len(parts) * 80 < size:
            parts.append(next(lines))
        texts.append("\n".join([*parts, next(lines)])[:size])
    return texts


def tool_spans(provider: TracerProvider, texts: Sequence[str]) -> None:
    """Make a conversation of tool calls below an agent's span, each with one of the results."""
    tracer = provider.get_tracer("overhead")
    for start in range(0, len(texts), _CONVERSATION):
        given = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "coder",
            "gen_ai.conversation.id": str(start),
        }
        with tracer.start_as_current_span("invoke_agent coder", attributes=given):
            for number, text in enumerate(texts[start : start + _CONVERSATION]):
                attributes = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": "read_file",
                    "gen_ai.tool.call.id": f"call-{number}",
                    "gen_ai.tool.call.arguments": f'{{"path": "src/module_{number}.py"}}',
                    "gen_ai.tool.call.result": text,
                }
                with tracer.start_as_current_span("execute_tool read_file", attributes=attributes):
                    pass


def other_spans(provider: TracerProvider, texts: Sequence[str]) -> None:
    """Make as many HTTP spans below one span, as a host's other instrumentations do."""
    tracer = provider.get_tracer("overhead")
    with tracer.start_as_current_span("handler"):
        for number in range(len(texts)):
            attributes: dict[str, str | int] = {
                "http.request.method": "GET",
                "url.full": f"https://example.com/items/{number}",
                "server.address": "example.com",
                "http.response.status_code": 200,
            }
            with tracer.start_as_current_span("GET", attributes=attributes):
                pass


def seconds(setup: str, act: Callable[[TracerProvider, Sequence[str]], None], texts: Sequence[str]) -> float:
    """Return the CPU seconds per span of one round, export included."""
    with provider_of(setup) as provider:
        began = time.process_time()
        act(provider, texts)
        provider.force_flush()
        return (time.process_time() - began) / len(texts)


def row(name: str, act: Callable[[TracerProvider, Sequence[str]], None], texts: Sequence[str], rounds: int) -> str:
    """Return a line of the table: microseconds, and what is added to an exported span in percent."""
    best = dict.fromkeys(SETUPS, float("inf"))
    for _ in range(rounds):
        for setup in SETUPS:
            best[setup] = min(best[setup], seconds(setup, act, texts))
    exported = best["exported"]
    added = [
        f"+{(best[setup] - exported) * 1e6:6.0f} ({(best[setup] - exported) / exported:4.0%})"
        for setup in list(SETUPS)[2:]
    ]
    return f"{name:>10}  {best['span'] * 1e6:8.0f}  {exported * 1e6:8.0f}  " + "  ".join(
        f"{each:>16}" for each in added
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="rounds of which the best counts")
    rounds = parser.parse_args().rounds
    print("microseconds of CPU per span; in brackets: of what an exported span costs")
    print(f"{'':>10}  {'span':>8}  {'exported':>8}  " + "  ".join(f"{setup:>16}" for setup in list(SETUPS)[2:]))
    print(row("other", other_spans, [""] * _SPANS, rounds))
    for name, size in SIZES.items():
        print(row(name, tool_spans, results(size, 10 if size > _LARGE else _SPANS), rounds))


if __name__ == "__main__":
    main()
