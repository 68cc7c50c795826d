"""Rules of `processor`: verdicts reach exported spans."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType, ModuleType

import pytest
from doubles import CONFIG, STARTED, Refusing, Scripted, Seen, logs, stall_processor, steps_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import (
    ConcurrentMultiSpanProcessor,
    ReadableSpan,
    SpanProcessor,
    SynchronousMultiSpanProcessor,
    TracerProvider,
)
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
)
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    Decision,
    Sampler,
    SamplingResult,
    StaticSampler,
)
from opentelemetry.util.types import AnyValue

from otel_stall.analysis import analyze
from otel_stall.calls import Reading
from otel_stall.emission import attributes_of
from otel_stall.processor import StallSpanProcessor
from otel_stall.sampler import RecordAllSampler
from otel_stall.spans import from_readable_span
from otel_stall.testing import RecordedProvider
from otel_stall.verdicts import Judged


class TestAnnotation:
    def test_a_tool_span_carries_the_verdict(self) -> None:
        """The exported tool span has the host's attributes as they were and the verdict after them."""
        monitor = Scripted()
        recorded = RecordedProvider(stall_processor(monitor))
        recorded.tool("read_file", {"path": "a"}, "text")
        (span,) = recorded.spans()
        (judged,) = [monitor.judged(Reading("", "", "", "", 0, 0), "", 1)]
        assert list((span.attributes or {}).items()) == [
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "read_file"),
            ("gen_ai.tool.call.arguments", '{"path": "a"}'),
            ("gen_ai.tool.call.result", "text"),
            *attributes_of(judged).items(),
        ]

    @pytest.mark.parametrize("kind", [SimpleSpanProcessor, BatchSpanProcessor])
    @pytest.mark.parametrize("first", [True, False])
    def test_place_among_the_processors(
        self, kind: type[SimpleSpanProcessor] | type[BatchSpanProcessor], first: bool
    ) -> None:
        """Simple and batch processors export the verdict wherever they stand."""
        exporter = InMemorySpanExporter()
        processors = [stall_processor(), kind(exporter)]
        recorded = RecordedProvider(*(processors if first else reversed(processors)))
        with recorded.span("root"):
            for _ in range(3):
                recorded.tool("read_file")
        recorded.provider.shutdown()
        assert steps_of(exporter) == [1, 2, 3, None]

    def test_concurrent_processors(self) -> None:
        """Under the SDK's concurrent processor, whose hooks run on other threads, the verdict is exported."""
        exporter = InMemorySpanExporter()
        concurrent = ConcurrentMultiSpanProcessor()
        recorded = RecordedProvider(provider=TracerProvider(active_span_processor=concurrent, shutdown_on_exit=False))
        for processor in (SimpleSpanProcessor(exporter), stall_processor()):
            recorded.provider.add_span_processor(processor)
        with recorded.span("root"):
            for _ in range(3):
                recorded.tool("read_file")
        recorded.provider.shutdown()
        assert steps_of(exporter) == [1, 2, 3, None]

    def test_a_wrapper_that_passes_on_no_ending(self) -> None:
        """Where only `on_end` arrives, processors after ours still export the verdict."""

        class Wrapper(SpanProcessor):
            def __init__(self, inner: SpanProcessor) -> None:
                self.inner = inner

            def on_end(self, span: ReadableSpan) -> None:
                self.inner.on_end(span)

        recorded = RecordedProvider(Wrapper(stall_processor()))
        recorded.tool("read_file")
        assert steps_of(recorded.exporter) == [1]

    def test_other_spans_pass_untouched(self) -> None:
        """A span that is no tool call is exported with exactly what the host wrote."""
        monitor = Scripted()
        recorded = RecordedProvider(stall_processor(monitor))
        with recorded.span("GET /", {"http.route": "/"}) as span:
            held = span._attributes
        (exported,) = recorded.spans()
        assert exported._attributes is held
        assert (exported.attributes, monitor.seen) == ({"http.route": "/"}, [])

    def test_a_judged_span_is_left_alone(self) -> None:
        """A span that already carries a step, as from a second processor, keeps it and is not counted."""
        monitor = Scripted()
        recorded = RecordedProvider(stall_processor(), stall_processor(monitor))
        recorded.tool("read_file", attributes={"stall.step": 7})
        recorded.tool("read_file")
        assert (steps_of(recorded.exporter), monitor.seen) == ([7, 1], [])

    # The first text that Hypothesis draws builds its tables, which takes over a second on a busy machine.
    @settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        st.dictionaries(
            st.one_of(
                st.text(min_size=1),
                st.sampled_from(
                    [
                        "gen_ai.tool.call.result",
                        "gen_ai.tool.call.arguments",
                        "input.value",
                        "output.value",
                        "session.id",
                        "openinference.span.kind",
                        "error.type",
                        "gen_ai.agent.name",
                    ]
                ),
            ),
            st.one_of(
                st.booleans(),
                st.integers(-(2**63), 2**63 - 1),
                st.floats(allow_nan=False),
                st.text(),
                st.sampled_from(['{"a": [1, {"b": NaN}]}', '{"cut', "\ud800", "[" * 500]),
                st.lists(st.text(), max_size=3),
            ),
            max_size=6,
        )
    )
    def test_foreign_attributes_stay_equal(self, foreign: dict[str, AnyValue]) -> None:
        """Whatever a tool span holds, it comes out as without us, and nothing fails inside."""
        processor = stall_processor()
        recorded, plain = RecordedProvider(processor), RecordedProvider()
        for provider in (recorded, plain):
            provider.tool("read_file", attributes=foreign)
        (span,), (reference,) = recorded.spans(), plain.spans()
        kept = [(key, value) for key, value in (span.attributes or {}).items() if not key.startswith("stall.")]
        expected = (reference.attributes or {}).items()
        assert kept == [(key, value) for key, value in expected if not key.startswith("stall.")]
        assert processor.errors == 0


