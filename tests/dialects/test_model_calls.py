"""Rules by which a model turn is read: what was said, who spoke, how much was read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from otel_stall.calls import CompactionMark, ModelCall
from otel_stall.dialects import read
from otel_stall.spans import EventView, SpanView

CHAT = {"gen_ai.operation.name": "chat"}


def span(attributes: dict[str, Any], events: tuple[EventView, ...] = (), scope: str = "") -> SpanView:
    return SpanView("t", "s", "", "chat", 1, 2, attributes=attributes, events=events, scope=scope)


def turn_of(view: SpanView) -> ModelCall:
    record = read(view).record
    assert isinstance(record, ModelCall)
    return record


SPOKEN: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"type": "text", "content": "fix it"}]},
    {"role": "user", "parts": [{"type": "text"}]},
    {"role": "user", "content": "fix it"},
    {"role": "user", "content": [{"type": "image", "url": "u"}]},
    {"role": "user", "content": [{"type": "tool_result", "content": "x"}, {"type": "text", "text": "and this"}]},
    {"type": "human", "content": "fix it"},
    {"lc": 1, "type": "constructor", "kwargs": {"type": "human", "content": "fix it"}},
    {"message": {"role": "user", "content": "fix it"}},
]
UNSPOKEN: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"type": "tool_call_response", "id": "1", "response": "x"}]},
    {"role": "user", "content": [{"type": "tool_result", "content": "x"}]},
    {"role": "user", "content": [{"toolResult": {"content": []}}]},
    {"role": "user", "parts": [{"function_response": {}}]},
    {"role": "user", "content": [{"tool_call_result": {"result": "x"}}]},
    {"role": "tool", "content": "x"},
    {"role": "system", "content": "x"},
    {"role": "assistant", "content": "x"},
    {"type": "function_call_output", "output": "x"},
]


@pytest.mark.parametrize("message", SPOKEN, ids=str)
@pytest.mark.parametrize("structured", [False, True])
def test_a_message_in_which_a_person_speaks_is_counted(message: dict[str, Any], structured: bool) -> None:
    """In every shape that a host writes, as JSON or as a structured attribute."""
    messages: object = [message, *UNSPOKEN]
    turn = turn_of(span({**CHAT, "gen_ai.input.messages": messages if structured else json.dumps(messages)}))
    assert turn.user_messages == 1


@pytest.mark.parametrize("message", UNSPOKEN, ids=str)
def test_a_message_of_tool_results_is_no_persons(message: dict[str, Any]) -> None:
    """Tool results travel under the user role in many hosts."""
    assert turn_of(span({**CHAT, "gen_ai.input.messages": json.dumps([message])})).user_messages == 0


@pytest.mark.parametrize("value", [None, "", "[]", '[{"role": "us', 7, "[" * 5_000])
def test_input_that_cannot_be_read_has_no_count(value: object) -> None:
    """Unknown is not zero: the next turn would look as if somebody had spoken."""
    assert turn_of(span({**CHAT, "gen_ai.input.messages": value})).user_messages is None


@pytest.mark.parametrize(
    ("output", "text", "asks"),
    [
        (
            [{"role": "assistant", "parts": [{"type": "text", "content": "a"}, {"type": "text", "content": "b"}]}],
            "a\nb",
            False,
        ),
        ([{"role": "assistant", "parts": [{"type": "tool_call", "name": "bash", "arguments": {}}]}], "", True),
        ([{"role": "assistant", "parts": [{"type": "thinking", "content": "hm"}]}], "", False),
        ([{"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "bash"}}]}], "", True),
        ([{"role": "assistant", "content": "a", "tool_calls": []}], "a", False),
        ([{"text": "a"}, {"toolUse": {"name": "bash"}}], "a", True),
        ({"choices": [{"message": {"role": "assistant", "content": "a"}}]}, "a", False),
        ({"generations": [[{"text": "a", "message": {"kwargs": {"type": "ai", "content": "a"}}}]]}, "a", False),
        ([{"type": "function_call", "name": "bash", "arguments": "{}"}], "", True),
        ([{"type": "message", "content": [{"type": "output_text", "text": "a"}]}], "a", False),
    ],
)
def test_what_the_assistant_says_is_its_text(output: object, text: str, asks: bool) -> None:
    """Text parts in order; thinking is not said; a call in any shape asks for tools."""
    for value in (output, json.dumps(output)):
        turn = turn_of(span({**CHAT, "gen_ai.output.messages": value}))
        assert (turn.text, turn.calls_tools) == (text, asks)


def test_messages_may_be_spread_over_attributes() -> None:
    """OpenInference and the older OpenLLMetry write one attribute per field."""
    openinference = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "s",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.contents.0.message_content.text": "hi",
        "llm.input_messages.10.message.role": "user",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "done",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "bash",
        "llm.token_count.prompt": 10,
        "llm.token_count.completion": 2,
    }
    openllmetry = {
        "llm.request.type": "chat",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "hi",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "done",
        "gen_ai.completion.0.tool_calls.0.name": "bash",
        "gen_ai.usage.prompt_tokens": 10,
        "gen_ai.usage.completion_tokens": 2,
    }
    assert turn_of(span(openinference)) == ModelCall("done", True, 2, 10, 2)
    assert turn_of(span(openllmetry)) == ModelCall("done", True, 1, 10, 2)


def test_a_history_whose_beginning_was_evicted_is_not_counted() -> None:
    """The SDK drops the oldest attributes beyond its limit."""
    evicted = {"openinference.span.kind": "LLM", "llm.input_messages.3.message.role": "user"}
    assert turn_of(span(evicted)).user_messages is None


def test_strands_puts_messages_into_span_events() -> None:
    """One event per message; the event's name tells who speaks."""
    events = (
        EventView("gen_ai.user.message", 1, {"content": '[{"text": "fix it"}]'}),
        EventView("gen_ai.assistant.message", 1, {"content": '[{"toolUse": {"name": "bash"}}]'}),
        EventView("gen_ai.tool.message", 1, {"content": '[{"toolResult": {}}]'}),
        EventView("gen_ai.choice", 1, {"message": '[{"text": "done"}]', "finish_reason": "end_turn"}),
    )
    assert turn_of(span(CHAT, events)) == ModelCall("done", False, 1)


