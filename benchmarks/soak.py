"""Millions of steps through a live processor: does memory level off, and does a step stay as quick as the first?

`python benchmarks/soak.py --steps 2000000 --seconds 3600 --csv soak.csv --plot docs/soak.svg` stops at whatever
comes first, and on SIGTERM, with what it has. 200 agents work in turn, some for ever, most for 5 to 400 calls; they
get stuck, their contexts are compacted, some of their spans never end. Metrics are collected and the state is saved
on timers. Every sample has the resident memory, what the hook of a step took (by the clock, and CPU time of the
thread), and what was dropped.
At the end the saved state is restored and compared. The plot needs matplotlib (`pip install --group soak`).
"""

from __future__ import annotations

import argparse
import csv
import gc
import json
import os
import signal
import tempfile
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from agents import Host
from opentelemetry.context import Context
from opentelemetry.sdk._logs import LoggerProvider, LogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider

from otel_stall import StallConfig, StallSpanProcessor
from otel_stall.monitor import Monitor

Row = dict[str, float]

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class Timed(SpanProcessor):
    """Passes all on and takes the time of the hooks of tool spans: by the clock, and of this thread alone."""

    def __init__(self, inner: StallSpanProcessor) -> None:
        self.inner = inner
        self.clock, self.thread = array("d"), array("d")

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Pass it on."""
        self.inner.on_start(span, parent_context)

    def _on_ending(self, span: Span) -> None:
        if not span.name.startswith("execute_tool"):
            self.inner._on_ending(span)
            return
        began, worked = time.perf_counter(), time.thread_time()
        self.inner._on_ending(span)
        self.thread.append(time.thread_time() - worked)
        self.clock.append(time.perf_counter() - began)

    def on_end(self, span: ReadableSpan) -> None:
        """Pass it on."""
        self.inner.on_end(span)


class Pauses:
    """The longest full collection of Python's garbage collector since it was asked, which can fall into any hook."""

    def __init__(self) -> None:
        self._began = self._longest = 0.0
        gc.callbacks.append(self._note)

    def longest(self) -> float:
        """Return it in seconds, and begin anew."""
        found, self._longest = self._longest, 0.0
        return found

    def _note(self, phase: str, info: Mapping[str, int]) -> None:
        if info["generation"] < 2:
            return
        if phase == "start":
            self._began = time.perf_counter()
        else:
            self._longest = max(self._longest, time.perf_counter() - self._began)


class Counting(SpanProcessor):
    """What an exporter would get: counted and let go."""

    def __init__(self) -> None:
        self.steps = self.stalled = self.lacking = 0

    def on_end(self, span: ReadableSpan) -> None:
        """Count what is on a tool span."""
        attributes = span.attributes or {}
        if attributes.get("gen_ai.operation.name") == "execute_tool":
            self.steps += 1
            self.stalled += bool(attributes.get("stall.detected"))
            self.lacking += "stall.step" not in attributes


class Events(LogRecordProcessor):
    """Counts events."""

    def __init__(self) -> None:
        self.seen = 0

    def on_emit(self, log_record: object) -> None:  # noqa: ARG002
        """Count one."""
        self.seen += 1

    def shutdown(self) -> None:
        """Do nothing."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002
        """Return True."""
        return True


class Soak:
    """A host with its providers, and the samples that were taken."""

    def __init__(self, seed: int, folder: Path, lanes: int) -> None:
        self.reader, self.events, self.exported = InMemoryMetricReader(), Events(), Counting()
        logs = LoggerProvider(shutdown_on_exit=False)
        logs.add_log_record_processor(self.events)
        meters = MeterProvider([self.reader], shutdown_on_exit=False)
        # Without a budget: on a busy machine hooks that wait for a core would open the breaker, and judge nothing.
        config = StallConfig.create({"bounds": {"conversations": lanes, "open_spans": 5_000}, "hook_seconds": 0})
        self.processor = StallSpanProcessor(config, logger_provider=logs, meter_provider=meters)
        self.timed, self.pauses = Timed(self.processor), Pauses()
        provider = TracerProvider(shutdown_on_exit=False)
        for each in (self.timed, self.exported):
            provider.add_span_processor(each)
        self.host = Host(provider.get_tracer("soak"), seed)
        self.rows: list[Row] = []
        self.saved = folder / "state.json"
        self._began = time.monotonic()

    def sample(self) -> None:
        """Take one sample, and forget the times since the one before."""
        series, dropped = _collected(self.reader)
        row: Row = {
            "seconds": round(time.monotonic() - self._began, 1),
            "steps": self.exported.steps,
            "conversations": self.host.conversations,
            "rss_mb": round(_resident() / 1e6, 1),
            **_times("clock", self.timed.clock),
            **_times("thread", self.timed.thread),
            "collector_max_us": round(self.pauses.longest() * 1e6, 1),
            "stalled_steps": self.exported.stalled,
            "unjudged_steps": self.exported.lacking,
            "events": self.events.seen,
            "series": series,
            "errors": self.processor.errors,
            "snapshot_mb": round(self.saved.stat().st_size / 1e6, 1) if self.saved.exists() else 0.0,
            **dropped,
        }
        self.timed.clock, self.timed.thread = array("d"), array("d")
        self.rows.append(row)
        print(json.dumps(row), flush=True)

    def save(self) -> None:
        """Write the state of all lanes to a file, as a host does from time to time."""
        aside = self.saved.with_suffix(".new")
        aside.write_text(self.processor.monitor.snapshot(), encoding="utf-8")
        aside.replace(self.saved)

    def restored(self) -> bool:
        """Return whether a monitor that starts from the saved file has the state of this one."""
        self.save()
        other = Monitor(self.processor.config)
        other.restore(self.saved.read_text(encoding="utf-8"))
        return other.snapshot() == self.processor.monitor.snapshot()


def _collected(reader: InMemoryMetricReader) -> tuple[int, Row]:
    """Return how many series the host's meters hold, and the counts of what was dropped."""
    data = reader.get_metrics_data()
    found: Row = {"stall.evictions": 0, "stall.processor.skipped": 0, "stall.late_steps": 0}
    series = 0
    for scope in (scope for each in data.resource_metrics for scope in each.scope_metrics) if data else ():
        for metric in scope.metrics:
            series += len(metric.data.data_points)
            for point in metric.data.data_points:
                if metric.name in found:
                    found[metric.name] = point.value
                elif metric.name == "stall.processor.forgotten":
                    found[f"forgotten.{point.attributes['memory']}"] = point.value
    return series, found


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE


