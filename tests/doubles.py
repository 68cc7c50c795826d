"""Doubles around the processor: monitors that follow a script, a clock, and a host's logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_stall.calls import Reading, ToolCall
from otel_stall.config import StallConfig
from otel_stall.monitor import Monitor
from otel_stall.observations import Compaction
from otel_stall.processor import StallSpanProcessor
from otel_stall.verdicts import Change, Changed, Gain, Judged, Kind, Level, Stall, Verdict

CONFIG = StallConfig()


@dataclass(frozen=True)
class Seen:
    """What the monitor was told of one step."""

    tool: str
    conversation: str
    lane: str
    agent: str
    sampled: bool = True
    run_id: str = ""


class Clock:
    """Stands where it was set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Scripted(Monitor):
    """Counts the steps of each lane and reports the changes it was given, without any rule."""

    def __init__(self, *changes: Changed) -> None:
        super().__init__(CONFIG)
        self.seen: list[Seen] = []
        self.renamed: list[tuple[str, str]] = []
        self.changes = changes
        self.counts: Counter[tuple[str, str]] = Counter()

    def observe(self, reading: Reading, conversation: str, lane: str, agent: str) -> Sequence[Judged]:
        if not isinstance(reading.record, ToolCall):
            return ()
        self.seen.append(Seen(reading.record.tool, conversation, lane, agent, reading.sampled, reading.run_id))
        self.counts[conversation, lane] += 1
        return [self.judged(reading, conversation, self.counts[conversation, lane])]

    def judged(self, reading: Reading, conversation: str, step: int) -> Judged:
        verdict = Verdict(
            step=step,
            counted=True,
            gain=Gain.NONE,
            reason="same_outcome",
            waste=1.0,
            steps_since_milestone=step,
            steps_since_gain=step,
            milestone_count=0,
            state_changes=0,
            epoch=0,
            changes=self.changes,
        )
        return Judged(conversation, "main", "", "", reading.trace_id, reading.span_id, Compaction(""), verdict)

    def rename(self, old: str, new: str) -> None:
        self.renamed.append((old, new))


def stall_processor(monitor: Monitor | None = None, config: StallConfig = CONFIG) -> StallSpanProcessor:
    return StallSpanProcessor(config, monitor=monitor or Scripted())


def steps_of(exporter: InMemorySpanExporter) -> list[object]:
    return [(span.attributes or {}).get("stall.step") for span in exporter.get_finished_spans()]


@contextmanager
def logs() -> Iterator[tuple[LoggerProvider, InMemoryLogRecordExporter]]:
    exporter = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call] # untyped in the SDK
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    yield provider, exporter
    provider.shutdown()


STALL = Stall(1, Kind.LOOP, 1, 1, 1, ((Level.NOTICE, 1),), ("same call, same outcome",))
STARTED = Changed(Change.STARTED, 1, STALL)


class Refusing(ReadableSpan):
    """A span whose fields can be set once."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in self.__dict__:
            raise AttributeError(name)
        super().__setattr__(name, value)


class Raising(Monitor):
    def observe(self, reading: Reading, conversation: str, lane: str, agent: str) -> Sequence[Judged]:
        raise ValueError("secret content")
