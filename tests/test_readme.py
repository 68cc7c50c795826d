"""The README's code runs, its commands work, its table is the registry's, its picture is the demo's."""

from __future__ import annotations

import io
import os
import re
import shlex
from pathlib import Path

import pytest
import yaml

from otel_stall import StallConfig, attributes, demo
from otel_stall.cli import main

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
REGENERATE = os.environ.get("OTEL_STALL_REGENERATE") == "1"

_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
_TABLE = re.compile(r"(<!-- registry: [^\n]*-->\n).*?(<!-- registry ends -->)", re.DOTALL)


def blocks(language: str) -> list[str]:
    return [code for found, code in _BLOCK.findall(README.read_text(encoding="utf-8")) if found == language]


def table() -> str:
    """Return the registry as the README shows it."""
    rows = ["| attribute | type | meaning |", "|---|---|---|"]
    rows += [f"| `{name.key}` | {name.type} | {name.meaning} |" for name in attributes.names("written")]
    rows += ["", "| event | severity | meaning |", "|---|---|---|"]
    rows += [f"| `{name.key}` | {name.type} | {name.meaning} |" for name in attributes.names("event")]
    return "\n".join(rows)


def metrics() -> str:
    rows = ["| metric | kind, unit | meaning |", "|---|---|---|"]
    rows += [f"| `{name.key}` | {name.type} | {name.meaning} |" for name in attributes.names("metric")]
    return "\n".join(rows)


def hints() -> str:
    rows = ["| hint | type | meaning |", "|---|---|---|"]
    rows += [f"| `{name.key}` | {name.type} | {name.meaning} |" for name in attributes.names("read")]
    return "\n".join(rows)


@pytest.mark.parametrize("code", blocks("python"))
def test_python_blocks_run(code: str) -> None:
    """Each Python block of the README runs by itself."""
    exec(compile(code, str(README), "exec"), {"__name__": "readme"})


@pytest.mark.parametrize("code", blocks("yaml"))
def test_settings_are_valid(code: str) -> None:
    """The README's settings pass the validation, those for declarative configuration too."""
    settings = yaml.safe_load(code)
    zero_code = settings.pop("instrumentation/development", {}).get("python", {}).get("otel_stall", {})
    StallConfig.create(settings)
    StallConfig.create(zero_code)


def commands() -> list[tuple[list[str], str]]:
    """Return the `otel-stall` commands of the README, each with the output that is shown below it."""
    found = []
    for code in blocks("console"):
        for command in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
            line, _, shown = command.partition("\n")
            words = shlex.split(line, comments=True)
            if words[0] == "otel-stall":
                found.append((words[1:], shown))
    return found


def test_commands_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Every `otel-stall` command of the README runs on a trace that the demo wrote, and prints what is shown."""
    demo.run(tmp_path / "traces.jsonl", pause=0, stream=io.StringIO())
    monkeypatch.chdir(tmp_path)
    assert commands()

    for command, shown in commands():
        with pytest.raises(SystemExit) as ended:
            main(command)
        out = capsys.readouterr().out
        assert ended.value.code == 0
        if "-o" in command:
            out = Path(command[command.index("-o") + 1]).read_text(encoding="utf-8")
        assert "stall" in out
        assert out.startswith(shown)


def test_make_targets_exist() -> None:
    """Every `make` command of the README is a target of the Makefile."""
    lines = [line for code in blocks("console") for line in code.splitlines() if line.startswith("$ make ")]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    missing = [line for line in lines if f"\n{line.split()[2]}:" not in makefile]

    assert lines
    assert missing == []


def test_tables_are_the_registry() -> None:
    """The tables of attributes, events, metrics and hints are generated from the registry."""
    text = README.read_text(encoding="utf-8")
    parts = iter([table(), metrics(), hints()])
    current = _TABLE.sub(lambda found: found.group(1) + next(parts) + "\n" + found.group(2), text)
    if REGENERATE:
        README.write_text(current, encoding="utf-8")

    assert text == current or REGENERATE


def test_picture_is_the_demo(tmp_path: Path) -> None:
    """docs/demo.svg shows what the demo prints today; `make picture` draws it anew."""
    picture = tmp_path / "demo.svg"
    demo.run(tmp_path / "spans.jsonl", pause=0, picture=picture, stream=io.StringIO())

    assert (ROOT / "docs/demo.svg").read_text(encoding="utf-8") == picture.read_text(encoding="utf-8")


def test_links_lead_somewhere() -> None:
    """Every relative link and picture of the README is a file of the project."""
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", README.read_text(encoding="utf-8"))

    assert [target for target in targets if not (ROOT / target).exists()] == []
