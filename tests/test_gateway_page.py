"""docs/gateway.md: its commands parse, its settings are valid, and what it names is there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from otel_stall import StallConfig
from otel_stall.cli import commands
from otel_stall.gateway.settings import GatewayConfig
from otel_stall.hook import HOSTS

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/gateway.md").read_text(encoding="utf-8")
COMMANDS = [line[2:] for line in PAGE.splitlines() if line.startswith("$ otel-stall ")]


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_parse(line: str) -> None:
    """Every command and option of the page exists."""
    _, name, *arguments = shlex.split(line)
    command = commands.commands[name]
    assert command.make_context(name, list(arguments)).params


def test_settings_are_valid() -> None:
    """The example passes the validation, both parts of it."""
    first, second = (yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
    GatewayConfig.model_validate(first.pop("gateway"))
    StallConfig.create(first)
    assert StallConfig.create(second).pressure.acts == ("notice", "replan")


def test_hook_commands_name_hosts_and_events_that_are_answered() -> None:
    """The example for a coding agent's settings is JSON, and what it names exists."""
    (text,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    for event, (group,) in json.loads(text)["hooks"].items():
        (one,) = group["hooks"]
        assert event in HOSTS[one["command"].rpartition(" ")[2]]


@pytest.mark.parametrize("name", ["token_file", "tls", "settle_seconds", "limits", "state"])
def test_settings_named_in_the_text_exist(name: str) -> None:
    """A setting that the page explains is one."""
    assert f"`{name}`" in PAGE or f"{name}:" in PAGE
    assert name in GatewayConfig.model_fields


@pytest.mark.parametrize("page", [ROOT / "docs/gateway.md", ROOT / "collector-config/README.md"])
def test_links_lead_to_files(page: Path) -> None:
    """Every relative link leads somewhere."""
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
