"""Rules of `testing`: the public doubles are deterministic and make spans as agents do."""

from __future__ import annotations

from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_stall import dialects
from otel_stall.spans import from_readable_span
from otel_stall.testing import (
    SECOND_NS,
    RecordedProvider,
    SequentialIdGenerator,
    TickingClock,
    tool_reading,
    tool_view,
)


def test_clock_ticks_a_second() -> None:
    """Each call is a second after the one before, from one second on."""
    clock = TickingClock()
    assert [clock(), clock(), clock()] == [SECOND_NS, 2 * SECOND_NS, 3 * SECOND_NS]


def test_ids_are_sequential() -> None:
    """Traces and spans are numbered apart, each from 1."""
    ids = SequentialIdGenerator()
    assert [ids.generate_trace_id(), ids.generate_trace_id(), ids.generate_span_id()] == [1, 2, 1]


def test_an_agent_run_is_exported_exactly() -> None:
    """Spans of an agent come out in order of their end, with ids, times and the GenAI attributes."""
    recorded = RecordedProvider()
    with recorded.agent("coder", conversation="c"):
        recorded.chat("I read.")
        recorded.tool("read_file", {"path": "a"}, "text")
        recorded.tool("bash", "ls", error="TimeoutError")
    found = [
        (
            view.name,
            view.trace_id,
            view.span_id,
            view.parent_id,
            view.start_ns // SECOND_NS,
            view.end_ns // SECOND_NS,
            view.status.name,
            dict(view.attributes),
        )
        for view in map(from_readable_span, recorded.spans())
    ]
    trace, root = f"{1:032x}", f"{1:016x}"
    message = '[{"role": "assistant", "parts": [{"type": "text", "content": "I read."}]}]'
    assert found == [
        (
            *("chat", trace, f"{2:016x}", root, 2, 3, "UNSET"),
            {"gen_ai.operation.name": "chat", "gen_ai.output.messages": message},
        ),
        (
            *("execute_tool read_file", trace, f"{3:016x}", root, 4, 5, "UNSET"),
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "read_file",
                "gen_ai.tool.call.arguments": '{"path": "a"}',
                "gen_ai.tool.call.result": "text",
            },
        ),
        (
            *("execute_tool bash", trace, f"{4:016x}", root, 6, 7, "ERROR"),
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "bash",
                "gen_ai.tool.call.arguments": "ls",
                "error.type": "TimeoutError",
            },
        ),
        (
            *("invoke_agent coder", trace, root, "", 1, 8, "UNSET"),
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": "coder",
                "gen_ai.conversation.id": "c",
            },
        ),
    ]


def test_verdicts_are_those_of_tool_spans() -> None:
    """Only the `stall.*` attributes of tool spans are handed out."""
    recorded = RecordedProvider()
    with recorded.agent():
        recorded.tool("read_file", attributes={"stall.resource": "a"})
    assert recorded.verdicts() == [{"stall.resource": "a"}]
    assert isinstance(recorded.exporter, InMemorySpanExporter)


def test_a_view_reads_as_the_reading() -> None:
    """`tool_reading` is what the dialects make of `tool_view`."""
    made = tool_reading("read_file", {"path": "a"}, "text", number=3)
    read = dialects.read(tool_view("read_file", {"path": "a"}, "text", number=3))
    assert (read.span_id, read.start_ns, read.end_ns, read.dialect) == (
        made.span_id,
        made.start_ns,
        made.end_ns,
        made.dialect,
    )
    assert read.record is not None
    assert (read.record.tool, read.record.arguments, read.record.result) == (  # type: ignore[union-attr]
        made.record.tool,  # type: ignore[union-attr]
        made.record.arguments,  # type: ignore[union-attr]
        made.record.result,  # type: ignore[union-attr]
    )