def _times(name: str, taken: array[float]) -> Row:
    listed = sorted(taken)
    shares = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {
        f"{name}_{share}_us": round(listed[min(int(at * len(listed)), len(listed) - 1)] * 1e6, 1) if listed else 0.0
        for share, at in shares.items()
    }


def soak(
    run: Soak, steps: int, seconds: float, *, every: int, timers: Sequence[tuple[float, Callable[[], None]]]
) -> None:
    """Make steps until there are enough or time is up; take a sample after `every` steps, call timers in seconds."""
    until, stopped = time.monotonic() + seconds, list[int]()
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    due = [time.monotonic() + period for period, _ in timers]
    for number in range(1, steps + 1):
        run.host.step()
        if number % 256 == 0:
            now = time.monotonic()
            for place, (period, act) in enumerate(timers):
                if now >= due[place]:
                    act()
                    due[place] = now + period
            if now >= until or stopped:
                break
        if number % every == 0:
            run.sample()
    run.host.end()
    run.sample()


def written(rows: Sequence[Row], path: Path) -> None:
    """Write samples as CSV."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, names, restval=0)
        writer.writeheader()
        writer.writerows(rows)


def plotted(rows: Sequence[Row], path: Path) -> None:
    """Draw memory, times of a step, and what fell out, over the steps."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "soak", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot as plt

    steps = [row["steps"] / 1e6 for row in rows]
    figure, (memory, times, dropped) = plt.subplots(3, 1, sharex=True, figsize=(8, 8), constrained_layout=True)
    memory.plot(steps, [row["rss_mb"] for row in rows], label="resident memory")
    memory.plot(steps, [row["snapshot_mb"] for row in rows], label="saved state")
    memory.set(ylabel="MB", ylim=(0, None))
    nothing = float("nan")
    for name, label in (
        ("thread_p50_us", "half of the steps, CPU"),
        ("thread_p99_us", "99 %, CPU"),
        ("clock_p99_us", "99 %, clock"),
        ("clock_max_us", "slowest, clock"),
        ("collector_max_us", "longest full garbage collection"),
    ):
        times.plot(steps, [row[name] or nothing for row in rows], ".-", markersize=3, label=label)
    times.set(ylabel="us for the hook of a step", yscale="log")
    for name in sorted({name for row in rows for name in row if name.startswith(("forgotten", "stall."))}):
        counts = [row.get(name, 0) for row in rows]
        if counts[-1]:
            dropped.plot(steps, counts, label=name)
    dropped.set(xlabel="million steps", ylabel="dropped so far", yscale="symlog")
    for axes in (memory, times, dropped):
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Run, write, draw, and end with 1 where something was lost that should not be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2_000_000)
    parser.add_argument("--seconds", type=float, default=3_600.0)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--save-seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lanes", type=int, default=500, help="Lanes that are kept; some fall out all the time.")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Soak(options.seed, Path(folder), options.lanes)
        timers = [(options.save_seconds, run.save), (10.0, lambda: _collected(run.reader) and None)]
        soak(run, options.steps, options.seconds, every=max(options.steps // options.samples, 1), timers=timers)
        same = run.restored()
    gc.collect()
    if options.csv:
        written(run.rows, options.csv)
    if options.plot:
        plotted(run.rows, options.plot)
    print(json.dumps({"restored_is_the_same": same, "errors": run.processor.errors}))
    raise SystemExit(0 if same and not run.processor.errors else 1)


if __name__ == "__main__":
    main()
