"""Reports to be opened, each with the JSON document of the same analysis."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otel_stall.analysis import analyze
from otel_stall.config import StallConfig
from otel_stall.readers import Problems, read_paths
from otel_stall.report import json as as_json
from otel_stall.report.page import TraceLink, write

__all__ = ["Report", "reported"]

LINK = TraceLink("http://localhost:16686/trace/{trace_id}?uiFind={span_id}")


@dataclass(frozen=True)
class Report:
    """A page, and the JSON document of the same analysis."""

    path: Path
    document: dict[str, Any]


def reported(spans: Path, folder: Path) -> Report:
    """Write the page of these traces into the folder."""
    problems = Problems()
    found = analyze(read_paths([str(spans)], problems=problems), details=True)
    path = folder / "report.html"
    with path.open("w", encoding="utf-8") as out:
        write(out, found, problems, StallConfig(), link=LINK)
    return Report(path, json.loads(as_json.render(found, problems, steps=True)))
