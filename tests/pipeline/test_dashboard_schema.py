"""The dashboards hold to the schema that Grafana publishes, by the TypeScript compiler."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from chain import CONFIGS
from grafana_checks import HERE, packages

OPTIONS = ("--noEmit", "--strict", "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler")


def _board(name: str) -> dict[str, Any]:
    board = json.loads((CONFIGS / "grafana/dashboards" / name).read_text(encoding="utf-8"))
    assert isinstance(board, dict)
    return board


def _compiled(board: dict[str, Any], folder: Path) -> str:
    """Return what the compiler says against a dashboard: its frame, its rows, and each panel as one of its type."""
    rest = {key: value for key, value in board.items() if key != "panels"}
    lines = ['import type { Board, Panels, Row } from "./panels";', f"export const board: Board = {json.dumps(rest)};"]
    for panel in board["panels"]:
        kind = "Row" if panel["type"] == "row" else f'Panels["{panel["type"]}"]'
        lines.append(f"export const panel{panel['id']}: {kind} = {json.dumps(panel)};")
    (folder / "board.ts").write_text("\n".join(lines), encoding="utf-8")
    shutil.copy(HERE / "panels.ts", folder)
    (folder / "node_modules").symlink_to(packages() / "node_modules")
    command = ["node", "node_modules/typescript/bin/tsc", *OPTIONS, "--target", "es2022", "board.ts"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    return done.stdout


@pytest.mark.parametrize("name", ["stalls.json", "stalled-runs.json"])
def test_the_dashboard_is_one_by_the_schema(name: str, tmp_path: Path) -> None:
    """Dashboard, rows, panels, their options, units, thresholds and variables have the schema's types, and no more."""
    assert _compiled(_board(name), tmp_path) == ""


@pytest.mark.parametrize(
    ("part", "value"), [("type", "gauge-o-meter"), ("options", {"colorMode": "loud"}), ("descripton", "")]
)
def test_what_is_not_in_the_schema_is_found(part: str, value: object, tmp_path: Path) -> None:
    """A type of panel, a value of an option or a member that Grafana does not have is said."""
    board = _board("stalls.json")
    panel = next(one for one in board["panels"] if one["type"] == "stat")
    board["panels"] = [{**panel, part: value}]
    assert "error TS" in _compiled(board, tmp_path)
