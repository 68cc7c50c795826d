"""What a command reads, and how `analyze` writes what it found: one function for each form."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, TextIO

if TYPE_CHECKING:
    from otel_stall.config import StallConfig
    from otel_stall.findings import Analysis
    from otel_stall.progress import Progress
    from otel_stall.readers import Problems
    from otel_stall.readers.sources import Open, Readable
    from otel_stall.report.credit import Credits
    from otel_stall.report.page import TraceLink
    from otel_stall.spans import SpanView

__all__ = ["STDIN", "WRITERS", "Run", "views", "watched"]

STDIN = "-"
"""Path that stands for standard input."""


@dataclass(frozen=True, slots=True)
class Run:
    """What was asked for: the input, how it is judged, and where and how what is found is written."""

    paths: Sequence[str]
    config: StallConfig
    problems: Problems
    stdin: BinaryIO
    out: TextIO
    steps: bool
    credit: bool
    origin: str
    progress: bool
    link: TraceLink | None = None
    conversation: str | None = None
    whole: bool = False
    jobs: int | None = None

    @property
    def key(self) -> str:
        """The key of exported fingerprints, "" for none."""
        return self.config.fingerprint_key.get_secret_value()

    def analysis(self, *, details: bool = False) -> Analysis:
        """Return what was found in the input, or in the one conversation that was asked for."""
        from otel_stall.analysis import analyze
        from otel_stall.report.selection import one_of

        only = None if self.conversation is None else one_of(self.conversation)
        with watched(self) as watch:
            large = self._shared(details, watch) if only is None else None
            if large is not None:
                return large
            return analyze(views(self, watch), self.config, details=details, only=only, watch=watch)

    def _shared(self, details: bool, watch: Progress | None) -> Analysis | None:
        """Return what several processes found in a large input, None where there is not so much to do."""
        from otel_stall.parallel import analyze_paths

        return analyze_paths(
            self.paths,
            self.config,
            problems=self.problems,
            name=self.origin,
            details=details,
            jobs=self.jobs,
            progress=watch,
        )

    def credits(self) -> Credits | None:
        """Return how credit is shown, None where it was not asked for."""
        from otel_stall.report.credit import Credits

        return Credits(self.config.baseline) if self.credit else None


def _text(run: Run) -> None:
    from otel_stall.report import conversation, text
    from otel_stall.report.cells import Screen

    found = run.analysis(details=run.conversation is not None)
    screen = Screen.of(run.out, os.environ, shutil.get_terminal_size().columns)
    if run.conversation is None:
        written = text.render(found, run.problems, screen, credit=run.credits(), whole=run.whole)
    else:
        written = conversation.render(found, run.problems, screen, steps=run.steps, key=run.key, credit=run.credits())
    run.out.write(written)


def _json(run: Run) -> None:
    from otel_stall.report.json import render

    found = run.analysis(details=run.steps)
    run.out.write(render(found, run.problems, steps=run.steps, credit=run.credits(), key=run.key))


def _html(run: Run) -> None:
    from otel_stall.report.page import write

    write(run.out, run.analysis(details=True), run.problems, run.config, link=run.link)


def _otlp(run: Run) -> None:
    from otel_stall.analysis import analyze
    from otel_stall.readers import Problems, records
    from otel_stall.report.otlp import Verdicts, lines

    verdicts = Verdicts(run.key)
    with watched(run) as watch:
        analyze(views(run, watch), run.config, each=verdicts.take, watch=watch)
    if STDIN in run.paths:
        run.stdin.seek(0)
    with watched(run, "writing") as watch:
        stdin, open_file = _inputs(run, watch)
        again = records(run.paths, problems=Problems(), stdin=stdin, name=run.origin, open_file=open_file)
        run.out.writelines(lines(again, verdicts))


WRITERS: dict[str, Callable[[Run], None]] = {"text": _text, "json": _json, "html": _html, "otlp": _otlp}
"""What writes each form that `analyze` knows."""


def watched(run: Run, doing: str = "reading") -> AbstractContextManager[Progress | None]:
    """Return what shows on standard error how far long work is, while it lasts; it gives None where nothing does."""
    from otel_stall.progress import watched

    shown = run.progress and not (doing == "writing" and run.out.isatty())
    return watched(doing, run.paths, run.stdin, sys.stderr if shown else None, os.environ)


def views(run: Run, progress: Progress | None) -> Iterator[SpanView]:
    """Yield the spans of the input; `progress` follows how they are read."""
    from otel_stall.readers import read_paths

    stdin, open_file = _inputs(run, progress)
    return read_paths(run.paths, problems=run.problems, stdin=stdin, name=run.origin, open_file=open_file)


def _inputs(run: Run, progress: Progress | None) -> tuple[Readable, Open]:
    from otel_stall.readers.sources import open_file

    return (progress.counted(run.stdin), progress.open) if progress else (run.stdin, open_file)
