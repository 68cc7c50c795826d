"""The command line. Commands import what they need when they run, so that `--help` is quick."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

import click

from otel_stall import __version__
from otel_stall.cli_forms import STDIN, WRITERS, Run, views, watched
from otel_stall.cli_gateway import hook, serve, status
from otel_stall.errors import ConfigError, ConfigFileError, NoAnswerError, SelectionError

if TYPE_CHECKING:
    from otel_stall.config import StallConfig
    from otel_stall.readers import Problems
    from otel_stall.report.page import TraceLink

__all__ = ["commands", "main"]

NOTHING_READ = 1
"""Exit status where no input could be read."""
WRONG_USAGE = 2
"""Exit status for a wrong option or setting."""
_INTERRUPTED = 130
_INTERNAL = 70
FORMATS = ("otlp", "jaeger", "tempo", "phoenix", "cloudwatch", "trail", "sdk")
"""Names of the formats that can be read; the same as in `readers`, which is imported only when a command runs."""


_from = click.option(
    "--from",
    "origin",
    type=click.Choice(FORMATS),
    default=None,
    show_default="told by the content",
    help="Read everything as this format.",
)
_no_progress = click.option("--no-progress", is_flag=True, help="Do not show how far long work is.")


@click.group(name="otel-stall", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="otel-stall")
def commands() -> None:
    """Find stalled LLM agents in OpenTelemetry traces, by what their tool calls gained."""


@commands.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "html", "otlp"]),
    default="text",
    show_default=True,
    help="A report to read, one JSON object, a page for a browser, or the input with the verdicts on its spans.",
)
@click.option("--steps", is_flag=True, help="With --format json or --conversation: what is known of every step.")
@click.option(
    "--conversation", metavar="ID", help="One conversation alone, by its id or a beginning that no other has."
)
@click.option("--all", "whole", is_flag=True, help="List every conversation, not only those that cost most.")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to a file, not standard output."
)
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    help="Settings in YAML; OTEL_STALL_* variables complete them.",
)
@click.option("--baseline", type=click.Path(path_type=Path), help="What is normal, a file that calibrate wrote.")
@click.option("--credit", is_flag=True, help="How directly each segment led to its milestone, in text and json.")
@click.option(
    "--trace-url",
    metavar="TEMPLATE",
    help="With --format html: where traces are seen, e.g. http://localhost:16686/trace/{trace_id}?uiFind={span_id}",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    show_default="one a processor",
    help="Processes that share the work on large files, with text, json and html.",
)
@_from
@_no_progress
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
def analyze(
    form: str,
    steps: bool,
    conversation: str | None,
    whole: bool,
    output: Path | None,
    config_path: Path | None,
    baseline: Path | None,
    credit: bool,
    trace_url: str | None,
    jobs: int | None,
    origin: str | None,
    no_progress: bool,
    paths: Sequence[str],
) -> int:
    """Say which conversations in exported traces stalled, where, and why.

    PATH is a file, a folder or "-" for standard input: OTLP as JSON lines or protobuf, traces as Jaeger,
    Tempo, Phoenix or CloudWatch give them out or as the TRAIL benchmark has them, or spans as the Python
    SDK prints them; gzip and Zstandard are recognised. Exit status 1 if no span could be read.

    With --conversation the text is the course of that conversation, step by step, and each stall with its
    evidence; every figure is of that conversation alone.
    """
    from otel_stall.readers import Problems

    _check(output, paths)
    _check_forms(form, conversation, steps=steps, credit=credit, whole=whole, linked=trace_url is not None)
    link = _trace_link(trace_url)
    problems = Problems()
    config = _config(config_path, baseline)
    with _repeatable(paths, form) as stdin, _opened(output) as out:
        try:
            run = Run(tuple(paths), config, problems, stdin, out, steps, credit, origin or "", not no_progress, link)
            WRITERS[form](replace(run, conversation=conversation, whole=whole, jobs=jobs))
            out.flush()
        except BrokenPipeError:
            _discard_output()
        except SelectionError:
            if status := _say(problems, listed=True):
                return status
            raise
        shown = form == "text" and out is sys.stdout and out.isatty()
    return _say(problems, listed=not shown)


def _check_forms(form: str, conversation: str | None, *, steps: bool, credit: bool, whole: bool, linked: bool) -> None:
    """Raise an error for options that do not go together."""
    told = form == "text" and conversation is not None
    for wrong, said in (
        (conversation is not None and form == "otlp", "--conversation goes with text, json and html"),
        (steps and form != "json" and not told, "--steps goes with --format json, or with the text of --conversation"),
        (credit and form not in ("text", "json"), "--credit goes with text and json"),
        (whole and (form != "text" or told), "--all goes with the text of all conversations"),
        (linked and form != "html", "--trace-url goes with --format html"),
    ):
        if wrong:
            raise click.UsageError(said)


def _trace_link(template: str | None) -> TraceLink | None:
    if template is None:
        return None
    from otel_stall.report.page import TraceLink

    return TraceLink(template)


@contextmanager
def _repeatable(paths: Sequence[str], form: str) -> Iterator[BinaryIO]:
    """Give standard input, as a temporary file where it has to be read twice."""
    if form != "otlp" or STDIN not in paths:
        yield sys.stdin.buffer
        return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.seek(0)
        yield copy


@contextmanager
def _opened(output: Path | None) -> Iterator[TextIO]:
    if output is None:
        yield sys.stdout
        return
    try:
        stream = output.open("w", encoding="utf-8", errors="replace")
    except OSError as error:
        raise _Unwritable(str(output), error.strerror or "cannot be written") from None
    try:
        with stream:
            yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _Unwritable(str(output), error.strerror or "cannot be written") from None


class _Unwritable(click.FileError):
    exit_code = WRONG_USAGE


def _creatable(path: Path) -> None:
    """Raise an error for a person where no file can be made at that path."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("a", encoding="utf-8").close()
    except FileExistsError:
        raise _Unwritable(str(path), "its folder is a file") from None
    except OSError as error:
        raise _Unwritable(str(path), error.strerror or "cannot be written") from None


