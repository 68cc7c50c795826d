"""Rules of `attachment`: one line, on whatever provider there is, once."""

from __future__ import annotations

import gc
import logging
import subprocess
import sys
import weakref

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ConcurrentMultiSpanProcessor, Span, SpanProcessor, TracerProvider
from opentelemetry.util.types import Attributes

from otel_stall import attachment
from otel_stall.attachment import attach
from otel_stall.config import StallConfig
from otel_stall.errors import ConfigError
from otel_stall.processor import StallSpanProcessor
from otel_stall.sdk import processors_of
from otel_stall.testing import RecordedProvider

CONFIG = StallConfig()


def sdk_provider(*processors: SpanProcessor) -> TracerProvider:
    provider = TracerProvider(shutdown_on_exit=False)
    for processor in processors:
        provider.add_span_processor(processor)
    return provider


class Proxy(trace.TracerProvider):
    """Stands before a provider that can be replaced, as a vendor's does; equal to others, so without a hash."""

    __hash__ = None  # type: ignore[assignment] # as of a dataclass

    def __init__(self, provider: trace.TracerProvider) -> None:
        self.provider = provider

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Proxy)

    def get_tracer(
        self,
        instrumenting_module_name: str,
        instrumenting_library_version: str | None = None,
        schema_url: str | None = None,
        attributes: Attributes | None = None,
    ) -> trace.Tracer:
        return self.provider.get_tracer(instrumenting_module_name)

    def add_span_processor(self, span_processor: SpanProcessor) -> None:
        if isinstance(self.provider, TracerProvider):
            self.provider.add_span_processor(span_processor)


class Replacing(TracerProvider):
    """Takes its default processor away when one is added, unless told not to."""

    def __init__(self) -> None:
        super().__init__(shutdown_on_exit=False)
        self.replaced = False

    def add_span_processor(self, *given: SpanProcessor, replace_default_processor: bool = True) -> None:
        self.replaced = replace_default_processor
        super().add_span_processor(*given)


class Wrapping(SpanProcessor):
    """Passes spans on to a processor of its own."""

    def __init__(self, processor: SpanProcessor) -> None:
        self.processor = processor


def attached(provider: object) -> list[StallSpanProcessor]:
    inner = provider.provider if isinstance(provider, Proxy) else provider
    return [each for each in processors_of(inner) if isinstance(each, StallSpanProcessor)]


class TestOnce:
    def test_a_second_call_adds_nothing(self) -> None:
        """The processor is added once; later calls return it, whatever settings they bring."""
        provider = sdk_provider()
        processor = attach(provider, config=CONFIG)
        assert attach(provider) is attach(provider, config=StallConfig(span_events=False)) is processor
        assert attached(provider) == [processor]

    @pytest.mark.parametrize("wrapped", [True, False])
    def test_one_that_was_added_by_hand(self, wrapped: bool) -> None:
        """A processor that came there by `add_span_processor`, alone or inside another, is found."""
        own = StallSpanProcessor(CONFIG)
        provider = sdk_provider(Wrapping(own) if wrapped else own)
        assert attach(provider) is own
        assert attached(provider) == [own]

    def test_two_providers(self) -> None:
        """Each provider has its own, with a memory of its own."""
        one, two = sdk_provider(), sdk_provider()
        assert attach(one, config=CONFIG) is not attach(two, config=CONFIG)

    def test_a_concurrent_provider(self) -> None:
        """Under the SDK's concurrent processor it is found and added once, too."""
        together = ConcurrentMultiSpanProcessor()
        provider = TracerProvider(active_span_processor=together, shutdown_on_exit=False)
        assert attach(provider, config=CONFIG) is attach(provider)
        assert len(attached(provider)) == 1
        provider.shutdown()

    def test_a_processor_of_ones_own(self) -> None:
        """A processor that is given is the one that is added."""
        own = StallSpanProcessor(CONFIG)
        provider = sdk_provider()
        assert attach(provider, processor=own) is own
        assert attached(provider) == [own]

    def test_nothing_is_kept_alive(self) -> None:
        """A provider that the host drops is gone."""
        provider = sdk_provider()
        attach(provider, config=CONFIG)
        held = weakref.ref(provider)
        del provider
        gc.collect()
        assert held() is None
        assert all(known() is not None for known, _ in attachment._attached.values())


