"""The dashboards in collector-config/grafana: the files are what the generator writes, and say what they show."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from generate import FOLDER, documents
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import units
from grafana_foundation_sdk.models.dashboard import Dashboard

from otel_stall import attributes as names

FILES: Final = ("stalls.json", "stalled-runs.json")
PROVISIONING: Final = FOLDER.parent / "provisioning"


def _board(name: str) -> dict[str, Any]:
    value = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    assert isinstance(value, dict)
    return value


def _panels(name: str) -> list[dict[str, Any]]:
    return [panel for panel in _board(name)["panels"] if panel["type"] != "row"]


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
    elif isinstance(value, str):
        yield value


def test_the_files_are_what_the_generator_writes() -> None:
    """No file differs from what generate.py gives, and none is missing or left over."""
    assert {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()} == documents()
    assert set(documents()) == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_every_panel_says_what_it_shows(name: str) -> None:
    """Each has a title, a description, a unit that Grafana knows, a text for no data, and a number of its own."""
    known = {value for key, value in vars(units).items() if not key.startswith("_") and isinstance(value, str)}
    panels = _panels(name)
    for panel in panels:
        assert panel["title"]
        assert len(panel["description"]) > 20, panel["title"]
        assert panel["fieldConfig"]["defaults"]["noValue"], panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"] in known, panel["title"]
        assert panel["targets"], panel["title"]
    ids = [panel["id"] for panel in _board(name)["panels"]]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", FILES)
def test_no_data_source_is_hard_coded(name: str) -> None:
    """Panels, their queries and the variables name the data source that a person chooses at the top."""
    board = _board(name)
    (chosen,) = [one for one in board["templating"]["list"] if one["type"] == "datasource"]
    wanted = {"type": chosen["query"], "uid": f"${{{chosen['name']}}}"}
    asked = [one for one in board["templating"]["list"] if one["type"] == "query"]
    for asking in [*asked, *_panels(name), *(target for panel in _panels(name) for target in panel["targets"])]:
        assert asking["datasource"] == wanted


@pytest.mark.parametrize("name", FILES)
def test_names_of_ours_are_in_the_registry(name: str) -> None:
    """A query asks for no `stall.*` name and no metric that otel-stall does not write or read."""
    known = {entry.key for entry in names.REGISTRY}
    flat = {key.replace(".", "_") for key in known}
    queries = [text for panel in _panels(name) for target in panel["targets"] for text in _strings(target)]
    queries += [text for one in _board(name)["templating"]["list"] for text in _strings(one.get("query", ""))]
    for query in queries:
        assert set(re.findall(r"\bstall\.[a-z_]+(?:\.[a-z_]+)*", query)) <= known
        for found in re.findall(r"\bstall_[a-z_]+", query):
            assert re.sub(r"(_seconds)?(_total|_bucket|_count|_sum)?$", "", found) in flat, found


def test_every_metric_is_shown() -> None:
    """No metric of the registry is left out of the dashboard over the metrics."""
    shown = " ".join(text for panel in _panels("stalls.json") for text in _strings(panel["targets"]))
    for entry in names.names("metric"):
        assert entry.key.replace(".", "_") in shown, entry.key


@pytest.mark.parametrize("name", FILES)
def test_the_sdk_reads_it_back(name: str) -> None:
    """No member of the file, at any depth, is unknown to the types of Grafana's schema."""
    read = json.loads(JSONEncoder().encode(Dashboard.from_json(_board(name))))
    assert _within(_board(name), read)


def _within(part: object, whole: object) -> bool:
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and _within(value, whole[key]) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) == len(whole) and all(map(_within, part, whole))
    return part == whole


def test_provisioning_names_what_is_there() -> None:
    """Data sources of both types, and a provider for the folder that the README says to mount."""
    sources = yaml.safe_load((PROVISIONING / "datasources/otel-stall.yaml").read_text(encoding="utf-8"))
    (provider,) = yaml.safe_load((PROVISIONING / "dashboards/otel-stall.yaml").read_text(encoding="utf-8"))["providers"]
    assert {one["type"] for one in sources["datasources"]} == {"prometheus", "tempo"}
    readme = (Path(FOLDER).parents[1] / "README.md").read_text(encoding="utf-8")
    assert f":{provider['options']['path']}" in readme
    for variable in re.findall(r"\$\{(\w+)\}", " ".join(_strings(sources))):
        assert variable in readme
