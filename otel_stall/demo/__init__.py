"""`otel-stall demo`: an agent that stalls, live in the terminal, and the analysis of the trace it leaves.

No network, no server, no model: a script, the real SDK and a file.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from rich.console import Console

from otel_stall.analysis import analyze
from otel_stall.config import StallConfig
from otel_stall.demo import agent
from otel_stall.demo.show import Stage
from otel_stall.findings import Analysis
from otel_stall.otlp.protobuf import to_json
from otel_stall.readers import Problems, read_paths
from otel_stall.report.cells import Screen
from otel_stall.report.page import write
from otel_stall.report.text import render
from otel_stall.verdicts import Level

__all__ = ["OtlpFileExporter", "run"]


class OtlpFileExporter(SpanExporter):
    """Writes each batch of spans as one line of OTLP/JSON, as the collector's file exporter does."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Write the spans; called on the thread that ended them."""
        request = TracesData.FromString(encode_spans(spans).SerializeToString())
        self._stream.write(json.dumps(to_json(request), ensure_ascii=False) + "\n")
        return SpanExportResult.SUCCESS


def run(path: Path, *, pause: float, picture: Path | None = None, stream: TextIO = sys.stdout) -> int:
    """Run the demo, write its spans to `path`, analyse that file, and return the exit status.

    The report for a browser is written beside that file. `picture` names an SVG file that then shows the run
    as the terminal did.
    """
    console = _console(stream, recorded=picture is not None)
    console.print("A coding agent at work, traced. After each call: what it gained.", style="bold")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        agent.run(SimpleSpanProcessor(OtlpFileExporter(file)), Stage(console, pause).tell)
    if picture is not None:
        picture.write_text(_svg(console), encoding="utf-8")
    problems = Problems()
    found = analyze(read_paths([str(path)], problems=problems), details=True)
    console.print(f"\n{_tiers(found)}", style="bold")
    console.print(f"\n$ otel-stall analyze {path}\n", style="bold")
    stream.write(render(found, problems, Screen.of(stream, os.environ, console.width)))
    page = path.with_name(f"{path.stem}-report.html")
    with page.open("w", encoding="utf-8") as file:
        write(file, found, problems, StallConfig())
    console.print(f"\nThe same as a page for a browser: {page}", style="bold")
    return 0


def _console(stream: TextIO, *, recorded: bool) -> Console:
    if recorded:
        return Console(
            file=stream, highlight=False, record=True, width=92, force_terminal=True, color_system="truecolor"
        )
    return Console(file=stream, highlight=False, soft_wrap=not stream.isatty())


def _svg(console: Console) -> str:
    """Return what was printed as a picture that loads nothing from anywhere."""
    fonts = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
    return fonts.sub("", console.export_svg(title="otel-stall demo", clear=False))


def _tiers(found: Analysis) -> str:
    """Say what the rules over tool names and arguments made of this run."""
    stalls = [stall for lane in found.conversations for stall in lane.stalls]
    heard = [stall for stall in stalls if not stall.input_tiers.silent]
    highest = max((stall.level for stall in stalls), key=lambda level: level.rank, default=Level.NOTICE)
    said = "stayed silent" if not heard else f"fired in {len(heard)} of them"
    count = "1 stall" if len(stalls) == 1 else f"{len(stalls)} stalls"
    return (
        f"{count}, the hardest push was {highest.value}. The three rules that look at calls alone\n"
        f"(same call again, a cycle of calls, two compactions near the end of a budget) {said}."
    )
