"""Every configuration is one that the collector takes, and its parts fit together."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from chain import CONFIGS, program

from otel_stall import attributes as names

ALL = ("tap.yaml", "inline.yaml", "keep-stalled.yaml", "metrics.yaml", "two-tier/tier1.yaml", "two-tier/tier2.yaml")


def _loaded(name: str) -> dict[str, Any]:
    value = yaml.safe_load((CONFIGS / name).read_text(encoding="utf-8"))
    assert isinstance(value, dict)
    return value


def test_every_configuration_is_among_those_tested() -> None:
    """No file of this folder is left out of these tests."""
    found = {str(path.relative_to(CONFIGS)) for path in [*CONFIGS.glob("*.yaml"), *CONFIGS.glob("two-tier/*.yaml")]}
    assert found == {*ALL, "builder.yaml"}


@pytest.mark.parametrize("name", ALL)
def test_the_collector_takes_it(name: str) -> None:
    """`validate` of the collector built from builder.yaml has nothing to say against it."""
    command = [program("otelcol-stall"), "validate", "--config", str(CONFIGS / name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "deprecated" not in done.stderr.lower()


def test_jaeger_takes_its_configuration() -> None:
    """`validate` of Jaeger has nothing to say against it."""
    command = [program("jaeger"), "validate", "--config", str(CONFIGS / "jaeger/jaeger.yaml")]
    assert subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0


@pytest.mark.parametrize("name", ALL)
def test_every_part_is_defined_and_used(name: str) -> None:
    """Pipelines name what the file defines, and nothing is defined that no pipeline names."""
    config = _loaded(name)
    connectors = set(config.get("connectors", {}))
    used: dict[str, set[str]] = {"receivers": set(), "processors": set(), "exporters": set()}
    for pipeline in config["service"]["pipelines"].values():
        for kind, parts in used.items():
            parts |= set(pipeline.get(kind, []))
    assert used["receivers"] - connectors == set(config["receivers"])
    assert used["processors"] == set(config["processors"])
    assert used["exporters"] - connectors == set(config["exporters"])
    assert set(config["service"]["extensions"]) == set(config["extensions"])


@pytest.mark.parametrize("name", ALL)
def test_nothing_that_otel_stall_sends_goes_back_to_it(name: str) -> None:
    """A pipeline that starts where its output arrives never ends at otel-stall: spans would go round for ever."""
    for pipeline in _loaded(name)["service"]["pipelines"].values():
        if {"otlp/added", "otlp/annotated"} & set(pipeline["receivers"]):
            assert not {"otlp_grpc/stall", "load_balancing"} & set(pipeline["exporters"])


@pytest.mark.parametrize("path", [*CONFIGS.rglob("*.yaml")], ids=lambda path: path.name)
def test_names_of_ours_are_in_the_registry(path: Path) -> None:
    """A configuration or a rule that asks for a `stall.*` name asks for one that is written."""
    text = path.read_text(encoding="utf-8")
    known = {name.key for name in names.REGISTRY}
    flat = {key.replace(".", "_") for key in known}
    assert set(re.findall(r"\bstall\.[a-z_]+(?:\.[a-z_]+)*", text)) <= known
    for found in set(re.findall(r"\bstall_[a-z_]+", text)):
        assert found.removesuffix("_total") in flat, found


def test_it_listens_on_loopback_unless_told_otherwise() -> None:
    """No default address is reachable from another machine."""
    for path in CONFIGS.rglob("*.yaml"):
        assert "0.0.0.0" not in path.read_text(encoding="utf-8")