class TestWhose:
    def test_agent_conversation_and_lane(self) -> None:
        """Steps are told apart by the agent and the conversation of the spans around them."""
        monitor = Scripted()
        recorded = RecordedProvider(stall_processor(monitor))
        with recorded.agent("lead", conversation="c"):
            recorded.tool("read_file")
            with recorded.agent("coder"):
                recorded.tool("write_file")
        assert monitor.seen == [
            Seen("read_file", "c", "lead", "lead"),
            Seen("write_file", "c", "lead/coder", "coder"),
        ]

    def test_a_name_that_comes_after_the_start(self) -> None:
        """What an emitter writes on the agent's span while it is open counts for the steps that follow."""
        monitor = Scripted()
        recorded = RecordedProvider(stall_processor(monitor))
        with recorded.span("root") as root:
            recorded.tool("one")
            root.set_attributes(
                {
                    "gen_ai.operation.name": "invoke_agent",
                    "gen_ai.agent.name": "late",
                    "gen_ai.conversation.id": "c",
                }
            )
            recorded.tool("two")
        assert monitor.seen == [Seen("one", f"{1:032x}", "main", ""), Seen("two", "c", "late", "late")]
        assert monitor.renamed == [(f"{1:032x}", "c")]

    def test_an_id_at_the_end_renames(self) -> None:
        """The id that the root ends with reaches the monitor as a new name of the provisional conversation."""
        monitor = Scripted()
        recorded = RecordedProvider(stall_processor(monitor))
        with recorded.agent("lead") as root:
            recorded.tool("read_file")
            root.set_attribute("gen_ai.conversation.id", "c")
        assert monitor.renamed == [(f"{1:032x}", "c")]

    def test_baggage(self) -> None:
        """Conversation and run travel in the baggage of the context a span starts in."""
        monitor = Scripted()
        recorded = RecordedProvider(stall_processor(monitor))
        carrying = baggage.set_baggage("session.id", "c", baggage.set_baggage("stall.run.id", "r"))
        token = context.attach(carrying)
        recorded.tool("read_file")
        context.detach(token)
        assert monitor.seen == [Seen("read_file", "c", "main", "", run_id="r")]

    @pytest.mark.parametrize("nested", [False, True])
    def test_the_context_is_not_passed(self, nested: bool, caplog: pytest.LogCaptureFixture) -> None:
        """Where the SDK tells of starts on other threads, the log says once what is not seen then."""
        concurrent = ConcurrentMultiSpanProcessor()
        whole: SpanProcessor = concurrent
        if nested:
            whole = SynchronousMultiSpanProcessor()  # type: ignore[no-untyped-call]  # so the SDK has it
            whole.add_span_processor(concurrent)
        recorded = RecordedProvider(
            provider=TracerProvider(
                active_span_processor=whole,  # type: ignore[arg-type]  # either kind
                shutdown_on_exit=False,
            )
        )
        monitor = Scripted()
        concurrent.add_span_processor(stall_processor(monitor))
        token = context.attach(baggage.set_baggage("session.id", "c"))
        for _ in range(2):
            recorded.tool("read_file")
        context.detach(token)
        recorded.provider.shutdown()
        assert "c" not in [seen.conversation for seen in monitor.seen]
        assert [record.getMessage()[:28] for record in caplog.records] == ["ConcurrentMultiSpanProcessor"]

    def test_where_the_context_is_passed_nothing_is_said(self, caplog: pytest.LogCaptureFixture) -> None:
        """As with the SDK's default."""
        RecordedProvider(stall_processor(Scripted())).tool("read_file")
        assert caplog.records == []

    def test_a_conversation_kept_in_the_context_alone(self) -> None:
        """The id that the GenAI instrumentations keep in the context is found where their package is loaded."""
        monitor = Scripted()
        recorded = RecordedProvider(stall_processor(monitor))
        name = "opentelemetry.util.genai._conversation_context"
        ambient = ModuleType(name)
        ambient.get_ambient_conversation_id = lambda _context=None: "c"  # type: ignore[attr-defined] # a double
        before = sys.modules.get(name)
        sys.modules[name] = ambient
        try:
            recorded.tool("read_file")
        finally:
            del sys.modules[name]
            if before is not None:
                sys.modules[name] = before
        assert monitor.seen == [Seen("read_file", "c", "main", "")]

    def test_asyncio_tasks(self) -> None:
        """Agents that run as tasks of one loop each have their own lane, whatever the order of their steps."""
        monitor = Scripted()
        recorded = RecordedProvider(stall_processor(monitor))

        async def run(name: str) -> None:
            with recorded.agent(name):
                for _ in range(3):
                    await asyncio.sleep(0)
                    recorded.tool("read_file")

        async def both() -> None:
            with recorded.agent("lead", conversation="c"):
                await asyncio.gather(run("a"), run("b"))

        asyncio.run(both())
        assert monitor.counts == {("c", "lead/a"): 3, ("c", "lead/b"): 3}

    def test_threads(self) -> None:
        """Conversations on many threads are counted exactly."""
        monitor = Scripted()
        processor = stall_processor(monitor)
        recorded = RecordedProvider(processor)

        def run(conversation: str) -> None:
            with recorded.agent(conversation=conversation):
                for _ in range(50):
                    recorded.tool("read_file")

        threads = [threading.Thread(target=run, args=(str(n),)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = sorted((conversation, count) for (conversation, _), count in monitor.counts.items())
        assert found == [(str(n), 50) for n in range(4)]
        assert (processor.errors, processor.skipped) == (0, 0)

    @pytest.mark.parametrize("decision", [Decision.RECORD_ONLY, Decision.RECORD_AND_SAMPLE])
    def test_sampling(self, decision: Decision) -> None:
        """A span that is recorded and not sampled is judged like any other: nothing is missing here."""
        monitor = Scripted()
        provider = TracerProvider(sampler=StaticSampler(decision), shutdown_on_exit=False)
        recorded = RecordedProvider(stall_processor(monitor), provider=provider)
        with recorded.agent("coder"):
            recorded.tool("read_file")
        assert [seen.sampled for seen in monitor.seen] == [True]

    def test_below_an_unsampled_parent(self) -> None:
        """A sampled tool span under a parent that is not counts as unsampled: others of its kind are missing."""

        class ToolsOnly(Sampler):
            def should_sample(
                self,
                parent_context: context.Context | None,
                trace_id: int,
                name: str,
                kind: trace.SpanKind | None = None,
                attributes: Mapping[str, AnyValue] | None = None,
                links: Sequence[trace.Link] | None = None,
                trace_state: trace.TraceState | None = None,
            ) -> SamplingResult:
                tool = name.startswith("execute_tool")
                return SamplingResult(Decision.RECORD_AND_SAMPLE if tool else Decision.DROP, attributes)

            def get_description(self) -> str:
                return "tools only"

        monitor = Scripted()
        provider = TracerProvider(sampler=ToolsOnly(), shutdown_on_exit=False)
        recorded = RecordedProvider(stall_processor(monitor), provider=provider)
        with trace.use_span(recorded.tracer.start_span("root")):
            recorded.tool("read_file")
        assert [seen.sampled for seen in monitor.seen] == [False]

    def test_recorded_and_not_exported(self) -> None:
        """Under `RecordAllSampler` all steps are seen: nothing is partial, and levels go as far as they go."""
        memory = InMemorySpanExporter()
        processor = StallSpanProcessor(CONFIG)
        provider = TracerProvider(sampler=RecordAllSampler(ALWAYS_OFF), shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(memory))
        recorded = RecordedProvider(processor, provider=provider)
        with recorded.agent("coder", conversation="c"):
            for _ in range(8):
                recorded.tool("read_file", {"path": "a"}, "text")
        provider.shutdown()
        assert memory.get_finished_spans() == ()
        assert [lane.partial for _, lane in processor.monitor.lanes] == [False]
        assert [lane.open is not None for _, lane in processor.monitor.lanes] == [True]


class TestEvents:
    @pytest.mark.parametrize("mirrored", [True, False])
    def test_logged_and_mirrored(self, mirrored: bool) -> None:
        """A change is logged with the ids of the tool span, and is an event of it unless switched off."""
        config = CONFIG.model_copy(update={"span_events": mirrored})
        with logs() as (provider, exporter):
            processor = StallSpanProcessor(config, monitor=Scripted(STARTED), logger_provider=provider)
            recorded = RecordedProvider(processor)
            recorded.tool("read_file")
            (record,) = [each.log_record for each in exporter.get_finished_logs()]
        (span,) = recorded.spans()
        own = span.get_span_context()
        assert own is not None
        assert (record.event_name, record.trace_id, record.span_id, record.timestamp) == (
            "stall.started",
            own.trace_id,
            own.span_id,
            span.end_time,
        )
        assert [event.name for event in span.events] == (["stall.started"] if mirrored else [])

    def test_a_span_that_takes_nothing(self, caplog: pytest.LogCaptureFixture) -> None:
        """Where a span refuses annotation this is said once and counted, and events still go out."""

        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read_file"}
        with logs() as (provider, exporter):
            processor = StallSpanProcessor(CONFIG, monitor=Scripted(STARTED), logger_provider=provider)
            for number in (1, 2):
                own = trace.SpanContext(1, number, is_remote=False)
                processor.on_end(Refusing("execute_tool", context=own, attributes=attributes))
            names = [each.log_record.event_name for each in exporter.get_finished_logs()]
        assert names == ["stall.started"] * 2
        assert (processor.unannotated, processor.errors, len(caplog.records)) == (2, 0, 1)


class TestEndToEnd:
    """With the real monitor: a run that gets stuck, from its spans to what is exported."""

    def run(self, recorded: RecordedProvider) -> None:
        with recorded.agent("coder", conversation="c"):
            recorded.chat("I look at it.")
            recorded.tool("bash", {"command": "pytest -q"}, "FAILED test_a.py::test_a - assert 1 == 2\n1 failed")
            recorded.tool("write_file", {"path": "a.py", "content": "x = 2"}, "written")
            recorded.tool("bash", {"command": "pytest -q"}, "1 passed")
            for number in range(5):
                recorded.tool("read_file", {"path": "a.py"}, "x = 2")
                recorded.tool("grep", {"pattern": "secret"}, "no match" if number else "a.py:1: x = 2")
            recorded.chat("Let me think.", {"gen_ai.conversation.compacted": True})
            recorded.tool("write_file", {"path": "b.py", "content": "y = 3"}, "written")

    def test_events_tell_the_story(self) -> None:
        """The spans of a run that got stuck and went on carry its milestone, stall and compaction, in this order."""
        processor = StallSpanProcessor(CONFIG)
        recorded = RecordedProvider(processor)
        self.run(recorded)
        events = [(event.name, span.name) for span in recorded.spans() for event in span.events]
        # Where exactly a stall opens and rises is for the tests of the rules to say.
        assert [name for name, _ in events if name != "stall.escalated"] == [
            "stall.milestone_reached",
            "stall.started",
            "stall.context_compacted",
            "stall.ended",
        ]
        assert [span for name, span in events if name in ("stall.context_compacted", "stall.ended")] == [
            "chat",
            "execute_tool write_file",
        ]
        assert (processor.errors, processor.skipped, processor.unannotated) == (0, 0, 0)

    def test_live_and_offline_agree(self) -> None:
        """Analysing the exported spans, verdicts and events included, gives the verdicts that are on them."""
        recorded = RecordedProvider(StallSpanProcessor(CONFIG))
        self.run(recorded)
        offline: list[dict[str, object]] = []

        def take(judged: Judged, _end_ns: int) -> None:
            if written := attributes_of(judged):
                offline.append({k: tuple(v) if isinstance(v, list) else v for k, v in written.items()})

        analyze(map(from_readable_span, recorded.spans()), CONFIG, each=take)
        assert recorded.verdicts() == offline
        assert len(offline) == 14

    def test_no_content_is_kept(self) -> None:
        """Once a span has ended nothing that the processor holds contains its arguments or its result."""
        processor = StallSpanProcessor(CONFIG)
        recorded = RecordedProvider(processor)
        self.run(recorded)
        recorded.tool("bash", {"command": "echo secret-argument"}, "secret-result\n" * 50, error="TimeoutError")
        recorded.exporter.clear()
        held = [text for text in strings_held(processor) if "secret" in text]
        assert held == []


def strings_held(root: object) -> Iterator[str]:
    """Yield every text reachable from a value through data, without going into modules, classes and code."""
    seen: set[int] = set()
    left = [root]
    while left:
        each = left.pop()
        if id(each) in seen or isinstance(each, (ModuleType, FunctionType, type)):
            continue
        seen.add(id(each))
        if isinstance(each, (str, bytes)):
            yield str(each)
        left.extend(gc.get_referents(each))
