"""Rules of `sdk`: spans of the SDK are read without copies and take annotations after their end."""

from __future__ import annotations

import string
from collections.abc import Mapping
from types import MappingProxyType

import pytest
from doubles import Refusing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.util.types import AnyValue

from otel_stall import sdk
from otel_stall.emission import Event, Severity, Value
from otel_stall.spans import from_readable_span

WRITTEN: dict[str, Value] = {"stall.step": 3, "stall.evidence": ["one", "two"]}
TAKEN = {"stall.step": 3, "stall.evidence": ("one", "two")}
STARTED = Event("stall.started", Severity.INFO, {"stall.kind": "loop", "stall.evidence": ["one"]})


class Annotating(SpanProcessor):
    """Annotates every span in one hook, and keeps what the hook was given."""

    def __init__(self, hook: str) -> None:
        self.hook = hook
        self.took: list[bool] = []
        self.before: list[Mapping[str, object]] = []

    def _on_ending(self, span: Span) -> None:
        if self.hook == "_on_ending":
            self.annotate(span)

    def on_end(self, span: ReadableSpan) -> None:
        if self.hook == "on_end":
            self.annotate(span)

    def annotate(self, span: ReadableSpan) -> None:
        self.before.append(span.attributes or {})
        self.took.append(sdk.annotate(span, WRITTEN, [STARTED]))


def exported(
    *processors: SpanProcessor, limits: SpanLimits | None = None, attributes: Mapping[str, AnyValue]
) -> ReadableSpan:
    """Return the one span that an exporter among the processors gets."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(span_limits=limits, shutdown_on_exit=False)
    for processor in (*processors, SimpleSpanProcessor(exporter)):
        provider.add_span_processor(processor)
    span = provider.get_tracer("tests").start_span("execute_tool", attributes=attributes)
    span.add_event("before", {"n": 1})
    span.end()
    provider.shutdown()
    (found,) = exporter.get_finished_spans()
    return found


class TestAnnotate:
    @pytest.mark.parametrize("hook", ["_on_ending", "on_end"])
    def test_an_ended_span_takes_attributes_and_events(self, hook: str) -> None:
        """The exporter behind sees ours after the host's, events at the span's end; the old mapping is as it was."""
        processor = Annotating(hook)
        span = exported(processor, attributes={"a": 1})
        assert processor.took == [True]
        assert processor.before == [{"a": 1}]
        assert span.attributes == {"a": 1} | TAKEN
        assert [(e.name, dict(e.attributes or {})) for e in span.events] == [
            ("before", {"n": 1}),
            ("stall.started", {"stall.kind": "loop", "stall.evidence": ("one",)}),
        ]
        assert span.events[-1].timestamp == span.end_time

    @pytest.mark.parametrize("kind", [SimpleSpanProcessor, BatchSpanProcessor])
    def test_an_exporter_in_front_gets_them_too(
        self, kind: type[SimpleSpanProcessor] | type[BatchSpanProcessor]
    ) -> None:
        """In `_on_ending` the place among the processors does not matter."""
        front = InMemorySpanExporter()
        exported(kind(front), Annotating("_on_ending"), attributes={"a": 1})
        assert [span.attributes for span in front.get_finished_spans()] == [{"a": 1} | TAKEN]

    def test_a_full_span_loses_nothing(self) -> None:
        """At the limits of the SDK nothing of the host's is dropped for ours, and its dropped counts stay."""
        limits = SpanLimits(max_span_attributes=2, max_events=1)
        span = exported(Annotating("_on_ending"), limits=limits, attributes={"a": 1, "b": 2, "c": 3})
        assert span.attributes == {"b": 2, "c": 3} | TAKEN
        assert [event.name for event in span.events] == ["before", "stall.started"]
        assert (span.dropped_attributes, span.dropped_events) == (1, 0)

    @pytest.mark.parametrize(("limit", "dropped"), [(None, 0), (20, 0), (2, 0)])
    def test_an_open_span_uses_the_public_way(self, limit: int | None, dropped: int) -> None:
        """A span that still records takes all, drops nothing, and goes on recording."""
        provider = TracerProvider(span_limits=SpanLimits(max_span_attributes=limit), shutdown_on_exit=False)
        span = provider.get_tracer("tests").start_span("open", attributes={"a": 1})
        assert isinstance(span, Span)
        assert sdk.annotate(span, WRITTEN, [STARTED])
        assert span.attributes == {"a": 1} | TAKEN
        assert span.dropped_attributes == dropped
        span.set_attribute("a", 2)
        assert (span.attributes or {})["a"] == 2
        span.end()

    @pytest.mark.parametrize("attributes", [None, {"a": 1}, MappingProxyType({"a": 1})])
    def test_copies_made_by_others(self, attributes: Mapping[str, AnyValue] | None) -> None:
        """Spans that a vendor's wrapper rebuilt from a plain mapping, or from none, take them too."""
        span = ReadableSpan("copy", attributes=attributes)
        assert sdk.annotate(span, WRITTEN, [STARTED])
        assert span.attributes == {**(attributes or {}), **TAKEN}
        assert [event.name for event in span.events] == ["stall.started"]

    def test_a_span_that_takes_nothing_says_so(self) -> None:
        """False, and no exception, where a span hides its attributes or refuses to be changed."""

        class Hiding(ReadableSpan):
            @property
            def attributes(self) -> Mapping[str, AnyValue]:
                return {"a": 1}

        spans = [Hiding("hiding"), Refusing("refusing", attributes={})]
        assert [sdk.annotate(span, WRITTEN) for span in spans] == [False, False]

    # The first text that Hypothesis draws builds its tables, which takes over a second on a busy machine.
    @settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        st.dictionaries(
            st.text(string.ascii_letters + "._", min_size=1).filter(lambda key: not key.startswith("stall")),
            st.one_of(
                st.booleans(),
                st.integers(-(2**63), 2**63 - 1),
                st.floats(allow_nan=False),
                st.text(),
                st.lists(st.text(), max_size=3),
            ),
            max_size=8,
        )
    )
    def test_foreign_attributes_stay_equal(self, foreign: dict[str, AnyValue]) -> None:
        """What the host wrote comes out as without us, in the same order, whatever it is."""
        span = exported(Annotating("_on_ending"), attributes=foreign)
        plain = exported(attributes=foreign)
        mine = [(key, value) for key, value in (span.attributes or {}).items() if key not in TAKEN]
        assert mine == list((plain.attributes or {}).items())


