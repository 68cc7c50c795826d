"""The registry as `otel-stall attributes` prints it."""

from __future__ import annotations

import json

import pytest

from otel_stall.attributes import REGISTRY
from otel_stall.cli import main
from otel_stall.report.registry import FORMS


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_every_name_is_printed_once_with_type_and_meaning(form: str) -> None:
    """Each form for people holds every attribute, hint, event and metric, and nothing else."""
    lines = FORMS[form]().splitlines()
    if form == "text":
        heads = [line.split(maxsplit=1) for line in lines if line.startswith("  ") and line[2] != " "]
        printed = [(*map(str.strip, head), lines[at + 1].strip()) for head in heads for at in _places(lines, head)]
    else:
        rows = [line.strip("| ").split(" | ", 2) for line in lines if line.startswith("| `")]
        printed = [(key.strip("`"), kind, meaning) for key, kind, meaning in rows]
    assert sorted(printed) == sorted((name.key, name.type, name.meaning) for name in REGISTRY)


def _places(lines: list[str], head: list[str]) -> list[int]:
    return [at for at, line in enumerate(lines) if line.split(maxsplit=1) == head]


def test_json_is_a_list_of_names() -> None:
    """One object each, in order of registration."""
    assert json.loads(FORMS["json"]()) == [
        {"name": name.key, "type": name.type, "use": name.use, "meaning": name.meaning} for name in REGISTRY
    ]


def test_the_command_prints_them(capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output is the form alone."""
    for form, made in FORMS.items():
        with pytest.raises(SystemExit) as ended:
            main(["attributes", "--format", form])
        assert not ended.value.code
        assert capsys.readouterr() == (made(), "")
