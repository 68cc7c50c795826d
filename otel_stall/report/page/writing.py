"""Writes the page: what is the same for every report around the data of this one.

Data stands in elements that no browser executes: the document as JSON, each lane's record as JSON compressed
by zlib, in base64, which is unpacked when a person opens it. Text of a trace becomes part of the page by its
scripts alone, as text.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING, Final, TextIO

from otel_stall import __version__
from otel_stall.measurement import measure
from otel_stall.reasons import SENTENCES
from otel_stall.report import measurement
from otel_stall.report.json import SCHEMA, summary
from otel_stall.report.page.assets import load
from otel_stall.report.page.links import TraceLink
from otel_stall.report.page.records import COLUMNS, record, row
from otel_stall.report.parts import listed, problem_lines
from otel_stall.report.text import headline, unseen

if TYPE_CHECKING:
    from otel_stall.config import StallConfig
    from otel_stall.findings import Analysis
    from otel_stall.readers import Problems

__all__ = ["write"]

_ESCAPED: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_LEVEL: Final = 6
"""Effort of zlib: more takes twice the time for one part in a hundred."""


def write(
    out: TextIO, analysis: Analysis, problems: Problems, config: StallConfig, *, link: TraceLink | None = None
) -> None:
    """Write the page; the analysis must have been made with details. The same analysis gives the same bytes."""
    assets = load()
    out.write(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{assets.policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta name="generator" content="otel-stall {__version__}">\n'
        f"<title>otel-stall: {_title(analysis)}</title>\n"
        f"<style>\n{assets.style}</style>\n</head>\n{assets.body}"
    )
    out.write(_data("report", _document(analysis, problems, config, link)))
    for number, lane in enumerate(analysis.conversations):
        out.write(_packed(number, record(lane, config.fingerprint_key.get_secret_value())))
    out.write(f"<script>{assets.library}</script>\n<script>{assets.program}</script>\n</body>\n</html>\n")


def _title(analysis: Analysis) -> str:
    """Return the page's title, in which there is nothing of a trace but two numbers."""
    return f"{analysis.summary.stalled} of {analysis.summary.conversations} conversations stalled"


def _document(analysis: Analysis, problems: Problems, config: StallConfig, link: TraceLink | None) -> dict[str, object]:
    detection = config.detection
    measured = measure(analysis.conversations)
    return {
        "schema": SCHEMA,
        "version": __version__,
        "spans": analysis.spans,
        "summary": summary(analysis, measured),
        "headline": list(headline(analysis)),
        "measurement": list(measurement.lines(measured)),
        "verdict": measurement.verdict(measured) if analysis.summary.stalled else "nothing stalled",
        "unseen": list(unseen(analysis, problems)),
        "problems": listed(problems),
        "problem_lines": list(problem_lines(problems)),
        "dry_levels": {
            "notice": detection.dry_notice,
            "replan": detection.dry_replan,
            "ask_user": detection.dry_ask_user,
            "abandon": detection.dry_abandon,
        },
        "reasons": SENTENCES,
        "link": link.parts() if link else None,
        "columns": COLUMNS,
        "rows": [row(lane) for lane in analysis.conversations],
    }


def _data(name: str, value: object) -> str:
    """Return an element that holds JSON: ASCII, and without a character that could end the element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":")).translate(_ESCAPED)
    return f'<script type="application/json" id="{name}">{text}</script>\n'


def _packed(number: int, value: object) -> str:
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    packed = base64.b64encode(zlib.compress(text.encode(), _LEVEL)).decode()
    return f'<script type="text/plain" id="lane-{number}">{packed}</script>\n'