class TestTraps:
    def test_a_default_exporter_stays(self) -> None:
        """A provider that would take its exporter away is told not to."""
        provider = Replacing()
        attach(provider, config=CONFIG)
        assert provider.replaced is False

    def test_a_replaced_provider(self) -> None:
        """Behind a proxy the same processor goes on at the next provider, though the last was shut down."""
        first = sdk_provider()
        proxy = Proxy(first)
        processor = attach(proxy, config=CONFIG)
        RecordedProvider(provider=first).tool("read_file")
        first.shutdown()
        proxy.provider = second = sdk_provider()
        assert attach(proxy) is processor
        assert attached(proxy) == [processor]
        recorded = RecordedProvider(provider=second)
        recorded.tool("read_file")
        assert [verdict["stall.step"] for verdict in recorded.verdicts()] == [1]

    def test_a_proxy_before_nothing(self, caplog: pytest.LogCaptureFixture) -> None:
        """A vendor's provider that is not configured yet is said to be so, and takes the same processor later."""
        attachment._said.clear()
        proxy = Proxy(trace.NoOpTracerProvider())
        with caplog.at_level(logging.WARNING):
            processor = attach(proxy, config=CONFIG)
            assert attach(proxy) is processor
        assert [message[:33] for message in caplog.messages] == ["no tracer provider is set yet: ca"]
        proxy.provider = sdk_provider()
        assert attach(proxy) is processor
        assert attached(proxy) == [processor]

    def test_what_takes_no_processor(self, caplog: pytest.LogCaptureFixture) -> None:
        """A provider of another kind is named, once."""
        attachment._said.clear()

        class Other(trace.NoOpTracerProvider):
            pass

        with caplog.at_level(logging.WARNING):
            for _ in range(2):
                attach(Other(), config=CONFIG)
        (message,) = caplog.messages
        assert message.endswith("Other takes no span processors; nothing is judged")

    def test_what_refuses_it(self, caplog: pytest.LogCaptureFixture) -> None:
        """A provider that raises is no reason to raise into the host."""

        class Raising(TracerProvider):
            def add_span_processor(self, span_processor: SpanProcessor) -> None:
                raise RuntimeError("no")

        with caplog.at_level(logging.WARNING):
            attach(Raising(shutdown_on_exit=False), config=CONFIG)
        assert caplog.messages == ["adding the span processor failed with RuntimeError; nothing is judged"]


class TestSwitches:
    def test_disabled(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Switched off nothing is added."""
        monkeypatch.setenv("OTEL_STALL_ENABLED", "false")
        provider = sdk_provider()
        attach(provider)
        assert attached(provider) == []

    def test_wrong_settings(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A settings file that cannot be read fails at start-up, as for the processor."""
        monkeypatch.setenv("OTEL_STALL_CONFIG", "/nowhere.yaml")
        with pytest.raises(ConfigError, match=r"nowhere\.yaml"):
            attach(sdk_provider())


class Starting(SpanProcessor):
    """Keeps the names of spans that start."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_start(self, span: Span, parent_context: object = None) -> None:
        self.names.append(span.name)


def test_other_processors_go_on() -> None:
    """What was on the provider before still sees every span."""
    starting = Starting()
    provider = sdk_provider(starting)
    attach(provider, config=CONFIG)
    RecordedProvider(provider=provider).tool("read_file")
    assert starting.names == ["execute_tool read_file"]


GLOBAL = """
import logging, otel_stall
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from otel_stall.testing import RecordedProvider

logging.basicConfig(format="%(name)s: %(message).30s", force=True)
early = otel_stall.attach()
otel_stall.attach()
provider = TracerProvider(shutdown_on_exit=False)
trace.set_tracer_provider(provider)
assert otel_stall.attach() is early
recorded = RecordedProvider(provider=provider)
recorded.tool("read_file")
print([verdict.get("stall.step") for verdict in recorded.verdicts()])
"""


def test_the_global_provider() -> None:
    """Before the host sets one up this is said once; afterwards the same line attaches the same processor."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", GLOBAL], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("[1]\n", "otel_stall: no tracer provider is set yet:\n")


class TestForks:
    def test_the_lock_of_a_forked_child(self) -> None:
        """A forked child has a lock of its own: the thread that held the parent's is not there to give it back."""
        before = attachment._lock
        attachment._renew()
        assert attachment._lock is not before
        assert attachment._lock.acquire(blocking=False)
        attachment._lock.release()
