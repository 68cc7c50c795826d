"""What Grafana itself publishes to check with: its schema in TypeScript, and the TraceQL grammar of its editor."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["HERE", "Read", "packages", "read_traceql"]

HERE: Final = Path(__file__).parent / "grafana"


@dataclass(frozen=True, slots=True)
class Read:
    """What the grammar makes of a query: places of errors, attributes named, and what is compared with which value."""

    errors: Sequence[int]
    attributes: Sequence[str]
    comparisons: Sequence[tuple[str, str, str, str]]


def packages() -> Path:
    """Return the folder in which `make test-pipeline` installs the packages; without it the test fails."""
    folder = Path(os.environ.get("OTEL_STALL_GRAFANA_CHECKS", Path(__file__).parents[2] / ".venv-grafana"))
    assert (folder / "node_modules/@grafana/schema").is_dir(), f"{folder} has no packages: run `make test-pipeline`"
    return folder


def read_traceql(queries: Sequence[str]) -> list[Read]:
    """Return what Grafana's grammar makes of each query."""
    command = ["node", str(HERE / "traceql.cjs"), str(packages())]
    done = subprocess.run(command, input=json.dumps(queries), capture_output=True, text=True, timeout=60, check=True)
    return [
        Read(one["errors"], one["attributes"], [tuple(c) for c in one["comparisons"]])
        for one in json.loads(done.stdout)
    ]
