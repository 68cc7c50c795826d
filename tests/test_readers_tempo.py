"""Tempo's answers give the spans that were sent to it, and say of cut attributes that they were cut."""

from __future__ import annotations

from dataclasses import replace

import pytest
from exports import CUT, RUN, assert_reads_as_the_run, base64_ids, otlp, read, tempo, tempo_v2, verdicts
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from otel_stall import dialects
from otel_stall.calls import Capture, ModelCall, ToolCall
from otel_stall.spans import CutText, SpanView

WHOLE = {
    "version 1": tempo(),
    "version 2": tempo_v2(),
    "version 2 without its envelope": base64_ids(otlp()),
    "instrumentation library spans": {
        "batches": [
            {
                "resource": otlp()["resourceSpans"][0]["resource"],  # type: ignore[index]  # built above
                "instrumentationLibrarySpans": [
                    {"instrumentationLibrary": {"name": "an.agent"}, "spans": [span]}
                    for span in tempo()["batches"][0]["scopeSpans"][0]["spans"]  # type: ignore[index]  # built above
                ],
            }
        ]
    },
}


@pytest.mark.parametrize("data", WHOLE.values(), ids=WHOLE.keys())
@pytest.mark.parametrize("name", ["", "tempo"])
def test_the_views_are_those_of_the_same_spans_in_otlp(data: object, name: str) -> None:
    """Ids in base64 and enumerations by name give the views of the OTLP export, and the same verdicts."""
    assert_reads_as_the_run(data, name)


def with_result(text: str) -> SpanView:
    return replace(RUN[0], attributes={**RUN[0].attributes, "gen_ai.tool.call.result": text})


def result_of(data: object, name: str = "") -> tuple[Capture, object]:
    (view,), _ = read(data, name)
    record = dialects.read(view).record
    assert isinstance(record, ToolCall)
    return record.result.capture, record.result.value


CUTS = {
    "text": CUT,
    "text of two bytes a character": "é" * 1024,
    "a character cut through": "x" * 2047 + "\N{REPLACEMENT CHARACTER}",
    "a character of four bytes cut through": "x" * 2045 + "\N{REPLACEMENT CHARACTER}" * 3,
    "a list": '["' + "x" * 2046,
    "JSON that is whole by chance": '["' + "x" * 2044 + '"]',
}


class TestCutAttributes:
    @pytest.mark.parametrize("text", CUTS.values(), ids=CUTS.keys())
    def test_a_value_as_long_as_the_limit_is_truncated(self, text: str) -> None:
        """A result that reaches the limit is known in part, so it can equal nothing."""
        assert result_of(tempo([with_result(text)])) == (Capture.TRUNCATED, text)
        assert result_of(tempo_v2([with_result(text)])) == (Capture.TRUNCATED, text)

    @pytest.mark.parametrize("text", ["x" * 2047, "x" * 2049, "é" * 1023, "x" * 2040 + "\N{REPLACEMENT CHARACTER}"])
    def test_any_other_length_is_not(self, text: str) -> None:
        """Shorter values are whole; longer ones show that the limit was set higher."""
        assert result_of(tempo([with_result(text)])) == (Capture.CAPTURED, text)

    def test_elsewhere_the_length_means_nothing(self) -> None:
        """The same span from a collector's file has its result, unless a person says that it is Tempo's."""
        data = otlp([with_result(CUT)])
        assert result_of(data) == (Capture.CAPTURED, CUT)
        assert result_of(data, "otlp") == (Capture.CAPTURED, CUT)
        assert result_of(data, "tempo") == (Capture.TRUNCATED, CUT)

    def test_calls_that_were_cut_are_not_the_same(self) -> None:
        """Ten calls whose arguments and results were cut at the same place may all have differed."""
        cut = {"gen_ai.tool.call.arguments": '{"command": "' + "x" * 2035, "gen_ai.tool.call.result": CUT}
        loop = [replace(view, attributes={**view.attributes, **cut}) for view in RUN[4:14]]
        (lane,) = verdicts(read(tempo(loop))[0]).conversations
        assert {detail.reason for detail in lane.details} == {"content_not_captured"}
        assert lane.stalls == ()

    def test_values_of_events_are_marked_too(self) -> None:
        """What an exception says may be cut as well."""
        failed = RUN[3]
        event = replace(failed.events[0], attributes={"exception.message": CUT})
        (view,), _ = read(tempo([replace(failed, events=[event])]))
        assert isinstance(view.events[0].attributes["exception.message"], CutText)

    def test_a_cut_turn_says_nothing_that_can_be_repeated(self) -> None:
        """What the model said is not taken from text that was cut."""
        said = {"openinference.span.kind": "LLM", "output.value": CUT}
        flat = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.content": CUT}
        for attributes in (said, flat):
            (view,), _ = read(tempo([replace(RUN[-2], attributes=attributes, events=[])]))
            record = dialects.read(view).record
            assert isinstance(record, ModelCall)
            assert record.text == ""


def test_protobuf_is_read_as_tempo_when_asked() -> None:
    """The answer in protobuf is that of OTLP; only a person can say where it came from."""
    data = TracesData()
    span = data.resource_spans.add().scope_spans.add().spans.add(trace_id=b"1" * 16, span_id=b"2" * 8, name="n")
    span.attributes.add(key="gen_ai.operation.name").value.string_value = "execute_tool"
    span.attributes.add(key="gen_ai.tool.call.result").value.string_value = CUT
    message = data.SerializeToString()
    assert result_of(message) == (Capture.CAPTURED, CUT)
    assert result_of(message, "tempo") == (Capture.TRUNCATED, CUT)
    assert read(message, "jaeger") == ([], ["not Jaeger JSON: OTLP protobuf"])
