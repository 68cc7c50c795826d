"""Imports between the modules go one way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
_LINT = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"


def test_contracts_hold() -> None:
    """Every module imports only the layers below its own, as the contracts in pyproject.toml say."""
    # In a process of its own: import-linter configures the logging of the process it runs in.
    done = subprocess.run([sys.executable, "-c", _LINT], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_every_module_is_in_the_contract() -> None:
    """A new module cannot stay outside the contract by being forgotten there."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    names = {path.stem for path in (ROOT / "otel_stall").iterdir() if path.suffix == ".py" or path.is_dir()}
    modules = names - {"__init__", "__main__", "__pycache__", "py"}

    assert sorted(name for name in modules if f'"otel_stall.{name}"' not in text) == []
