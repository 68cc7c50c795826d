"""Machine instructions a span takes, with and without judging it: `python benchmarks/instructions.py`.

Times differ from run to run by a fifth on a machine that others use; instructions by less than a hundredth, so that two
commits can be compared. It needs `valgrind`, and takes a minute or two. Each figure is the difference between a run of
many spans and one of few, divided by their difference in number: start-up and warm-up are in both.
Instructions are not time: a search through memory takes few of them for its time. It asserts nothing.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from overhead import SIZES, other_spans, provider_of, results, tool_spans

_FEW: Final = 50
_MANY: Final = 250
_LARGE: Final = 100_000


def run(setup: str, kind: str, number: int) -> None:
    """Make so many spans of one kind; this is what runs under valgrind."""
    texts = [""] * number if kind == "other" else results(SIZES[kind], number)
    with provider_of(setup) as provider:
        (other_spans if kind == "other" else tool_spans)(provider, texts)
        provider.force_flush()


def counted(setup: str, kind: str, number: int) -> int:
    """Return the instructions of one process that makes so many spans."""
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    child = [sys.executable, str(Path(__file__)), "--run", setup, kind, str(number)]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run([*command, *child], capture_output=True, text=True, check=True, env=environment)
    found = re.search(r"I\s+refs:\s+([0-9,]+)", done.stderr)
    assert found is not None, done.stderr
    return int(found.group(1).replace(",", ""))


def per_span(setup: str, kind: str) -> float:
    """Return the instructions of one span."""
    few, many = (2, 6) if SIZES.get(kind, 0) > _LARGE else (_FEW, _MANY)
    return (counted(setup, kind, many) - counted(setup, kind, few)) / (many - few)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", nargs=3, metavar=("SETUP", "KIND", "NUMBER"), help=argparse.SUPPRESS)
    parser.add_argument("--kinds", nargs="+", default=["other", *SIZES], help="which of: other, 200 B, 2 KB, ...")
    parser.add_argument("--setups", nargs="+", default=["full"], help="set-ups of overhead.py beside `exported`")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    arguments = parser.parse_args()
    if arguments.run is not None:
        setup, kind, number = arguments.run
        run(setup, kind, int(number))
        return
    setups = ["exported", *arguments.setups]
    print("thousands of instructions a span; in brackets: of what an exported span takes")
    print(f"{'':>10}  {'exported':>9}  " + "  ".join(f"{setup:>16}" for setup in arguments.setups))
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for kind in arguments.kinds:
            exported, *others = pool.map(per_span, setups, [kind] * len(setups))
            added = [f"+{(each - exported) / 1e3:7.1f} ({(each - exported) / exported:5.0%})" for each in others]
            print(f"{kind:>10}  {exported / 1e3:9.1f}  " + "  ".join(f"{each:>16}" for each in added), flush=True)


if __name__ == "__main__":
    main()
