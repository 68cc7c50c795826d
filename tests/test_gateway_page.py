"""docs/gateway.md: its commands parse, its settings are valid, and what it names is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from otel_stall import StallConfig
from otel_stall.cli import commands
from otel_stall.gateway.settings import GatewayConfig

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
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    settings = yaml.safe_load(text)
    GatewayConfig.model_validate(settings.pop("gateway"))
    StallConfig.create(settings)


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
