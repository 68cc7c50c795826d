"""What a step costs in published loop and stall detectors that compare results: `python benchmarks/peers.py`.

In an environment of its own, since some of them pin what they need:

    python -m venv peers && peers/bin/pip install . optio unwedge loopbrake agentbelt-loop loopguard-runtime \\
        agent-patrol longguard agent-loop-guard && peers/bin/python benchmarks/peers.py

All get the same steps, in one process and in turns: a tool, arguments and a result that no other step has. Those that
take spans get spans; beside them stands otel-stall as a span processor, beside the others what it does with a call that
was read. CPU time a step, the best of several rounds, and as a ratio to otel-stall. What each one finds differs far
more than what it costs. One that is not installed is left out and named. It asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from overhead import results

from otel_stall import StallConfig, StallSpanProcessor
from otel_stall.calls import Capture, Content, Reading, ToolCall
from otel_stall.monitor import MAIN, Monitor

SIZES = {"1 KB": 1_000, "16 KB": 16_000, "1 MB": 1_000_000}
_MOST_SECONDS = 5.0
_OURS = "otel-stall"

Step = Callable[[int, str, dict[str, str], str], object]
"""Takes the number of a step from 1, tool, arguments and result."""


def otel_stall() -> Step:
    """Fold calls that were read from spans."""
    monitor = Monitor(StallConfig())

    def step(number: int, tool: str, arguments: dict[str, str], result: str) -> object:
        call = ToolCall(tool, Content(arguments, Capture.CAPTURED), Content(result, Capture.CAPTURED))
        reading = Reading("t", f"{number:016x}", "", f"execute_tool {tool}", number, number + 1, record=call)
        return monitor.observe(reading, "c", MAIN, "coder")

    return step


def agentbelt() -> Step:
    """Record a call and ask for a verdict."""
    module = import_module("agentbelt_loop")
    detector = module.LoopDetector(module.LoopPolicy())

    def step(_: int, tool: str, arguments: dict[str, str], result: str) -> object:
        detector.record("s", tool=tool, args=arguments, result=result)
        return detector.check("s")

    return step


def agent_patrol() -> Step:
    """Observe an action and its result."""
    monitor = import_module("agent_patrol").PatrolMonitor()
    return lambda _, tool, arguments, result: monitor.observe(f"{tool} {json.dumps(arguments)}", result)


def agent_loop_guard() -> Step:
    """Check a call with its output."""
    guard = import_module("loop_guard").LoopGuard()
    return lambda _, tool, arguments, result: guard.check(tool, arguments, result)


def loopguard_runtime() -> Step:
    """Observe a call and its result, by the detectors that are on by default."""
    detectors = import_module("loopguard.guard").default_detectors()
    monitor = import_module("loopguard.monitor").Monitor(detectors)

    def step(_: int, tool: str, arguments: dict[str, str], result: str) -> object:
        monitor.observe("agent", tool, f"tool:{tool}:{json.dumps(arguments, sort_keys=True)}", args=arguments)
        return monitor.observe("tools", tool, f"result:{result}", result=result)

    return step


def longguard() -> Step:
    """Check a step, with limits of tokens and steps out of reach."""
    module = import_module("longguard")
    breaker = module.CircuitBreaker(module.GuardConfig(max_tokens_per_run=10**12, max_steps=10**6))

    def step(number: int, tool: str, arguments: dict[str, str], result: str) -> object:
        return breaker.check(
            module.AgentStep(
                step_number=number, thought="", action=tool, action_input=json.dumps(arguments), observation=result
            )
        )

    return step


def unwedge() -> Step:
    """Add a turn to its tracker of signals."""
    signals, turns = import_module("unwedge.code_signals"), import_module("unwedge.turns")
    tracker, kind = signals.SignalTracker(), next(iter(import_module("unwedge.normalize").ToolClass))

    def step(number: int, tool: str, arguments: dict[str, str], result: str) -> object:
        return tracker.add(turns.Turn(number, f"{tool} {json.dumps(arguments)}", tool, kind, result, False, False, 1.0))

    return step


def loopbrake() -> Step:
    """Score a run by its lines and errors, as it does to explain: all of the run at every step."""
    signals, run = import_module("loopbrake.signals"), list[Any]()

    def step(_: int, tool: str, arguments: dict[str, str], result: str) -> object:
        run.append(signals.Step(f"{tool} {json.dumps(arguments)}", result, None, 0))
        return signals._fuzzy(run), signals._stale(run), signals._errors(run)

    return step


def _spans(processor: Callable[[TracerProvider], object]) -> Step:
    provider = TracerProvider(shutdown_on_exit=False)
    processor(provider)
    tracer = provider.get_tracer("peers")

    def step(number: int, tool: str, arguments: dict[str, str], result: str) -> object:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.conversation.id": "c",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.call.id": f"call-{number}",
            "gen_ai.tool.call.arguments": json.dumps(arguments),
            "gen_ai.tool.call.result": result,
        }
        with tracer.start_as_current_span(f"execute_tool {tool}", attributes=attributes):
            return None

    return step


def no_processor() -> Step:
    """Make the spans alone."""
    return _spans(lambda provider: provider.add_span_processor(SpanProcessor()))


def otel_stall_spans() -> Step:
    """Judge spans as they end."""
    config = StallConfig.create({"metrics": False, "content_steps": 0})
    return _spans(lambda provider: provider.add_span_processor(StallSpanProcessor(config)))


def optio() -> Step:
    """Watch spans as they end, inside a run of its own."""
    module = import_module("optio")
    config = import_module("optio.config").default_config()
    step = _spans(lambda provider: import_module("optio.runtime.installer").install_tap(config, provider))
    module.RunContext().__enter__()
    return step


CALLS: Mapping[str, Callable[[], Step]] = {
    _OURS: otel_stall,
    "loopguard-runtime": loopguard_runtime,
    "longguard": longguard,
    "agentbelt-loop": agentbelt,
    "unwedge": unwedge,
    "loopbrake": loopbrake,
    "agent-loop-guard": agent_loop_guard,
    "agent-patrol": agent_patrol,
}
SPANS: Mapping[str, Callable[[], Step]] = {_OURS: otel_stall_spans, "optio": optio, "no processor": no_processor}


def seconds(make: Callable[[], Step], texts: list[str]) -> float:
    """Return the CPU seconds a step of one conversation, cut short where it takes too long."""
    step, began = make(), time.process_time()
    for number, text in enumerate(texts, 1):
        try:
            step(number, "read_file", {"path": f"src/module_{number}.py"}, text)
        except Exception as error:  # a detector that raises on what it found goes on
            if type(error).__module__.split(".")[0] not in ("agentbelt_loop", "longguard"):
                raise
        if (took := time.process_time() - began) > _MOST_SECONDS:
            break
    return took / number


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of which the best counts")
    rounds = parser.parse_args().rounds
    logging.disable()
    for title, listed in (("calls", CALLS), ("spans", SPANS)):
        installed = {}
        for name, make in listed.items():
            try:
                make()
                installed[name] = make
            except ImportError as error:
                print(f"{name} is left out: {error}")
        best = {name: dict.fromkeys(SIZES, float("inf")) for name in installed}
        for size, characters in SIZES.items():
            texts = results(characters, 60 if characters < 10**6 else 12)
            for _ in range(rounds):
                for name, make in installed.items():
                    best[name][size] = min(best[name][size], seconds(make, texts))
        print(f"{title + ', us CPU a step':>24}" + "".join(f"{size:>24}" for size in SIZES))
        for name, found in best.items():
            cells = [f"{found[size] * 1e6:12,.0f} ({found[size] / best[_OURS][size]:8.2f})" for size in SIZES]
            print(f"{name:>24}" + "".join(f"{cell:>24}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
