"""Faults of processes, threads, tasks and clocks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable

import pytest
from doubles import CONFIG, Clock
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider

from otel_stall.config import StallConfig
from otel_stall.processor import StallSpanProcessor
from otel_stall.testing import RecordedProvider

DAY_NS = 86_400 * 10**9


def together(acts: list[Callable[[], object]]) -> None:
    """Do all of this at once, each on a thread of its own."""
    threads = [threading.Thread(target=act) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


def real(processor: StallSpanProcessor) -> RecordedProvider:
    """Return a provider with random ids, as threads need them."""
    return RecordedProvider(processor, provider=TracerProvider(shutdown_on_exit=False))


def call(recorded: RecordedProvider, conversation: str, number: int) -> None:
    said = {"gen_ai.conversation.id": conversation, "gen_ai.agent.name": "coder"}
    recorded.tool("read_file", {"path": number}, f"text {number}", attributes=said)


class TestEnds:
    def test_shutdown_in_the_middle(self) -> None:
        """Shutdown while four threads make calls.

        Host: every span is exported; those that end later are untouched, and none waits.
        Told: nothing: it is no error.
        """
        processor = StallSpanProcessor(CONFIG)
        recorded = real(processor)
        begun = threading.Barrier(5)

        def work() -> None:
            for number in range(60):
                if number == 20:
                    begun.wait(30)
                call(recorded, threading.current_thread().name, number)

        def stop() -> None:
            begun.wait(30)
            processor.shutdown()

        together([*[work] * 4, stop])
        judged = sum("stall.step" in verdict for verdict in recorded.verdicts())
        assert len(recorded.verdicts()) == 240
        assert 80 <= judged < 240
        assert (processor.errors, processor.skipped) == (0, 0)

    def test_flush_after_shutdown(self) -> None:
        """`force_flush` and `shutdown` once more, after the provider was shut down.

        Host: both return at once, with success; spans after that are let through.
        Told: nothing.
        """
        processor = StallSpanProcessor(CONFIG)
        recorded = RecordedProvider(processor)
        recorded.tool("read_file")
        recorded.provider.shutdown()
        processor.shutdown()
        assert processor.force_flush(0)
        recorded.tool("read_file")
        assert processor.errors == 0

    @pytest.mark.parametrize("name", ["daemon thread", "atexit", "exit in a thread", "exit inside a span", "collector"])
    def test_at_the_end_of_the_interpreter(self, name: str) -> None:
        """The interpreter ends: daemon threads in the middle of calls, `atexit` in any order, `sys.exit` in a span.

        Host: its exit status and output are its own; nothing hangs.
        Told: nothing on standard error but what the SDK says of spans after its shutdown.
        """
        done = run(ENDS[name])
        own = [line for line in done.stderr.splitlines() if line != "Processor is already shutdown, ignoring call"]
        assert (done.returncode, done.stdout, own) == (3, "work done\n", [])


class TestForks:
    @pytest.mark.parametrize("name", ["os.fork", "fork", "forkserver", "spawn"])
    def test_with_live_traffic(self, name: str) -> None:
        """`os.fork`, and `multiprocessing` by fork, spawn and forkserver, while other threads are inside hooks.

        Host: children and parent go on, each judging its own spans; nothing hangs.
        Told: nothing.
        """
        done = run(FORKS.replace("HOW", name))
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.split() == ["judged"] * 6 + ["parent"]


class TestThreads:
    def test_on_one_conversation(self) -> None:
        """Sixteen threads that make calls of one conversation at once.

        Host: every call gets a number of its own, none is lost.
        Told: nothing; `skipped` would count what had to wait too long.
        """
        processor = StallSpanProcessor(StallConfig(hook_seconds=20))
        recorded = real(processor)

        def work() -> None:
            for number in range(50):
                call(recorded, "c", number)

        together([work] * 16)
        numbers = sorted(verdict["stall.step"] for verdict in recorded.verdicts())  # type: ignore[type-var]
        assert numbers == list(range(1, 801))
        assert (processor.errors, processor.skipped) == (0, 0)

    def test_on_many_conversations(self) -> None:
        """Sixteen threads, each with conversations of its own.

        Host: each conversation is counted by itself.
        Told: nothing.
        """
        processor = StallSpanProcessor(StallConfig(hook_seconds=20))
        recorded = real(processor)

        def work(thread: int) -> None:
            for number in range(50):
                call(recorded, f"{thread}-{number % 5}", number)

        together([lambda thread=thread: work(thread) for thread in range(16)])  # type: ignore[misc] # bound here
        counts = Counter(verdict["stall.step"] for verdict in recorded.verdicts())
        assert counts == dict.fromkeys(range(1, 11), 80)
        assert len(processor.monitor.lanes) == 80

    def test_a_thread_that_is_stuck(self) -> None:
        """One thread that holds the lock for longer than a hook may take.

        Host: the others wait no longer than `hook_seconds`, and their spans go on untouched.
        Told: `skipped` and `stall.processor.skipped` count them.
        """
        processor = StallSpanProcessor(StallConfig(hook_seconds=0.05))
        recorded = real(processor)
        held, release = threading.Event(), threading.Event()

        def hold() -> None:
            with processor._judge._lock:
                held.set()
                release.wait(30)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait(30)
        began = time.monotonic()
        call(recorded, "c", 1)
        took = time.monotonic() - began
        release.set()
        thread.join()
        assert recorded.verdicts() == [{}]
        assert processor.skipped >= 1
        assert took < 5


class TestTasks:
    def test_cancelled_in_a_call(self) -> None:
        """An asyncio task that is cancelled in the middle of a tool span, many at once.

        Host: its CancelledError goes through; the spans are exported and judged, calls without a result.
        Told: nothing.
        """
        processor = StallSpanProcessor(CONFIG)
        recorded = real(processor)
        tracer = recorded.tracer

        async def call_tool(number: int) -> None:
            said = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "wait", "gen_ai.conversation.id": "c"}
            with tracer.start_as_current_span(f"execute_tool {number}", attributes=said):
                await asyncio.sleep(60)

        async def host() -> list[object]:
            tasks = [asyncio.create_task(call_tool(number)) for number in range(20)]
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            return list(await asyncio.gather(*tasks, return_exceptions=True))

        ends = asyncio.run(host())
        assert [type(end) for end in ends] == [asyncio.CancelledError] * 20
        assert sorted(verdict["stall.step"] for verdict in recorded.verdicts()) == list(range(1, 21))  # type: ignore[type-var]
        assert (processor.errors, processor.skipped) == (0, 0)


class TestClocks:
    @pytest.mark.parametrize("days", [-400, 400])
    def test_the_time_of_spans(self, days: int) -> None:
        """The clock that spans are timed with jumps by more than a year, there and back.

        Host: calls are counted on; a span of the far future counts as now.
        Told: steps that end before one already folded are counted in `stall.late_steps`.
        """
        processor = StallSpanProcessor(CONFIG)
        recorded = RecordedProvider(processor)
        now = time.time_ns()
        with recorded.agent("coder", conversation="c"):
            for at in (now, now + days * DAY_NS, now + 10**9):
                recorded.clock = lambda at=at: at  # type: ignore[assignment] # bound here
                recorded.tool("read_file", {"path": at}, f"text {at}")
        assert [verdict["stall.step"] for verdict in recorded.verdicts()] == [1, 2, 3]
        assert (processor.monitor.late_steps > 0, processor.monitor.lanes.evicted, processor.errors) == (days < 0, 0, 0)

    def test_the_wall_clock_jumps_back(self) -> None:
        """The machine's wall clock jumps back by a day.

        Host: calls are counted on; nothing falls out early.
        Told: nothing.
        """
        assert steps_at(DAY_NS * 10, DAY_NS * 9, DAY_NS * 9 + 1) == ([1, 2, 3], 0)

    def test_the_wall_clock_jumps_ahead(self) -> None:
        """The wall clock jumps ahead by more than `bounds.idle_seconds`, as after a wrong time at boot.

        Host: conversations that stood still for so long by that clock begin anew.
        Told: `stall.evictions` counts them.
        """
        assert steps_at(DAY_NS * 10, DAY_NS * 12, DAY_NS * 12 + 1) == ([1, 1, 2], 1)

    def test_the_monotonic_clock(self, caplog: pytest.LogCaptureFixture) -> None:
        """The monotonic clock jumps, there and back, as after a suspended machine.

        Host: spans are judged; at worst the breaker opens for a minute, as after five slow hooks.
        Told: nothing; no time below zero is recorded.
        """
        clock, reader = Clock(), InMemoryMetricReader()
        meters = MeterProvider([reader], shutdown_on_exit=False)
        processor = StallSpanProcessor(CONFIG, clock=clock, meter_provider=meters)
        recorded = RecordedProvider(processor)
        original = processor._judge.ended

        def jumping(*arguments: object) -> object:
            clock.now += jumps.pop()
            return original(*arguments)  # type: ignore[arg-type]

        jumps = [0.0, 3_600.0, -7_200.0, 0.0]
        processor._judge.ended = jumping  # type: ignore[method-assign, assignment]
        with recorded.agent("coder", conversation="c"):
            jumps.append(0.0)
            for number in range(3):
                recorded.tool("read_file", {"path": number}, f"text {number}")
        assert [verdict["stall.step"] for verdict in recorded.verdicts()] == [1, 2, 3]
        assert processor.errors == 0
        data = reader.get_metrics_data()
        assert data is not None
        metrics = [metric for each in data.resource_metrics for scope in each.scope_metrics for metric in scope.metrics]
        (taken,) = [metric.data.data_points for metric in metrics if metric.name == "stall.processor.duration"]
        assert [(point.count, point.min) for point in taken if isinstance(point, HistogramDataPoint)] == [(3, 0.0)]
        assert "non-negative" not in caplog.text


def steps_at(*times: int) -> tuple[list[object], int]:
    """Return the numbers of steps that arrive at these times by the wall clock, and how many lanes fell out."""
    processor = StallSpanProcessor(CONFIG)
    recorded = RecordedProvider(processor)
    steps: list[object] = []
    for number, at in enumerate(times):
        processor._judge._clock = processor.monitor.clock = lambda at=at: at
        call(recorded, "c", number)
    steps = [verdict["stall.step"] for verdict in recorded.verdicts()]
    assert processor.errors == 0
    return steps, processor.monitor.lanes.evicted


def run(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own, from a file, as `spawn` needs it."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.py"
        path.write_text(script)
        command = [sys.executable, "-W", "ignore", str(path)]
        return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


_HEAD = """
import atexit, gc, os, sys, threading, time
from opentelemetry.sdk.trace import TracerProvider
from otel_stall.config import StallConfig
from otel_stall.processor import StallSpanProcessor
from otel_stall.testing import RecordedProvider

