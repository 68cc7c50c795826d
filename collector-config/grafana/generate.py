"""Writes the dashboards as the JSON that Grafana reads: `python collector-config/grafana/generate.py`.

It needs `grafana-foundation-sdk` (in the group `dev`), the types of Grafana's own schema. A test holds that the files
are what this writes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from metrics_dashboard import metrics_dashboard
from traces_dashboard import traces_dashboard

__all__ = ["FOLDER", "documents"]

FOLDER: Final = Path(__file__).parent / "dashboards"


def documents() -> dict[str, str]:
    """Return the text of each file, by its name."""
    boards = {"stalls.json": metrics_dashboard(), "stalled-runs.json": traces_dashboard()}
    encoder = JSONEncoder(sort_keys=True, indent=2)
    return {name: encoder.encode(board.build()) + "\n" for name, board in boards.items()}


if __name__ == "__main__":
    for name, text in documents().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"wrote {FOLDER / name}")
