"""The CSV file in which a user says how runs ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from otel_stall.calibration import Label
from otel_stall.errors import ConfigError
from otel_stall.labels import read_labels


def read(folder: Path, text: str) -> dict[str, Label]:
    path = folder / "outcomes.csv"
    path.write_bytes(text.encode())
    return read_labels(path)


def test_rows_become_labels(tmp_path: Path) -> None:
    """Columns are found by name, in any order and beside others; short rows and a byte order mark are no problem."""
    text = "\ufefftask,outcome,who,conversation,task_class\r\nt1,Success,x,c1,repair\r\n,failure,,c2\r\n"

    assert read(tmp_path, text) == {"c1": Label("success", "t1", "repair"), "c2": Label("failure")}


def test_the_last_row_stands(tmp_path: Path) -> None:
    """A conversation that is listed twice is as its last row says."""
    assert read(tmp_path, "conversation,outcome\nc,failure\nc,success\n") == {"c": Label("success")}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has no column conversation"),
        ("conversation,result\nc,success\n", "has no column outcome"),
        ("conversation,outcome\nc,success\nd,solved\n", "3: the outcome must be success, failure or unknown"),
        ("conversation,outcome\n,success\n", "2: the conversation is empty"),
    ],
)
def test_wrong_files_are_refused(text: str, problem: str, tmp_path: Path) -> None:
    """The line that is wrong is named."""
    with pytest.raises(ConfigError) as raised:
        read(tmp_path, text)

    assert raised.value.field == "outcomes"
    assert raised.value.problem.endswith(problem)


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    """A missing file and one that is no text fail with a sentence."""
    (tmp_path / "binary.csv").write_bytes(b"conversation,outcome\n\xff\xfe,success\n")
    for name in ("missing.csv", "binary.csv"):
        with pytest.raises(ConfigError, match=r"^outcomes: "):
            read_labels(tmp_path / name)