def _check(output: Path | None, paths: Sequence[str]) -> None:
    if list(paths).count(STDIN) > 1:
        raise click.UsageError("standard input can be read only once")
    if output is not None and output.exists() and any(Path(path).resolve() == output.resolve() for path in paths):
        raise click.UsageError(f"{output} is read and cannot be written at the same time")


def _say(problems: Problems, *, listed: bool) -> int:
    """Tell the problems on standard error and return the exit status."""
    from otel_stall.report.parts import problem_line

    if listed:
        for problem in problems.kept:
            click.echo(f"otel-stall: {problem_line(problem)}", err=True)
        if problems.dropped:
            click.echo(f"otel-stall: and {problems.dropped} more problems", err=True)
    if problems.items or (problems.exports and not problems.count):
        return 0
    found = "no span was found in what could be read" if problems.requests else "nothing could be read"
    click.echo(f"otel-stall: {found}", err=True)
    return NOTHING_READ


@commands.command()
@click.option(
    "--outcomes",
    type=click.Path(path_type=Path),
    help="CSV with conversation and outcome, and if known task and task_class, in place of what the spans say.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("baseline.json"),
    show_default=True,
    help="File the baseline is written to.",
)
@_from
@_no_progress
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
def calibrate(outcomes: Path | None, output: Path, origin: str | None, no_progress: bool, paths: Sequence[str]) -> int:
    """Learn from runs that went well how many steps without a milestone are normal.

    PATH is what `analyze` reads; outcome and task of a run are stall.run.outcome, stall.task.id and
    stall.task.class on its spans. The file is for --baseline, or the setting `baseline`.
    """
    from otel_stall.calibration import calibrate
    from otel_stall.labels import read_labels
    from otel_stall.readers import Problems
    from otel_stall.report.calibration import render

    _check(output, paths)
    labels = read_labels(outcomes) if outcomes else {}
    problems, config = Problems(), _config(None)
    with _repeatable(paths, "text") as stdin:
        run = Run(tuple(paths), config, problems, stdin, sys.stdout, False, False, origin or "", not no_progress)
        found = run.analysis()
    if status := _say(problems, listed=True):
        return status
    runs = [run for lane in found.conversations for run in lane.runs]
    made = calibrate(runs, labels, floor=config.detection.distance_limit)
    if not made.successful:
        raise click.ClickException("no run is known to have succeeded (stall.run.outcome, or --outcomes)")
    with _opened(output) as stream:
        stream.write(made.baseline.dump())
    click.echo(render(made), nl=False)
    click.echo(f"\nWritten to {output}; use it with --baseline {output} or OTEL_STALL_BASELINE.")
    return 0