def test_cached_input_is_added_where_the_input_count_leaves_it_out() -> None:
    """Strands counts cached tokens apart, the convention does not."""
    usage = {**CHAT, "gen_ai.usage.input_tokens": 10, "gen_ai.usage.cache_read_input_tokens": 90}
    counts = [turn_of(span(usage, scope=scope)).input_tokens for scope in ("strands.telemetry.tracer", "other")]
    langfuse = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.usage_details": '{"input": 10, "input_cached_tokens": 90, "output": 3}',
    }
    assert [*counts, turn_of(span(langfuse)).input_tokens] == [100, 10, 100]


def test_sums_on_agent_spans_are_no_context_size() -> None:
    """Only a model span tells how much a model read."""
    assert read(span({"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 10})).record is None
    assert read(span({"openinference.span.kind": "AGENT", "llm.token_count.prompt": 10})).record is None


@pytest.mark.parametrize(
    "extra",
    [
        {"gen_ai.conversation.compacted": True},
        {"pydantic_ai.cache.collapse_reason": "compacted"},
        {"gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "compaction"}]}]'},
        {"gen_ai.output.messages": '[{"role": "assistant", "parts": [], "finish_reason": "compaction"}]'},
    ],
)
def test_a_turn_may_say_that_its_context_was_compacted(extra: dict[str, Any]) -> None:
    """On the model span it is a property of the turn."""
    assert (turn_of(span({**CHAT, **extra})).compacted, turn_of(span(CHAT)).compacted) == (True, False)


@pytest.mark.parametrize(
    ("attributes", "mark"),
    [
        (
            {"compaction.strategy": "summary", "compaction.tokens_before": 900, "compaction.tokens_after": 90},
            CompactionMark("pydantic-ai", 900, 90),
        ),
        (
            {"compaction.strategy": "window", "compaction.messages_before": 9, "compaction.messages_after": 8},
            CompactionMark("pydantic-ai", 9, 8),
        ),
        ({"gen_ai.conversation.compacted": True}, CompactionMark("pydantic-ai")),
        ({"gen_ai.operation.name": "compact_events"}, CompactionMark("google-adk")),
        ({**CHAT, "traceloop.association.properties.lc_source": "summarization"}, CompactionMark("langchain")),
        ({**CHAT, "langsmith.metadata.lc_source": "summarization"}, CompactionMark("langchain")),
        (
            {"openinference.span.kind": "LLM", "metadata": '{"lc_source": "summarization"}'},
            CompactionMark("langchain"),
        ),
        ({"ag2.usage.kind": "compaction"}, CompactionMark("ag2")),
        ({"haystack.agent.hook.compaction.compacted": True}, CompactionMark("haystack")),
        ({"stall.compaction": True}, CompactionMark("host")),
        ({**CHAT, "stall.compaction": "true"}, CompactionMark("host")),
        ({"traceloop.association.properties.lc_source": "summarization", "traceloop.span.kind": "task"}, None),
        ({"stall.compaction": False}, None),
        ({"ag2.usage.kind": "chat"}, None),
    ],
)
def test_a_compaction_is_marked_by_each_host_in_its_way(
    attributes: dict[str, Any], mark: CompactionMark | None
) -> None:
    """A span of its own, or a model turn that is the summariser's; a graph node beside it is neither."""
    assert read(span(attributes)).record == mark


def test_condensers_of_openhands_are_compactions() -> None:
    """They are told by the span's name alone."""
    view = SpanView("t", "s", "", "get_condensation", 1, 2, attributes={"lmnr.span.path": ["a"]})
    assert read(view).record == CompactionMark("lmnr")


def test_a_request_that_llama_index_prepares_is_no_turn() -> None:
    """It carries the kind of a model call and calls no model."""
    attributes = {"openinference.span.kind": "LLM", "output.value": "x"}
    view = SpanView("t", "s", "", "Fake._prepare_chat_with_tools", 1, 2, attributes=attributes)
    assert read(view).record is None
