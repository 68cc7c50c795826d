"""One tracer provider for the process, as a host has: the judging processor before the exporting one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from traced import Host, Traced

from otel_stall import StallConfig, StallSpanProcessor

pytest.register_assert_rewrite("langchain_scenes")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Frameworks warn of each other's changes; only our own warnings are errors here.

    Instrumentations stay in a process, so that each file needs one of its own: `make test-frameworks`.
    """
    if len({item.path for item in items}) > 1:
        raise pytest.UsageError("tests/frameworks: one file a process, `make test-frameworks`")
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("default"), append=False)
        item.add_marker(pytest.mark.filterwarnings("error:::otel_stall"), append=False)


@pytest.fixture(scope="session")
def host() -> Host:
    """Return the global provider: some frameworks take no other."""
    provider = TracerProvider(shutdown_on_exit=False)
    # A limit below the dry streak of `ask_user`, so that asking and giving up are steps apart.
    processor = StallSpanProcessor(StallConfig.create({"detection": {"distance_limit": 10}}))
    exporter = InMemorySpanExporter()
    provider.add_span_processor(processor)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return Host(provider, exporter, processor)


@pytest.fixture
def traced(host: Host) -> Iterator[Traced]:
    """What a test's own agents leave in the export and in the monitor."""
    host.exporter.clear()
    before = {key for key, _ in host.processor.monitor.lanes}
    errors, skipped, refused = host.processor.errors, host.processor.skipped, host.processor.unannotated
    found = Traced(host.provider, host.exporter, host.processor, before)
    yield found
    assert found.judged_offline() == sorted(found.judged())
    assert (host.processor.errors, host.processor.skipped, host.processor.unannotated) == (errors, skipped, refused)
