"""Measure otel-stall, published rules and a plain step count on recorded runs in which readers marked the stalls.

    python benchmarks/detection.py --runs FOLDER [--labels FILE] [--apart SOURCE] [--leave-out] [--markdown]

It prints figures and asserts nothing. `--apart` names a source to pool with and without; `--leave-out` switches
every reason and every trigger off, one at a time. The form of the files is told in recorded.py.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from published import RULES, step_count
from recorded import Alarm, Judgement, Mark, Run, judge, read_marks, read_runs
from scores import Score, score, step_limit

from otel_stall import reasons, stalls
from otel_stall.calibration import conformal
from otel_stall.config import StallConfig
from otel_stall.intervals import wilson
from otel_stall.reasons import Reason
from otel_stall.scenes import Trigger
from otel_stall.verdicts import Gain, Level

Key = tuple[str, str]
Rows = list[tuple[str, ...]]


def main() -> None:
    """Print the tables that the options ask for."""
    options = _options()
    began = time.perf_counter()
    marks = read_marks(options.labels) if options.labels else {}
    runs = list(read_runs(options.runs, None if options.outcomes else marks))
    if unknown := set(options.apart) - {run.source for run in runs}:
        raise SystemExit(f"--apart: no source {', '.join(sorted(unknown))}")
    config = StallConfig.load(options.config) if options.config else StallConfig()
    table = _markdown if options.markdown else _plain
    judged = {run.key: judge(run, config) for run in runs}
    labelled = [run for run in runs if run.key in marks]
    if labelled:
        for name, group in _groups(labelled, options.apart):
            print(table(f"Marked runs, {name}", _compared(group, marks, judged)))
    if options.outcomes:
        print(table("Levels reached by runs that succeeded", _levels(runs, judged)))
        print(table("Limits from short tasks, on long ones: share of good runs beyond", _transfer(runs, judged)))
    if labelled and options.leave_out:
        print(table("One rule left out", _left_out(labelled, marks, judged, config, set(options.apart))))
    steps = sum(len(run.seen) for run in runs)
    print(f"{len(runs):,} runs, {steps:,} steps, {time.perf_counter() - began:.0f} s")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, required=True, help="folder with <source>.jsonl[.gz]")
    parser.add_argument("--labels", type=Path, help="where readers saw the runs stall")
    parser.add_argument("--apart", action="append", default=[], metavar="SOURCE", help="pool without it, too")
    parser.add_argument("--config", type=Path, help="settings in YAML")
    parser.add_argument("--leave-out", action="store_true", help="switch off each reason and trigger in turn")
    parser.add_argument("--only-marked", dest="outcomes", action="store_false", help="pass over runs without marks")
    parser.add_argument("--markdown", action="store_true", help="tables for a page")
    return parser.parse_args()


def _groups(runs: Sequence[Run], apart: Sequence[str]) -> Iterator[tuple[str, list[Run]]]:
    yield "all sources", list(runs)
    if apart:
        yield f"without {', '.join(apart)}", [run for run in runs if run.source not in apart]
    for source in sorted({run.source for run in runs}):
        yield source, [run for run in runs if run.source == source]


def _compared(runs: Sequence[Run], marks: Mapping[Key, Sequence[Mark]], judged: Mapping[Key, Judgement]) -> Rows:
    """Return a row per rule, under each a step count that alarms on as many runs without a stall."""
    marks = {run.key: marks[run.key] for run in runs}
    ours = {run.key: judged[run.key].alarms for run in runs}
    named: list[tuple[str, Mapping[Key, Sequence[Alarm]]]] = [("otel-stall", ours)]
    named += [(name, {run.key: rule(run.seen) for run in runs}) for name, rule in RULES.items()]
    head = ("rule", "run precision", "run recall", "false", "interval precision", "interval recall", "delay")
    rows: Rows = [head]
    steps = {run.key: len(run.seen) for run in runs}
    counted: set[int] = set()
    for name, alarms in named:
        found = score(marks, alarms)
        rows.append((name, *_cells(found)))
        if found.false not in counted:
            counted.add(found.false)
            limit = step_limit(marks, steps, found.false)
            plain = {key: step_count(length, limit) for key, length in steps.items()}
            rows.append((f"  steps > {limit}", *_cells(score(marks, plain))))
    return rows


def _cells(found: Score) -> tuple[str, ...]:
    delay = found.delay
    return (
        _share(found.found, found.found + found.false),
        _share(found.found, found.found + found.missed),
        f"{found.false}/{found.false + found.healthy}",
        _share(found.right, found.alarms),
        _share(found.seen, found.marks),
        "-" if delay is None else f"{delay[0]:g} / {delay[1]:g}",
    )


def _levels(runs: Sequence[Run], judged: Mapping[Key, Judgement]) -> Rows:
    rows: Rows = [("source", "runs", *(level.value for level in Level), "95% bound of notice")]
    for source in sorted({run.source for run in runs}):
        good = [judged[run.key] for run in runs if run.source == source and run.outcome == "success"]
        if good:
            hits = [sum(level in one.levels for one in good) for level in Level]
            high = wilson(hits[0], len(good)).high
            rows.append((source, str(len(good)), *(f"{hit / len(good):.3f}" for hit in hits), f"{high:.3f}"))
    return rows


def _transfer(runs: Sequence[Run], judged: Mapping[Key, Judgement]) -> Rows:
    """Return the share of good runs of the longer tasks beyond a limit set on the shorter ones, for each counter."""
    names = ("steps", "steps before a milestone", "milestone distance", "dry streak", "waste")
    rows: Rows = [("source", "tasks short / long", *names)]
    for source in sorted({run.source for run in runs}):
        good = [run for run in runs if run.source == source and run.outcome == "success"]
        lengths: dict[str, list[int]] = {}
        for run in good:
            lengths.setdefault(run.task, []).append(len(run.seen))
        tasks = sorted(lengths, key=lambda task: (sum(lengths[task]) / len(lengths[task]), task))
        short = set(tasks[: len(tasks) // 2])
        one = {run.task: run for run in good if run.task in short}
        values = [_counters(run, judged[run.key]) for run in one.values()]
        limits = [conformal([value[index] for value in values]) for index in range(len(names))]
        if None in limits:
            rows.append((source, f"{len(one)} / {len(tasks) - len(short)}", *("too few" for _ in names)))
            continue
        tested = [_counters(run, judged[run.key]) for run in good if run.task not in short]
        beyond = [sum(value[i] > limit for value in tested) for i, limit in enumerate(limits) if limit is not None]
        cells = (f"{_share(hit, len(tested))} (> {limit:g})" for hit, limit in zip(beyond, limits, strict=True))
        rows.append((source, f"{len(one)} / {len(tasks) - len(short)}", *cells))
    return rows


def _counters(run: Run, found: Judgement) -> tuple[float, ...]:
    return len(run.seen), found.before_milestone, found.distance, found.dry, found.waste


def _left_out(
    runs: Sequence[Run],
    marks: Mapping[Key, Sequence[Mark]],
    judged: Mapping[Key, Judgement],
    config: StallConfig,
    apart: set[str],
) -> Rows:
    """Return how the figures move with each rule switched off; rules without any change come last, in one row."""

    def figures(found: Mapping[Key, Judgement]) -> tuple[int, ...]:
        alarms = {run.key: found[run.key].alarms for run in runs}
        whole = score({run.key: marks[run.key] for run in runs}, alarms)
        rest = score({run.key: marks[run.key] for run in runs if run.source not in apart}, alarms)
        return whole.found, whole.false, rest.found, whole.seen, whole.alarms - whole.right

    full = figures(judged)
    head = ("left out", "runs found", "false runs", "found without those apart", "intervals found", "false intervals")
    rows: Rows = [head, ("nothing", *map(str, full))]
    idle = []
    for name, switched_off in _switches():
        with switched_off:
            moved = figures({run.key: judge(run, config) for run in runs})
        change = tuple(now - before for now, before in zip(moved, full, strict=True))
        if any(change):
            rows.append((name, *(f"{one:+d}" if one else "0" for one in change)))
        else:
            idle.append(name)
    rows.append((f"no change: {', '.join(idle)}", *("0" for _ in full)))
    return rows


def _switches() -> Iterator[tuple[str, object]]:
    yield from ((f"trigger {trigger}", _without_trigger(trigger)) for trigger in Trigger)
    yield from ((f"reason {reason}", _without_reason(reason)) for reason in Reason)


@contextmanager
def _without_reason(reason: Reason) -> Iterator[None]:
    """Let a reason say nothing: neutral, and no waste."""
    kept = reasons.TABLE[reason]
    reasons.TABLE[reason] = reasons.Entry(Gain.NEUTRAL, 0, kept.sentence)
    try:
        yield
    finally:
        reasons.TABLE[reason] = kept


@contextmanager
def _without_trigger(trigger: Trigger) -> Iterator[None]:
    """Let a trigger never open or hold a stall."""
    kept = stalls._triggers

    def fewer(scene: object, config: object) -> object:
        counts = dict(kept(scene, config))
        del counts[trigger]
        return counts

    stalls._triggers = fewer
    try:
        yield
    finally:
        stalls._triggers = kept


def _share(part: int, whole: int) -> str:
    """Return a share with its counts and its 95 % interval (Wilson)."""
    found = wilson(part, whole)
    if found.share is None:
        return "-"
    return f"{found.share:.2f} [{found.low:.2f}, {found.high:.2f}] {part}/{whole}"


def _plain(title: str, rows: Rows) -> str:
    widths = [max(len(row[i]) for row in rows if len(row[i]) < 60 or row is rows[0]) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([title, *lines, ""])


def _markdown(title: str, rows: Rows) -> str:
    head, *body = ["| " + " | ".join(cell.strip() for cell in row) + " |" for row in rows]
    return "\n".join([f"### {title}", "", head, "|" + "---|" * len(rows[0]), *body, ""])


if __name__ == "__main__":
    main()