class TestWrite:
    def open_span(self, limits: SpanLimits | None = None) -> Span:
        provider = TracerProvider(span_limits=limits, shutdown_on_exit=False)
        span = provider.get_tracer("tests").start_span("open", attributes={"a": 1})
        assert isinstance(span, Span)
        return span

    def test_an_open_span(self) -> None:
        """An open span takes attributes, and new values of those it has."""
        span = self.open_span(SpanLimits(max_span_attributes=2))
        assert [sdk.write(span, {"stall.steps": number}) for number in (1, 2)] == [True, True]
        assert span.attributes == {"a": 1, "stall.steps": 2}

    def test_a_full_span(self) -> None:
        """A span without room for all takes none, and drops nothing."""
        span = self.open_span(SpanLimits(max_span_attributes=2))
        assert not sdk.write(span, {"stall.steps": 1, "stall.detected": False})
        assert (span.attributes, span.dropped_attributes) == ({"a": 1}, 0)

    def test_an_ended_span(self, caplog: pytest.LogCaptureFixture) -> None:
        """An ended span stays as it is, and the SDK has nothing to warn of."""
        span = self.open_span()
        span.end()
        assert not sdk.write(span, {"stall.steps": 1})
        assert (span.attributes, caplog.messages) == ({"a": 1}, [])


class TestProcessorsOf:
    def test_all_that_can_be_seen(self) -> None:
        """Those of the provider and those inside wrappers, one that holds itself only so deep."""

        class Wrapper(SpanProcessor):
            def __init__(self, processor: SpanProcessor | None = None) -> None:
                self.processor = processor or self

        inner, endless = Annotating("on_end"), Wrapper()
        provider = TracerProvider(shutdown_on_exit=False)
        for each in (Wrapper(inner), endless):
            provider.add_span_processor(each)
        found = list(sdk.processors_of(provider))
        assert inner in found
        assert endless in found
        assert len(found) < 20

    @pytest.mark.parametrize("holder", [None, object(), "text"])
    def test_what_holds_none(self, holder: object) -> None:
        """Anything may be asked."""
        assert list(sdk.processors_of(holder)) == []


class TestView:
    def test_is_that_of_the_public_properties(self) -> None:
        """The cheap view equals the one made from the public properties alone."""
        span = exported(attributes={"a": 1, "b": ["x", "y"]})
        assert sdk.view_of(span) == from_readable_span(span)

    def test_of_an_open_span_is_a_copy(self) -> None:
        """The view of an open span keeps what the span said when it was made."""
        span = TracerProvider(shutdown_on_exit=False).get_tracer("tests").start_span("open")
        assert isinstance(span, Span)
        span.set_attribute("a", 1)
        view = sdk.view_of(span)
        span.set_attribute("a", 2)
        assert (dict(view.attributes), view.end_ns) == ({"a": 1}, 0)

    def test_cannot_be_written(self) -> None:
        """The mapping handed out refuses items, so that a dialect cannot change a host's span."""
        span = exported(attributes={"a": 1})
        with pytest.raises(TypeError):
            sdk.attributes_of(span)["a"] = 2  # type: ignore[index] # it is read-only, which is the point

    @pytest.mark.parametrize("attributes", [None, {"a": 1}, BoundedAttributes(None, {"a": 1})])
    def test_any_mapping(self, attributes: Mapping[str, AnyValue] | None) -> None:
        """Plain mappings and none at all are read as they are."""
        assert sdk.attributes_of(ReadableSpan("copy", attributes=attributes)) == (attributes or {})
