"""Imports between the modules go one way."""

from __future__ import annotations

from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).parent.parent


def test_contracts_hold(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every module imports only the layers below its own, as the contracts in pyproject.toml say."""
    monkeypatch.chdir(ROOT)

    status = lint_imports(config_filename="pyproject.toml", no_cache=True)

    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_every_module_is_in_the_contract() -> None:
    """A new module cannot stay outside the contract by being forgotten there."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    names = {path.stem for path in (ROOT / "otel_stall").iterdir() if path.suffix == ".py" or path.is_dir()}
    modules = names - {"__init__", "__main__", "__pycache__", "py"}

    assert sorted(name for name in modules if f'"otel_stall.{name}"' not in text) == []
