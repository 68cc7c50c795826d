"""Rules of `processor`: what it writes beside verdicts, and what settings leave out."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from types import ModuleType

import pytest
from doubles import CONFIG, Scripted, logs, stall_processor
from opentelemetry import baggage, context
from opentelemetry.sdk.trace import (
    ReadableSpan,
    SpanLimits,
    TracerProvider,
)

from otel_stall.config import StallConfig
from otel_stall.processor import StallSpanProcessor
from otel_stall.testing import RecordedProvider


class TestStamps:
    def ids(self, recorded: RecordedProvider) -> dict[str, object]:
        return {span.name: (span.attributes or {}).get("gen_ai.conversation.id") for span in recorded.spans()}

    def test_every_span_below(self) -> None:
        """Spans of any kind get the id of what is around them, at their start, where they lack one."""
        recorded = RecordedProvider(StallSpanProcessor(CONFIG))
        with recorded.agent("coder", conversation="c"), recorded.span("POST"), recorded.span("SELECT") as inner:
            assert (inner.attributes or {})["gen_ai.conversation.id"] == "c"
        with recorded.span("elsewhere"):
            pass
        assert self.ids(recorded) == {"SELECT": "c", "POST": "c", "invoke_agent coder": "c", "elsewhere": None}

    def test_baggage_and_run(self) -> None:
        """What the baggage carries is stamped too, and the run with it."""
        recorded = RecordedProvider(StallSpanProcessor(CONFIG))
        token = context.attach(baggage.set_baggage("session.id", "c", baggage.set_baggage("stall.run.id", "r")))
        with recorded.span("POST"):
            pass
        context.detach(token)
        (span,) = recorded.spans()
        assert span.attributes == {"gen_ai.conversation.id": "c", "stall.run.id": "r"}

    @pytest.mark.parametrize("name", ["gen_ai.conversation.id", "session.id", "langfuse.session.id"])
    def test_a_span_that_says_one(self, name: str) -> None:
        """Who names a conversation, by whatever name, is left alone."""
        recorded = RecordedProvider(StallSpanProcessor(CONFIG))
        with recorded.agent("coder", conversation="c"), recorded.span("POST", {name: "own"}):
            pass
        assert recorded.spans()[0].attributes == {name: "own"}

    @pytest.mark.parametrize("values", [{"stamp": False}, {"mode": "events_only"}])
    def test_switched_off(self, values: dict[str, object]) -> None:
        """With the switch off, or where no span may be touched, none is stamped."""
        recorded = RecordedProvider(StallSpanProcessor(StallConfig.create(values)))
        with recorded.agent("coder", conversation="c"), recorded.span("POST"):
            pass
        assert self.ids(recorded)["POST"] is None

    def test_beside_langfuse(self) -> None:
        """Where langfuse is loaded only an explicit setting stamps, for its exporter takes what has such an id."""
        name = "langfuse"
        sys.modules[name] = ModuleType(name)
        try:
            seen = {}
            for stamp in (None, True):
                recorded = RecordedProvider(StallSpanProcessor(StallConfig(stamp=stamp)))
                with recorded.agent("coder", conversation="c"), recorded.span("POST"):
                    pass
                seen[stamp] = self.ids(recorded)["POST"]
        finally:
            del sys.modules[name]
        assert seen == {None: None, True: "c"}

    def test_a_full_span(self) -> None:
        """A span without room keeps what it has: the SDK would drop its oldest attribute."""
        limits = SpanLimits(max_span_attributes=1)
        provider = TracerProvider(span_limits=limits, shutdown_on_exit=False)
        recorded = RecordedProvider(StallSpanProcessor(CONFIG), provider=provider)
        token = context.attach(baggage.set_baggage("session.id", "c"))
        with recorded.span("POST", {"http.route": "/"}):
            pass
        context.detach(token)
        assert [(span.attributes, span.dropped_attributes) for span in recorded.spans()] == [({"http.route": "/"}, 0)]

    def test_a_stamp_is_no_word_of_the_host(self) -> None:
        """A session that the emitter names after the start wins over the stamp, as it would without stamps."""
        monitor = Scripted()
        recorded = RecordedProvider(stall_processor(monitor))
        with recorded.agent("coder", conversation="outer"):
            recorded.tool("read_file")
            recorded.tool("read_file", attributes={"session.id": "own"})
        assert [seen.conversation for seen in monitor.seen] == ["outer", "own"]

    def test_a_cut_stamp(self) -> None:
        """Where the SDK cuts values, the cut stamp is no other conversation."""
        limits = SpanLimits(max_attribute_length=16)
        monitor = Scripted()
        provider = TracerProvider(span_limits=limits, shutdown_on_exit=False)
        recorded = RecordedProvider(stall_processor(monitor), provider=provider)
        token = context.attach(baggage.set_baggage("session.id", "a-long-conversation"))
        recorded.tool("read_file")
        context.detach(token)
        assert [seen.conversation for seen in monitor.seen] == ["a-long-conversation"]
        assert (recorded.spans()[0].attributes or {})["gen_ai.conversation.id"] == "a-long-conversat"

    def test_bounded(self) -> None:
        """Spans that never end are forgotten at the bound of open spans."""
        processor = StallSpanProcessor(StallConfig.create({"bounds": {"open_spans": 10}}))
        recorded = RecordedProvider(processor)
        token = context.attach(baggage.set_baggage("session.id", "c"))
        held = [recorded.tracer.start_span("POST") for _ in range(50)]
        context.detach(token)
        assert (len(held), len(processor._stamped)) == (50, 10)


class TestSummary:
    def test_on_the_open_span_of_the_agent(self) -> None:
        """After each step the agent's span says how this invocation fares; a sub-agent's steps are its own."""
        recorded = RecordedProvider(StallSpanProcessor(CONFIG))
        with recorded.agent("lead", conversation="c") as lead:
            recorded.tool("bash", {"command": "ls"}, "a.py")
            assert (lead.attributes or {})["stall.steps"] == 1
            with recorded.agent("coder"):
                for _ in range(4):
                    recorded.tool("read_file", {"path": "a.py"}, "text")
        told = {
            span.name: {name: value for name, value in (span.attributes or {}).items() if name.startswith("stall.")}
            for span in recorded.spans()
            if span.name.startswith("invoke_agent")
        }
        assert told == {
            "invoke_agent lead": {"stall.detected": False, "stall.milestone.count": 0, "stall.steps": 1},
            "invoke_agent coder": {
                "stall.detected": True,
                "stall.milestone.count": 0,
                "stall.steps": 4,
                "stall.kind": "loop",
                "stall.level": "notice",
            },
        }

    def test_each_invocation_by_itself(self) -> None:
        """A lane goes on over two invocations; each span tells of its own steps and stalls."""
        recorded = RecordedProvider(StallSpanProcessor(CONFIG))
        for texts in (["same"] * 4, ["new", "newer"]):
            with recorded.agent("coder", conversation="c"):
                for number, text in enumerate(texts):
                    recorded.tool("read_file", {"path": f"{text}{number if text != 'same' else ''}"}, text)
        agents = [span.attributes or {} for span in recorded.spans() if span.name == "invoke_agent coder"]
        assert [(held["stall.steps"], held["stall.detected"]) for held in agents] == [(4, True), (2, False)]
        assert recorded.verdicts()[-1]["stall.step"] == 6

    def test_never_after_its_end(self, caplog: pytest.LogCaptureFixture) -> None:
        """A step that outlives its agent changes nothing, and the SDK has nothing to warn of."""
        recorded = RecordedProvider(StallSpanProcessor(CONFIG))
        with recorded.agent("coder", conversation="c"):
            late = recorded.tracer.start_span("execute_tool", attributes={"gen_ai.operation.name": "execute_tool"})
        late.end()
        agent = next(span for span in recorded.spans() if span.name == "invoke_agent coder")
        assert "stall.steps" not in (agent.attributes or {})
        assert caplog.messages == []

    @pytest.mark.parametrize("values", [{"agent_summary": False}, {"mode": "events_only"}])
    def test_switched_off(self, values: dict[str, object]) -> None:
        """With the switch off, or where no span may be touched, the agent's span stays as it is."""
        recorded = RecordedProvider(StallSpanProcessor(StallConfig.create(values)))
        with recorded.agent("coder", conversation="c") as agent:
            recorded.tool("read_file")
        assert [name for name in agent.attributes or {} if name.startswith("stall.")] == []

    def test_the_span_is_held_weakly(self) -> None:
        """A span that the host drops without ending it is gone."""
        recorded = RecordedProvider(StallSpanProcessor(CONFIG))
        span = recorded.tracer.start_span("invoke_agent coder", attributes={"gen_ai.agent.name": "coder"})
        held = weakref.ref(span)
        del span
        gc.collect()
        assert held() is None

    def test_threads(self) -> None:
        """Steps that end on many threads at once are all counted."""
        recorded = RecordedProvider(StallSpanProcessor(CONFIG))
        with recorded.agent("coder", conversation="c") as agent:
            carried = context.get_current()

            def run() -> None:
                token = context.attach(carried)
                for _ in range(50):
                    recorded.tool("read_file", {"path": "a"}, "text")
                context.detach(token)

            threads = [threading.Thread(target=run) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert (agent.attributes or {})["stall.steps"] == 200


class TestModes:
    def run(self, **values: object) -> tuple[list[ReadableSpan], list[str | None]]:
        """Return the spans of an agent that reads one file four times, and the names of the logged events."""
        with logs() as (provider, exporter):
            processor = StallSpanProcessor(StallConfig.create(values), logger_provider=provider)
            recorded = RecordedProvider(processor)
            with recorded.agent("coder", conversation="c"):
                for _ in range(4):
                    recorded.tool("read_file", {"path": "a"}, "text")
            assert processor.errors == 0
            return recorded.spans(), [each.log_record.event_name for each in exporter.get_finished_logs()]

    def test_events_only(self) -> None:
        """No span differs from one that was never judged, and the events are logged all the same."""
        spans, events = self.run(mode="events_only")
        plain, _ = self.run(enabled=False)
        assert [span.to_json() for span in spans] == [span.to_json() for span in plain]
        assert events == ["stall.started"]

    def test_minimal(self) -> None:
        """Five attributes outside a stall; inside one all of them, and the event on the span."""
        spans, events = self.run(preset="minimal", stamp=False)
        full, _ = self.run(stamp=False)
        held = [[name for name in span.attributes or {} if name.startswith("stall.")] for span in spans[:4]]
        five = ["stall.step", "stall.gain.type", "stall.steps_since_milestone", "stall.steps_since_gain"]
        assert held[:3] == [[*five, "stall.detected"]] * 3
        assert spans[3].attributes == full[3].attributes
        assert ([event.name for event in spans[3].events], events) == (["stall.started"], ["stall.started"])


class TestContent:
    def test_missing_results_are_said_once(self, caplog: pytest.LogCaptureFixture) -> None:
        """An instrumentation that records no results is named after five calls; one that does is not."""
        recorded = RecordedProvider(StallSpanProcessor(CONFIG))
        for conversation, result in (("a", "text"), ("b", None), ("c", None)):
            with recorded.agent("coder", conversation=conversation):
                for _ in range(6):
                    recorded.tool("read_file", {"path": "a"}, result)
        (message,) = caplog.messages
        assert message.startswith("the first 5 tool calls of a conversation carry no results")
        assert "otel_stall.testing leaves content out" in message