@commands.command()
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--milestones", is_flag=True, help="Say what reached milestones, and what looks irreversible.")
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    help="With --milestones: settings in YAML; OTEL_STALL_* variables complete them.",
)
@_from
@_no_progress
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
def doctor(
    form: str,
    milestones: bool,
    config_path: Path | None,
    origin: str | None,
    no_progress: bool,
    paths: Sequence[str],
) -> int:
    """Say whether traces can be judged, and what to switch on where they cannot.

    PATH is what `analyze` reads. Which spans are tool calls, which were left out and why, and how many
    calls have arguments, results, ids and a conversation, for each instrumentation. With --milestones: what
    reached a milestone, by which rule, and which tools and commands count as irreversible or as checks, by the
    built-in rules and by the settings.
    """
    from otel_stall.readers import Problems

    _check(None, paths)
    if config_path is not None and not milestones:
        raise click.UsageError("--config goes with --milestones")
    problems, config = Problems(), _config(config_path)
    run = Run(tuple(paths), config, problems, sys.stdin.buffer, sys.stdout, False, False, origin or "", not no_progress)
    _print((_surveyed if milestones else _examined)(run, form))
    return _say(problems, listed=form == "json" or not sys.stdout.isatty())


def _examined(run: Run, form: str) -> str:
    from otel_stall.doctor import examine
    from otel_stall.report.doctor import document, render

    with watched(run) as watch:
        found = examine(views(run, watch))
    return (document if form == "json" else render)(found, run.problems)


def _surveyed(run: Run, form: str) -> str:
    from otel_stall.report.survey import document, render
    from otel_stall.survey import survey

    with watched(run) as watch:
        found = survey(views(run, watch), run.config)
    return (document if form == "json" else render)(found, run.problems)


@commands.command()
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
def attributes(form: str) -> int:
    """Print every stall.* attribute, hint, event and metric with its meaning."""
    from otel_stall.report.registry import FORMS

    _print(FORMS[form]())
    return 0


@commands.command()
@click.option("--fast", is_flag=True, help="Do not pause between the steps.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("demo-output/spans.jsonl"),
    show_default=True,
    help="File the spans are written to.",
)
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Save the run as a picture, too.")
def demo(fast: bool, output: Path, svg: Path | None) -> int:
    """Watch an agent stall and recover: the processor live, then the analysis of the trace it left."""
    from otel_stall.demo import run

    for path in (output, svg):
        if path is not None:
            _creatable(path)
    return run(output, pause=0.0 if fast or not sys.stdout.isatty() else 0.12, picture=svg)


commands.add_command(hook)
commands.add_command(serve)
commands.add_command(status)


def _print(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()


def _discard_output() -> None:
    """Let nothing more go to a reader that went away: Python would complain when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _config(path: Path | None, baseline: Path | None = None) -> StallConfig:
    from otel_stall.baseline import Baseline
    from otel_stall.config import StallConfig

    config = StallConfig.load(path, os.environ) if path else StallConfig.from_environ(os.environ)
    return config.model_copy(update={"baseline": Baseline.load(baseline)}) if baseline else config


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status; the entry point."""
    sys.exit(_status(arguments))


def _status(arguments: Sequence[str] | None) -> int:
    try:
        ended: object = commands.main(args=arguments, standalone_mode=False)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except SelectionError as error:
        click.echo(f"otel-stall: {error}", err=True)
        return WRONG_USAGE
    except NoAnswerError as error:
        click.echo(f"otel-stall: {error}", err=True)
        return NOTHING_READ
    except ConfigFileError as error:
        click.echo(f"otel-stall: the file {error}", err=True)
        return WRONG_USAGE
    except ConfigError as error:
        click.echo(f"otel-stall: wrong setting {error}", err=True)
        return WRONG_USAGE
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except OSError as error:
        _discard_output()
        click.echo(f"otel-stall: {error.strerror or type(error).__name__}", err=True)
        return WRONG_USAGE
    except Exception as error:
        _tell_internal(error)
        return _INTERNAL
    return ended if isinstance(ended, int) else 0


def _tell_internal(error: Exception) -> None:
    """Say where an error of ours happened, without its message: that may hold what was being read."""
    import traceback

    frames = "".join(traceback.format_tb(error.__traceback__))
    click.echo(f"{frames}otel-stall: an internal error, {type(error).__name__}, at the last of these places", err=True)
