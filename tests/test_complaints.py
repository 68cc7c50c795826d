"""Rules of `complaints`: a wrong setting is told in a sentence, with its name, and without what was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from otel_stall.cli import main
from otel_stall.config import StallConfig
from otel_stall.errors import ConfigError, ConfigFileError


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"detection": {"dry_notice": "x"}}, "detection.dry_notice: must be a whole number"),
        ({"detection": {"dry_notice": 1.5}}, "detection.dry_notice: must be a whole number"),
        ({"detection": {"dry_notice": []}}, "detection.dry_notice: must be a whole number"),
        ({"detection": {"dry_notice": "9" * 5_000}}, "detection.dry_notice: must be a whole number of fewer digits"),
        ({"detection": {"dry_notice": 0}}, "detection.dry_notice: must be 1 or more"),
        ({"detection": {"thin_unseen": 2}}, "detection.thin_unseen: must be 1 or less"),
        ({"detection": 3}, "detection: must be a section with settings of its own"),
        ({"detectoin": {}}, "detectoin: there is no such setting; detection is one"),
        ({"detection": {"dry_notise": 3}}, "detection.dry_notise: there is no such setting; dry_notice is one"),
        ({"milestones": {"tools": {"nevr": []}}}, "milestones.tools.nevr: there is no such setting; never is one"),
        ({"qqq": 1}, "qqq: there is no such setting"),
        ({"mode": "secret"}, "mode: must be 'annotate' or 'events_only'"),
        ({"metrics": "secret"}, "metrics: must be true or false"),
        ({"hook_seconds": "secret"}, "hook_seconds: must be a number"),
        ({"hook_seconds": float("nan")}, "hook_seconds: must be a finite number"),
        ({"hook_seconds": -1}, "hook_seconds: must be 0 or more"),
        ({"fingerprint_key": 3}, "fingerprint_key: must be a text"),
        ({"milestones": {"tools": {"never": [3]}}}, "milestones.tools.never.0: must be a text"),
        ({"baseline": 3}, "baseline: must be the path of a file that `otel-stall calibrate` wrote"),
    ],
)
def test_of_a_value(values: dict[str, object], said: str) -> None:
    """The field as the user wrote it, and what it must be."""
    with pytest.raises(ConfigError) as raised:
        StallConfig.create(values)
    assert str(raised.value) == said


def test_of_a_variable(caplog: pytest.LogCaptureFixture) -> None:
    """The same sentence, and the value is left out."""
    config = StallConfig.from_environ({"OTEL_STALL_DETECTION_DRY_NOTICE": "secret", "OTEL_STALL_MODE": "secret"})
    assert config == StallConfig()
    assert [record.getMessage() for record in caplog.records] == [
        "OTEL_STALL_DETECTION_DRY_NOTICE is ignored: must be a whole number",
        "OTEL_STALL_MODE is ignored: must be 'annotate' or 'events_only'",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"a: [1\n", "is no YAML, see line 2"),
        (b"a: \xff\xff\n", "cannot be read: it is no text in UTF-8"),
        (b"- a\n", "has no settings by their names"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_of_a_file(text: bytes | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line that names the file, which is no setting, and exit status 2."""
    path = tmp_path / "stall.yaml"
    if text is not None:
        path.write_bytes(text)
    with pytest.raises(ConfigFileError):
        StallConfig.load(path)
    with pytest.raises(SystemExit) as ended:
        main(["analyze", "--config", str(path), str(tmp_path)])
    assert (ended.value.code, capsys.readouterr().err) == (2, f"otel-stall: the file {path}: {said}\n")
