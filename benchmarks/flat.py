"""Whether a step costs the same however long the conversation is: `python benchmarks/flat.py`.

One conversation of tool calls, each with a result that no other has, through a `StallSpanProcessor`. CPU time a step is
printed for windows around step 10, 100, 1,000, ... and beside the first as a ratio. It asserts nothing.
"""

from __future__ import annotations

import argparse
import time

from opentelemetry.sdk.trace import TracerProvider
from overhead import results

from otel_stall import StallConfig, StallSpanProcessor

_SHOWN = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
_TEXTS = 2_000


def windows(steps: int) -> list[tuple[int, int, int]]:
    """Return of each window the step it is named after, and its first and last step."""
    return [(at, max(1, at - at // 5), at + at // 5) for at in _SHOWN if at + at // 5 <= steps]


def conversation(provider: TracerProvider, steps: int, size: int) -> list[tuple[int, float]]:
    """Make one conversation, and return the seconds a step of each window."""
    tracer, texts = provider.get_tracer("flat"), results(size, _TEXTS)
    asked = windows(steps)
    starts, ends = {first: at for at, first, _ in asked}, {last: at for at, _, last in asked}
    began: dict[int, float] = {}
    found: list[tuple[int, float]] = []
    spans = {at: last - first for at, first, last in asked}
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "coder", "gen_ai.conversation.id": "long"}
    with tracer.start_as_current_span("invoke_agent coder", attributes=agent):
        for number in range(1, steps + 1):
            if number in starts:
                began[starts[number]] = time.process_time()
            if number in ends:
                at = ends[number]
                found.append((at, (time.process_time() - began[at]) / spans[at]))
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "read_file",
                "gen_ai.tool.call.id": f"call-{number}",
                "gen_ai.tool.call.arguments": f'{{"path": "src/module_{number}.py"}}',
                "gen_ai.tool.call.result": f"{number} {texts[number % _TEXTS]}\n{number}",
            }
            with tracer.start_as_current_span("execute_tool read_file", attributes=attributes):
                pass
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=120_000)
    parser.add_argument("--size", type=int, default=200, help="characters of each result")
    arguments = parser.parse_args()
    for setup in ("span", "judged"):
        provider = TracerProvider(shutdown_on_exit=False)
        if setup == "judged":
            # On a busy machine the breaker would open in so many steps, and pass spans on.
            config = StallConfig.create({"metrics": False, "content_steps": 0, "hook_seconds": 0})
            provider.add_span_processor(StallSpanProcessor(config))
        found = conversation(provider, arguments.steps, arguments.size)
        base = found[1][1] if len(found) > 1 else found[0][1]
        for at, seconds in found:
            times = seconds / base
            print(f"{setup:>6}  around step {at:9,}  {seconds * 1e6:7.0f} us CPU a step  {times:5.2f} of step 100")


if __name__ == "__main__":
    main()
