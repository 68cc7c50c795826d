"""One request in, one answer out: what is forwarded, when it is acknowledged, and what a second delivery does."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from downstreams import Kept, assembled_gateway, attributes, records_of, run, spans_of, traces

from otel_stall.gateway.answers import Answer, Code, Encoding, Request
from otel_stall.otlp import Signal

UNAVAILABLE = Answer(Code.UNAVAILABLE, retry_after=1.0)


def _stalls(kept: Kept) -> list[dict[str, Any]]:
    return [attributes(span) for span in spans_of(kept.of(Signal.TRACES)) if span.name.startswith("execute_tool")]


def test_what_holds_nothing_of_an_agent_is_forwarded_as_the_bytes_that_came() -> None:
    """A request without a verdict passes byte for byte, with fields that nobody here knows."""
    unknown = bytes.fromhex("f2ff0103616263")  # field 4094 with the text "abc"
    request = traces(run()[-1:])
    request = Request(request.signal, request.body + unknown)
    kept = Kept()
    with assembled_gateway(kept) as parts:
        assert parts.gateway.handle(request).ok
    assert kept.of(Signal.TRACES)[0].body == request.body


def test_an_annotated_request_keeps_the_fields_that_nobody_here_knows() -> None:
    """Unknown fields of a span survive its annotation."""
    request = traces(run(steps=1)[:1])
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    message = TracesData.FromString(request.body)
    span = message.resource_spans[0].scope_spans[0].spans[0]
    span.MergeFromString(bytes.fromhex("f2ff0103616263"))
    kept = Kept()
    with assembled_gateway(kept) as parts:
        assert parts.gateway.handle(Request(Signal.TRACES, message.SerializeToString())).ok
    (arrived,) = kept.of(Signal.TRACES)
    assert b"\xf2\xff\x01\x03abc" in arrived.body
    assert _stalls(kept)[0]["stall.step"] == 1


def test_a_request_is_acknowledged_only_when_the_downstream_took_it() -> None:
    """A downstream that asks for a retry is passed on as such, with its delay."""
    kept = Kept(UNAVAILABLE)
    with assembled_gateway(kept, events=False) as parts:
        answer = parts.gateway.handle(traces(run()))
    assert (answer.code, answer.retry_after) == (Code.UNAVAILABLE, 1.0)
    assert not kept.of(Signal.TRACES)


def test_a_request_that_comes_again_changes_no_verdict_and_carries_the_same() -> None:
    """Redelivered after a failure, or after a success, spans get the attributes they had, and counts stand."""
    kept = Kept(UNAVAILABLE)
    spans = run(steps=12)
    with assembled_gateway(kept) as parts:
        assert not parts.gateway.handle(traces(spans[:6])).ok
        assert parts.gateway.handle(traces(spans[:6])).ok
        assert parts.gateway.handle(traces(spans[:6])).ok
        assert parts.gateway.handle(traces(spans[6:])).ok
    steps = [one["stall.step"] for one in _stalls(kept)]
    assert steps == [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    first, second = _stalls(kept)[:6], _stalls(kept)[6:12]
    assert first == second


def test_events_are_sent_once_though_the_request_came_twice() -> None:
    """What was told is not told again, whether the request itself failed or not."""
    kept = Kept()
    spans = run()
    with assembled_gateway(kept) as parts:
        for _ in range(3):
            parts.gateway.handle(traces(spans))
    assert [record.event_name for record in records_of(kept.requests)] == ["stall.started", "stall.escalated"]


def test_events_that_could_not_be_sent_go_out_with_the_next_delivery() -> None:
    """A downstream that takes no logs for now defers the request, and nothing is lost."""
    kept = Kept(UNAVAILABLE)
    with assembled_gateway(kept, mode="tap") as parts:
        assert parts.gateway.handle(traces(run())).retryable
        assert parts.gateway.handle(traces(run())).ok
    assert [record.event_name for record in records_of(kept.requests)] == ["stall.started", "stall.escalated"]


def test_a_downstream_without_logs_gets_traces_alone(caplog: pytest.LogCaptureFixture) -> None:
    """Where logs are not taken at all, that is said once and spans go on, their events on them."""
    kept = Kept(untaken=frozenset((Signal.LOGS, Signal.METRICS)))
    with assembled_gateway(kept) as parts:
        assert parts.gateway.handle(traces(run("c-1"))).ok
        assert parts.gateway.handle(traces(run("c-2"))).ok
    assert [event.name for span in spans_of(kept.requests) for event in span.events].count("stall.started") == 2
    assert [record.message for record in caplog.records].count("the downstream takes no logs: events are not sent") == 1


def test_a_tap_forwards_nothing_of_what_came() -> None:
    """A tap sends events, and spans only where copies are asked for."""
    kept = Kept()
    with assembled_gateway(kept, mode="tap") as parts:
        assert parts.gateway.handle(traces(run())).ok
        assert parts.gateway.handle(Request(Signal.METRICS, b"")).ok
        assert {request.signal for request in kept.requests} == {Signal.LOGS}


def test_copies_mark_each_step_inside_a_stall_and_hold_nothing_of_the_call() -> None:
    """A copy is a span of its own in the same trace, linked to the step, with what was judged alone."""
    kept = Kept()
    spans = run(steps=8)
    with assembled_gateway(kept, mode="tap", copies=True) as parts:
        parts.gateway.handle(traces(spans))
        parts.gateway.handle(traces(spans))
    copies = spans_of(kept.requests)
    originals = {span.context.span_id.to_bytes(8, "big"): span for span in spans}
    assert copies
    assert len({copy.span_id for copy in copies}) == len(copies)
    for copy in copies:
        original = originals[copy.links[0].span_id]
        assert copy.trace_id == original.context.trace_id.to_bytes(16, "big")
        assert copy.parent_span_id == original.parent.span_id.to_bytes(8, "big")
        assert attributes(copy)["stall.detected"] is True
        assert not [name for name in attributes(copy) if name.startswith("gen_ai.tool")]
        assert copy.span_id not in originals


def test_a_cold_start_ends_no_stall() -> None:
    """A gateway that never saw a stall begin says nothing of its end."""
    spans = run(steps=20)
    recorded = run("c-1", 1)
    kept = Kept()
    with assembled_gateway(kept) as parts:
        parts.gateway.handle(traces(spans[19:]))
        parts.gateway.handle(traces(recorded))
    assert not [record for record in records_of(kept.requests) if record.event_name == "stall.ended"]


def test_json_stays_json() -> None:
    """A request in JSON is annotated in JSON, and what holds no verdict passes as it came."""
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [_json_span(number) for number in range(1, 9)]}], "future": 1}]}
    plain = b'{ "resourceSpans": [] }'
    kept = Kept()
    with assembled_gateway(kept) as parts:
        assert parts.gateway.handle(Request(Signal.TRACES, json.dumps(body).encode(), Encoding.JSON)).ok
        assert parts.gateway.handle(Request(Signal.TRACES, plain, Encoding.JSON)).ok
    first, second = kept.of(Signal.TRACES)
    assert second.body == plain
    group = json.loads(first.body)["resourceSpans"][0]
    written = [pair["key"] for pair in group["scopeSpans"][0]["spans"][-1]["attributes"]]
    assert group["future"] == 1
    assert "stall.step" in written


def _json_span(number: int) -> dict[str, object]:
    said = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "grep", "gen_ai.tool.call.result": "nothing"}
    return {
        "traceId": f"{1:032X}",
        "spanId": f"{number:016x}",
        "name": "execute_tool grep",
        "startTimeUnixNano": str(number * 10**9),
        "endTimeUnixNano": number * 10**9 + 5,
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in said.items()],
    }


@pytest.mark.parametrize("encoding", list(Encoding))
def test_a_span_without_valid_ids_is_rejected_alone(encoding: Encoding) -> None:
    """Partial success: the others go on, and the client learns how many did not."""
    spans = [_json_span(1), {**_json_span(2), "traceId": "00" * 16}, {**_json_span(3), "spanId": "abcd"}]
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()
    request = Request(Signal.TRACES, body, Encoding.JSON)
    if encoding is Encoding.PROTOBUF:
        from otel_stall.gateway.conversion import as_protobuf

        request = as_protobuf(request)
    kept = Kept()
    with assembled_gateway(kept) as parts:
        answer = parts.gateway.handle(request)
    assert (answer.code, answer.rejected) == (Code.OK, 2)
    assert "2 spans have no valid" in answer.message
    (arrived,) = kept.of(Signal.TRACES)
    assert (b"abcd" in arrived.body) is False


def test_what_the_downstream_rejected_is_told_to_the_client() -> None:
    """A partial success further down is one here."""
    kept = Kept(Answer(message="too old", rejected=3))
    with assembled_gateway(kept, events=False) as parts:
        answer = parts.gateway.handle(traces(run()))
    assert (answer.ok, answer.rejected, answer.message) == (True, 3, "too old")


def test_what_is_refused_with_its_annotations_goes_as_it_came() -> None:
    """A downstream with a limit that the verdicts exceed gets the spans without them: no span is lost to a verdict."""

    class Small(Kept):
        def send(self, request: Request) -> Answer:
            if request.signal is Signal.TRACES and len(request.body) > len(sent.body):
                return Answer(Code.INVALID_ARGUMENT, "too large")
            return super().send(request)

    sent, kept = traces(run()), Small()
    with assembled_gateway(kept) as parts:
        assert parts.gateway.handle(sent).ok
        assert not parts.gateway.handle(Request(Signal.TRACES, b"\xff")).ok
    assert [request.body for request in kept.of(Signal.TRACES)] == [sent.body]


def test_an_internal_error_forwards_the_request_untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Detection that fails costs verdicts, never spans."""

    def broken(*_: object) -> None:
        raise RuntimeError("a fault")

    kept = Kept()
    request = traces(run())
    with assembled_gateway(kept) as parts:
        monkeypatch.setattr(parts.judge.monitor, "judge", broken)
        assert parts.gateway.handle(request).ok
    assert kept.of(Signal.TRACES)[0].body == request.body


def test_too_much_at_once_is_asked_to_come_back() -> None:
    """Beyond the limit requests are deferred at once; nothing waits in a queue, and nothing is dropped."""
    entered, leave = threading.Event(), threading.Event()

    class Slow(Kept):
        def send(self, request: Request) -> Answer:
            entered.set()
            assert leave.wait(10)
            return super().send(request)

    kept = Slow(untaken=frozenset((Signal.METRICS,)))
    with assembled_gateway(kept, events=False, limits={"requests": 1, "retry_seconds": 3}) as parts:
        first = threading.Thread(target=parts.gateway.handle, args=[traces(run())])
        first.start()
        assert entered.wait(10)
        answer = parts.gateway.handle(traces(run()))
        leave.set()
        first.join()
        assert (answer.code, answer.retry_after) == (Code.UNAVAILABLE, 3)
        assert parts.gateway.handle(traces(run())).ok


def test_after_closing_nothing_is_taken() -> None:
    """A gateway that is about to end defers what still comes."""
    with assembled_gateway(Kept()) as parts:
        assert parts.gateway.admission.close(1)
        assert parts.gateway.handle(traces(run())).retryable
