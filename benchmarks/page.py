"""Measure the page for a browser: how long it takes to write, how large it is, and when a person sees something.

    python benchmarks/page.py [--conversations 10000] [--steps 50] [--out FOLDER]

Needs what `make test-page` installs. Times in the browser are of one load from a file: to the table and the first
timeline drawn, then from a filter chosen to the table that fits it, and to the timeline of another run.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "page"))

import bodies
from opened import browser, opened
from playwright.sync_api import Page

from otel_stall.analysis import analyze
from otel_stall.config import StallConfig
from otel_stall.parallel import analyze_paths
from otel_stall.readers import Problems, read_paths
from otel_stall.report.page import write


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--out", type=Path, help="keep traces and page in this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(options.out or Path(folder), options.conversations, options.steps)


def measure(folder: Path, conversations: int, steps: int) -> None:
    """Write the traces and their page into the folder, open it and print how long each part took."""
    folder.mkdir(parents=True, exist_ok=True)
    spans, page = folder / "spans.jsonl", folder / "report.html"
    bodies.write(spans, conversations=conversations, steps=steps)
    problems = Problems()
    began = time.perf_counter()
    large = analyze_paths([str(spans)], StallConfig(), problems=problems, details=True)
    found = large or analyze(read_paths([str(spans)], problems=problems), details=True)
    judged = time.perf_counter()
    with page.open("w", encoding="utf-8") as out:
        write(out, found, problems, StallConfig())
    written = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    summary = found.summary
    print(f"{summary.conversations:,} conversations, {summary.steps:,} steps, {summary.stalled:,} stalled")
    print(f"analysed in {judged - began:.1f} s on {os.cpu_count()} processors", end="")
    print(f", written in {written - judged:.1f} s, peak {peak:,.0f} MiB")
    print(f"traces {spans.stat().st_size / 2**20:,.0f} MiB, page {page.stat().st_size / 2**20:,.1f} MiB")
    watch(page)


def watch(path: Path) -> None:
    """Open the page and print the times of what a person does."""
    with browser() as started:
        for width in (1280, 390):
            began = time.perf_counter()
            with opened(started, path, width=width) as (page, heard):
                print(f"{width} px: first view {1000 * (time.perf_counter() - began):.0f} ms", end="")
                for name, act in ACTS.items():
                    print(f", {name} {act(page):.0f} ms", end="")
                heap = page.evaluate("performance.memory.usedJSHeapSize") / 2**20
                print(f", JavaScript heap {heap:.0f} MiB; complaints: {len(heard.complaints)}")


def _filtered(page: Page) -> float:
    """Return the milliseconds from the choice of a filter to the table that fits it, painted."""
    return float(page.evaluate("""() => new Promise((done) => {
        const began = performance.now();
        const control = document.getElementById('filter-show');
        control.value = 'silent';
        control.dispatchEvent(new Event('change'));
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
    })"""))


def _searched(page: Page) -> float:
    """Return the milliseconds from the last key to the table that fits; 120 of them wait for another key."""
    return float(page.evaluate("""() => new Promise((done) => {
        const found = document.getElementById('found');
        const before = found.textContent;
        const began = performance.now();
        const control = document.getElementById('filter-q');
        control.value = '00';
        control.dispatchEvent(new Event('input'));
        const look = () => found.textContent !== before
            ? setTimeout(() => done(performance.now() - began)) : requestAnimationFrame(look);
        look();
    })"""))


def _chosen(page: Page) -> float:
    """Return the milliseconds from a click on a run to its timeline."""
    return float(page.evaluate("""() => new Promise((done) => {
        const title = document.getElementById('conversation-title').textContent;
        const began = performance.now();
        document.querySelectorAll('#rows tbody a')[5].click();
        const look = () => document.getElementById('conversation-title').textContent !== title
            ? setTimeout(() => done(performance.now() - began)) : requestAnimationFrame(look);
        look();
    })"""))


ACTS: dict[str, Callable[[Page], float]] = {"filter": _filtered, "search": _searched, "another run": _chosen}


if __name__ == "__main__":
    main()