processor = StallSpanProcessor(StallConfig(hook_seconds=20))
recorded = RecordedProvider(processor, provider=TracerProvider(shutdown_on_exit=SHUTDOWN))

def call(conversation="c"):
    recorded.tool("read_file", {"path": "a"}, "text", attributes={"gen_ai.conversation.id": conversation})

def forever():
    while True:
        call(threading.current_thread().name)
"""

ENDS = {
    "daemon thread": _HEAD.replace("SHUTDOWN", "True")
    + """
for _ in range(3):
    threading.Thread(target=forever, daemon=True).start()
time.sleep(0.3)
print("work done", flush=True)
sys.exit(3)
""",
    "atexit": "import atexit\n"
    + "atexit.register(lambda: (call(), processor.force_flush(), processor.tick(), print('work done', flush=True)))\n"
    + _HEAD.replace("SHUTDOWN", "True")
    + "atexit.register(call)\natexit.register(processor.shutdown)\ncall()\nsys.exit(3)\n",
    "exit in a thread": _HEAD.replace("SHUTDOWN", "False")
    + """
def leave():
    with recorded.span("execute_tool x", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x"}):
        sys.exit(5)
thread = threading.Thread(target=leave)
thread.start()
thread.join()
assert "stall.step" in recorded.spans()[0].attributes
print("work done", flush=True)
sys.exit(3)
""",
    "exit inside a span": _HEAD.replace("SHUTDOWN", "True")
    + """
print("work done", flush=True)
with recorded.agent("coder", conversation="c"):
    call()
    sys.exit(3)
""",
    "collector": _HEAD.replace("SHUTDOWN", "True")
    + """
class Ending:
    def __init__(self):
        self.span = recorded.tracer.start_span("execute_tool x", attributes={"gen_ai.tool.name": "x"})
    def __del__(self):
        self.span.end()
kept = [Ending() for _ in range(50)]
kept.append(kept)
call()
print("work done", flush=True)
sys.exit(3)
""",
}

FORKS = (
    """
import multiprocessing
"""
    + _HEAD.replace("SHUTDOWN", "False")
    + """
def child():
    call("child")
    judged = [one for one in recorded.verdicts() if one.get("stall.step")]
    sys.stdout.write("judged\\n" if judged and not processor.errors else "not\\n")
    sys.stdout.flush()

def forked():
    pid = os.fork()
    if pid == 0:
        child()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

def started(how):
    process = multiprocessing.get_context(how).Process(target=child)
    process.start()
    process.join(60)
    assert process.exitcode == 0, process.exitcode

if __name__ == "__main__":
    for _ in range(4):
        threading.Thread(target=forever, daemon=True).start()
    time.sleep(0.2)
    for _ in range(6):
        forked() if "HOW" == "os.fork" else started("HOW")
    call("parent")
    assert any("stall.step" in one for one in recorded.verdicts())
    print("parent", flush=True)
    os._exit(0)
"""
)
