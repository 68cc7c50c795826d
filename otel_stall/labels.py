"""What a user knows of runs beside their traces: outcome and task of each conversation, from a CSV file."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Final

from otel_stall.calibration import Label
from otel_stall.errors import ConfigError

__all__ = ["read_labels"]

_NEEDED: Final = ("conversation", "outcome")
_OUTCOMES: Final = ("success", "failure", "unknown")


def read_labels(path: Path | str) -> dict[str, Label]:
    """Return the labels of a CSV file by conversation id; of two rows on one conversation the last stands.

    Its first line names the columns: `conversation` and `outcome` (success, failure or unknown), and where
    known `task` and `task_class`; others are passed over. Raises ConfigError with the line that is wrong.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as stream:
            rows = csv.DictReader(stream, restval="")
            missing = [name for name in _NEEDED if name not in (rows.fieldnames or ())]
            if missing:
                raise ConfigError("outcomes", f"{path} has no column {missing[0]}")
            return dict(_label(path, rows.line_num, row) for row in rows)
    except OSError as error:
        raise ConfigError("outcomes", f"{path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ConfigError("outcomes", f"{path} is no CSV file: {error}") from None


def _label(path: Path | str, line: int, row: dict[str, str]) -> tuple[str, Label]:
    conversation, outcome = row["conversation"].strip(), row["outcome"].strip().lower()
    if not conversation:
        raise ConfigError("outcomes", f"{path}:{line}: the conversation is empty")
    if outcome not in _OUTCOMES:
        raise ConfigError("outcomes", f"{path}:{line}: the outcome must be success, failure or unknown")
    return conversation, Label(outcome, (row.get("task") or "").strip(), (row.get("task_class") or "").strip())
