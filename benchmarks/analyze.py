"""How fast `otel-stall analyze` reads, and in how much memory: `python benchmarks/analyze.py`.

It writes a file of OTLP/JSON lines as the collector's file exporter does, and analyses it by one process and by one
a processor, both with the same report. With `--large 2048` it also writes a file of so many MiB, and analyses it
with the address space of every process limited to `--limit` MiB. Tool steps a second, CPU seconds and the largest
resident set of a process are printed; it asserts nothing about time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

from traffic import requests

from otel_stall.otlp import protobuf


def write(path: Path, size: int, span_bytes: int, conversations: int) -> None:
    """Write lines until the file has so many bytes; whole conversations come one after the other in the end."""
    written = 0
    with path.open("w") as stream:
        for seed in count():
            # A hundred requests are fifty thousand spans of so many conversations at the same time.
            for request in requests(100, span_bytes=span_bytes, conversations=conversations, seed=seed):
                _, decoded = protobuf.decode(request)
                assert decoded is not None
                line = json.dumps(_apart(protobuf.to_json(decoded), seed), separators=(",", ":"))
                written += stream.write(line + "\n")
                if written >= size:
                    return


def _apart(request: dict[str, object], seed: int) -> dict[str, object]:
    """Give the spans of each seed conversations, ids and times of their own."""
    text = json.dumps(request).replace("conversation-", f"conversation-{seed}-")
    for ids in ('"traceId": "', '"spanId": "'):
        text = text.replace(f"{ids}0000", f"{ids}{seed:04x}")
    found: dict[str, object] = json.loads(text)
    return found


def limited(megabytes: int) -> None:
    """Limit the address space of this process and of those it starts."""
    if megabytes:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


def run(path: Path, jobs: int, limit: int) -> dict[str, object]:
    """Analyse the file and print what it took; return the report."""
    command = [sys.executable, "-m", "otel_stall", "analyze", "--format", "json", "--jobs", str(jobs), str(path)]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, preexec_fn=lambda: limited(limit))
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    report: dict[str, object] = json.loads(done.stdout)
    summary = report["summary"]
    assert isinstance(summary, dict)
    steps = summary["steps"]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{path.stat().st_size / 1e6:8.0f} MB  {jobs} jobs  {steps:9,} steps  {took:7.1f} s"
        f"  {steps / took:8,.0f} steps/s"
        f"  {cpu / steps * 1e6:6.0f} us CPU/step  at most {after.ru_maxrss / 1024:5.0f} MiB a process",
        flush=True,
    )
    return report


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=128, help="MiB of the file that is analysed in both ways")
    parser.add_argument("--large", type=int, default=0, help="MiB of a file that is analysed in little memory")
    parser.add_argument("--limit", type=int, default=512, help="MiB of address space for each process, 0 = no limit")
    parser.add_argument("--span-bytes", type=int, default=2_000)
    parser.add_argument("--conversations", type=int, default=50, help="conversations at the same time")
    arguments = parser.parse_args()
    jobs = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "traces.jsonl"
        write(path, arguments.size << 20, arguments.span_bytes, arguments.conversations)
        reports = [run(path, each, 0) for each in (1, jobs)]
        print("reports are", "the same" if reports[0] == reports[1] else "DIFFERENT")
        if arguments.large:
            write(path, arguments.large << 20, arguments.span_bytes, arguments.conversations)
            print(f"with an address space of {arguments.limit} MiB a process:")
            run(path, jobs, arguments.limit)


if __name__ == "__main__":
    main()
