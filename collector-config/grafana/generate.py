"""Writes the dashboards as the JSON that Grafana reads: `python collector-config/grafana/generate.py`.

It needs `grafana-foundation-sdk` (in the group `dev`), the types of Grafana's own schema. A test holds that the files
are what this writes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from metrics_dashboard import metrics_dashboard
from traces_dashboard import traces_dashboard

__all__ = ["FOLDER", "documents"]

FOLDER: Final = Path(__file__).parent / "dashboards"


def documents() -> dict[str, str]:
    """Return the text of each file, by its name."""
    boards = {"stalls.json": metrics_dashboard(), "stalled-runs.json": traces_dashboard()}
    return {name: _text(board) for name, board in boards.items()}


def _text(board: Dashboard) -> str:
    document = json.loads(JSONEncoder().encode(board.build()))
    # Of Grafana 11.6, and no longer in the schema of 13; without them both draw the same.
    for variable in document["templating"]["list"]:
        for gone in ("auto", "auto_count", "auto_min"):
            variable.pop(gone, None)
    for panel in document["panels"]:
        panel.get("options", {}).pop("footer", None)
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name, text in documents().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"wrote {FOLDER / name}")
