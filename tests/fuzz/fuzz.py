"""Fuzz the ways in: `python tests/fuzz/fuzz.py SECONDS [TARGET...]`, guided by coverage where atheris is installed.

Each target runs in a process of its own for SECONDS, from its seeds and what earlier runs kept in `.fuzz/`. A finding
ends the target; the input is kept in `.fuzz/findings/` and the exit status is 1. One line a target says how many
executions there were. Without atheris (it has no wheels for every Python) inputs are changed at random.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import re
import subprocess
import sys
import time
import traceback
from hashlib import sha256
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
_KEPT: Final = _HERE.parents[1] / ".fuzz"
_MOST_BYTES: Final = 65_536
_SLOW_SECONDS: Final = 25
"""An input that takes longer is a finding."""
_MEMORY_MB: Final = 4_096


def main() -> int:
    """Run the targets one after the other; return 1 where something was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=int)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path[:0] = [str(_HERE), str(_HERE.parent)]
    if options.one:
        return _one(options.targets[0], options.seconds)
    from targets import TARGETS

    return max([_in_a_process(name, options.seconds) for name in options.targets or TARGETS])


def _in_a_process(name: str, seconds: int) -> int:
    began = time.monotonic()
    command = [sys.executable, __file__, "--one", str(seconds), name]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    said = done.stdout + done.stderr
    runs = [int(number) for number in re.findall(r"(?:^#|Done |executed )(\d+)", said, re.MULTILINE)]
    found = "nothing found" if done.returncode == 0 else f"FOUND (status {done.returncode})"
    took = (time.monotonic() - began) / 60
    print(f"{name}: {max(runs, default=0):,} executions in {took:.1f} min, {found}", flush=True)
    if done.returncode:
        print(said[-6_000:], flush=True)
    return int(done.returncode != 0)


def _one(name: str, seconds: int) -> int:
    (_KEPT / "findings").mkdir(parents=True, exist_ok=True)
    try:
        import atheris
    except ImportError:
        return _at_random(name, seconds)
    with atheris.instrument_imports(include=["otel_stall"]):
        from targets import SEEDS, TARGETS
    corpus = _KEPT / name
    corpus.mkdir(exist_ok=True)
    for seed in SEEDS[name]():
        if len(seed) <= _MOST_BYTES:
            (corpus / sha256(seed).hexdigest()[:32]).write_bytes(seed)
    flags = {
        "max_total_time": seconds,
        "max_len": _MOST_BYTES,
        "timeout": _SLOW_SECONDS,
        "rss_limit_mb": _MEMORY_MB,
        "artifact_prefix": f"{_KEPT}/findings/{name}-",
        "print_final_stats": 1,
        "verbosity": 1,
    }
    atheris.Setup([name, *[f"-{key}={value}" for key, value in flags.items()], str(corpus)], TARGETS[name])
    atheris.Fuzz()  # ends the process
    return 0


def _at_random(name: str, seconds: int) -> int:
    from mutations import mutated
    from targets import SEEDS, TARGETS

    source, seeds, until, executed = random.Random(), SEEDS[name](), time.monotonic() + seconds, 0
    while time.monotonic() < until:
        data = mutated(source.choice(seeds), source)[:_MOST_BYTES]
        faulthandler.dump_traceback_later(_SLOW_SECONDS, exit=True)
        try:
            TARGETS[name](data)
        except Exception:
            path = _KEPT / "findings" / f"{name}-{sha256(data).hexdigest()[:16]}"
            path.write_bytes(data)
            traceback.print_exc()
            print(f"executed {executed}; the input is {path}")
            return 1
        executed += 1
    faulthandler.cancel_dump_traceback_later()
    print(f"executed {executed}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
