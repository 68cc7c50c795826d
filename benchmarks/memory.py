"""What live conversations take in memory: `python benchmarks/memory.py`.

Conversations take turns, one step each, until every one has made its steps; no step repeats another, so that
there is nothing to forget. The resident set is printed as it grows, with the bytes a conversation, and the CPU time a
step. It asserts nothing.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator
from pathlib import Path

from otel_stall.calls import Capture, Content, Reading, ToolCall
from otel_stall.config import StallConfig
from otel_stall.monitor import MAIN, Monitor

_STARTED_NS = 1_767_225_600_000_000_000


def steps(conversations: int, number: int, size: int) -> Iterator[tuple[str, Reading]]:
    """Yield the steps of all conversations in turns; each result is lines of 80 characters that no other has."""
    lines = max(1, size // 80)
    for step in range(number):
        for conversation in range(conversations):
            at = (step * conversations + conversation) * lines
            text = "\n".join(
                f"{at + line:012d} compiled a unit of the work, and found nothing to say".ljust(79)
                for line in range(lines)
            )
            arguments = Content({"path": f"src/module_{step}.py"}, Capture.CAPTURED)
            call = ToolCall("read_file", arguments, Content(text[:size], Capture.CAPTURED), call_id=f"call-{step}")
            end = _STARTED_NS + (step * conversations + conversation) * 1_000
            yield (
                f"conversation-{conversation}",
                Reading(f"{conversation + 1:032x}", f"{at + 1:016x}", "", "execute_tool", end - 500, end, record=call),
            )


def resident() -> int:
    """Return the bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--size", type=int, default=200, help="characters of each result")
    arguments = parser.parse_args()
    monitor, before = Monitor(StallConfig()), resident()
    print(
        f"{arguments.conversations:,} conversations, results of {arguments.size} characters; "
        f"{before >> 20} MiB at first"
    )
    shown = {1, 2, 5, 10, 20, 50, 100, 200, 500, arguments.steps}
    began, last = time.process_time(), 0
    for number, (conversation, reading) in enumerate(
        steps(arguments.conversations, arguments.steps, arguments.size), 1
    ):
        monitor.observe(reading, conversation, MAIN, "coder")
        done, rest = divmod(number, arguments.conversations)
        if not rest and done in shown:
            now, bytes_now = time.process_time(), resident()
            took = (now - began) / (done - last) / arguments.conversations
            print(
                f"{done:6} steps each  {bytes_now >> 20:6,} MiB  "
                f"{(bytes_now - before) // arguments.conversations:8,} bytes a conversation  "
                f"{took * 1e6:6.0f} us CPU a step",
                flush=True,
            )
            began, last = now, done


if __name__ == "__main__":
    main()
