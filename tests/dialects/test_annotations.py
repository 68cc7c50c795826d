"""What an MCP server says of its tool, as the instrumentations of LangChain carry it on the span of the call.

The values are those that langchain 1.5.2 with langchain-mcp-adapters 0.3.2 gave under
openinference-instrumentation-langchain 0.1.80 and opentelemetry-instrumentation-langchain 0.62.4.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from otel_stall.calls import ToolAnnotations, ToolCall
from otel_stall.dialects import read
from otel_stall.spans import SpanView

METADATA = {
    "thread_id": "t",
    "title": None,
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": None,
    "openWorldHint": True,
}
SAID = ToolAnnotations(read_only=False, destructive=True, idempotent=None, open_world=True)
ENVELOPE = {
    "input_str": "{'id': 'a'}",
    "tags": [],
    "metadata": METADATA,
    "inputs": {"id": "a"},
    "kwargs": {"color": "green", "name": None, "tool_call_id": "1"},
}
OPENINFERENCE = {"openinference.span.kind": "TOOL", "tool.name": "refund", "input.value": '{"id": "a"}'}
OPENLLMETRY = {
    "traceloop.span.kind": "tool",
    "traceloop.entity.name": "refund",
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "refund",
}


def annotations_on(attributes: Mapping[str, object]) -> ToolAnnotations:
    record = read(SpanView("t", "s", "", "refund", 1, 2, attributes=attributes)).record
    assert isinstance(record, ToolCall)
    return record.annotations


@pytest.mark.parametrize(
    "attributes",
    [
        {**OPENINFERENCE, "metadata": json.dumps(METADATA)},
        {**OPENLLMETRY, "gen_ai.tool.call.arguments": json.dumps(ENVELOPE)},
        {**OPENLLMETRY, "traceloop.entity.input": json.dumps(ENVELOPE)},
    ],
)
def test_are_read_where_they_stand(attributes: Mapping[str, object]) -> None:
    """In the metadata of the call, by itself or beside the arguments; the protocol's defaults are not filled in."""
    assert annotations_on(attributes) == SAID


@pytest.mark.parametrize(
    "attributes",
    [
        OPENINFERENCE,
        {**OPENINFERENCE, "metadata": '{"thread_id": "t"}'},
        {**OPENINFERENCE, "metadata": '{"readOnlyHint": tr'},
        {**OPENINFERENCE, "metadata": '["readOnlyHint"]'},
        {**OPENINFERENCE, "metadata": {"readOnlyHint": True}},
        {**OPENINFERENCE, "metadata": '{"readOnlyHint": "certainly"}'},
        {**OPENINFERENCE, "input.value": json.dumps({"metadata": METADATA})},
        {**OPENLLMETRY, "gen_ai.tool.call.arguments": json.dumps({"metadata": METADATA, "inputs": {}})},
        {
            **OPENLLMETRY,
            "gen_ai.tool.call.arguments": json.dumps({**ENVELOPE, "metadata": 3, "x": {"readOnlyHint": 1}}),
        },
        {**OPENLLMETRY, "traceloop.association.properties.readOnlyHint": True},
    ],
)
def test_nothing_else_is_believed(attributes: Mapping[str, object]) -> None:
    """No metadata, broken ones, a tool's own arguments, and what belongs to the context, not to the call."""
    assert annotations_on(attributes) == ToolAnnotations()
