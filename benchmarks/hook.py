"""What the hook of a coding agent costs as a whole process, beside `python -c pass`: `python benchmarks/hook.py`.

Both take turns, with a gateway on loopback that answers, and without one. Times are those of the clock on the wall.
It asserts nothing.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

ROUNDS: Final = 40
EVENT: Final = json.dumps({"session_id": "s", "hook_event_name": "PostToolUse"}).encode()
ADVICE: Final = json.dumps({"counter": "[otel-stall] 9 steps", "action": None, "text": None}).encode()


class Gateway(BaseHTTPRequestHandler):
    """Answers every question with a counter."""

    def do_POST(self) -> None:
        """Answer."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(ADVICE)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def timed(command: Sequence[str], environ: Mapping[str, str]) -> float:
    """Return how long a process took, in ms."""
    began = time.perf_counter()
    subprocess.run(command, input=EVENT, stdout=subprocess.DEVNULL, env={**os.environ, **environ}, check=True)
    return (time.perf_counter() - began) * 1_000


def main() -> None:
    """Print medians and 90th percentiles."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    hook = [sys.executable, "-m", "otel_stall", "hook", "claude-code"]
    setups = {
        "python -c pass": ([sys.executable, "-c", "pass"], "127.0.0.1:1"),
        "hook, answered": (hook, f"127.0.0.1:{server.server_port}"),
        "hook, nobody there": (hook, "127.0.0.1:1"),
    }
    times: dict[str, list[float]] = {name: [] for name in setups}
    for _ in range(ROUNDS):
        for name, (command, admin) in setups.items():
            times[name].append(timed(command, {"OTEL_STALL_ADMIN": admin}))
    server.shutdown()
    for name, taken in times.items():
        print(f"{name:20}{statistics.median(taken):7.1f} ms{statistics.quantiles(taken, n=10)[8]:7.1f} ms (p90)")


if __name__ == "__main__":
    main()
