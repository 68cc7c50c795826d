"""Settle thresholds on all sources but one, and score the one that was left out.

    python benchmarks/held_out.py --runs FOLDER --labels FILE

For each source the setting of the grid is taken that finds most stalled runs of the other sources at a
precision of at least .85 there; its figures on the source left out are what to expect of a harness that
was never looked at. It prints figures and asserts nothing. The form of the files is told in recorded.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from recorded import Alarm, Mark, judge, read_marks, read_runs
from scores import Score, score

from otel_stall.config import StallConfig

LEAST_PRECISION = 0.85
GRID = {
    "waste_notice": (4.0, 4.5, 5.0, 5.5, 6.0),
    "after_done_notice": (5, 6, 7),
    "dry_notice": (5, 6, 8),
}

Key = tuple[str, str]
Setting = tuple[float, ...]
Alarms = Mapping[Key, Sequence[Alarm]]


def main() -> None:
    """Print, for each source left out, the setting that the others choose and what it finds there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, required=True, help="folder with <source>.jsonl[.gz]")
    parser.add_argument("--labels", type=Path, required=True, help="where readers saw the runs stall")
    options = parser.parse_args()
    marks = read_marks(options.labels)
    runs = list(read_runs(options.runs, marks))
    found: dict[Setting, Alarms] = {}
    for setting in product(*GRID.values()):
        config = StallConfig.create({"detection": dict(zip(GRID, setting, strict=True))})
        found[setting] = {run.key: judge(run, config).alarms for run in runs}
    pooled: dict[Key, Sequence[Alarm]] = {}
    for source, chosen in _chosen(found, marks):
        alarms = {key: held for key, held in found[chosen].items() if key[0] == source}
        pooled |= alarms
        print(f"{source:26} {_named(chosen):58} {_told(_score(alarms, marks))}")
    print(f"{'pooled':85} {_told(_score(pooled, marks))}")


def _chosen(found: Mapping[Setting, Alarms], marks: Mapping[Key, Sequence[Mark]]) -> Iterator[tuple[str, Setting]]:
    for source in sorted({key[0] for key in marks}):

        def worth(setting: Setting, source: str = source) -> tuple[float, float]:
            others = {key: held for key, held in found[setting].items() if key[0] != source}
            reached = _score(others, marks)
            told = reached.found + reached.false
            precision = reached.found / told if told else 0.0
            return (reached.found if precision >= LEAST_PRECISION else -1.0, precision)

        yield source, max(found, key=worth)


def _score(alarms: Alarms, marks: Mapping[Key, Sequence[Mark]]) -> Score:
    return score({key: marks[key] for key in alarms}, alarms)


def _named(setting: Setting) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in zip(GRID, setting, strict=True))


def _told(reached: Score) -> str:
    told, stalled = reached.found + reached.false, reached.found + reached.missed
    return f"precision {reached.found}/{told}, recall {reached.found}/{stalled}, false {reached.false}"


if __name__ == "__main__":
    main()
