"""What asking for the pressure costs a step, beside the step's own span: `python benchmarks/pressure.py`.

CPU time of one `Ladder.look`, the best of several rounds: of a conversation that is named, outside a stall and
inside one of 64 steps and more, and where the current span has to say which it is. It asserts nothing about time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from opentelemetry.sdk.trace import TracerProvider

from otel_stall import StallConfig, StallSpanProcessor
from otel_stall.pressure import Ladder
from otel_stall.testing import RecordedProvider

ROUNDS = 7
TIMES = 2_000


def best_us(work: Callable[[], object], times: int = TIMES) -> float:
    """Return the least CPU time that one call took in any round, in us."""
    found = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(times):
            work()
        found.append((time.process_time() - began) / times * 1e6)
    return min(found)


def main() -> None:
    """Print the costs."""
    processor = StallSpanProcessor(StallConfig())
    recorded = RecordedProvider(processor, provider=TracerProvider(shutdown_on_exit=False))
    ladder = Ladder(["notice", "replan", "ask_user", "abandon"], source=processor)
    with recorded.agent("coder", conversation="well"):
        recorded.tool("read_file", {"path": "a.py"}, "print(1)")
    outside = best_us(lambda: ladder.look("well"))
    with recorded.agent("coder", conversation="stuck"):
        for number in range(70):
            recorded.tool("read_file", {"path": "a.py", "range": number % 3}, "print(1)")
        assert ladder.look("stuck").level is not None
        inside = best_us(lambda: ladder.look("stuck"))
        by_span = best_us(ladder.look)
        step = best_us(lambda: recorded.tool("read_file", {"path": "a.py"}, "print(1)"), 200)
    for name, cost in (
        ("a tool span, judged", step),
        ("look, outside a stall", outside),
        ("look, inside a stall", inside),
        ("look, by the current span", by_span),
    ):
        print(f"{name:28}{cost:8.1f} us{cost / step:8.1%}")


if __name__ == "__main__":
    main()
