"""The queries of the dashboard over the metrics, asked of a real Prometheus that scraped a run that stalled."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import urllib3
import yaml
from chain import CONFIGS, Ports, collector, eventually, prometheus
from downstreams import process, traces
from metrics_dashboard import counted, living
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from recipes import recipes
from stalled_runs import TASK_CLASS, repair, runs

from otel_stall.config import StallConfig
from otel_stall.processor import StallSpanProcessor

EMPTY_WHEN_WELL: Final = {("What should not happen", "A"), ("Not sent, not saved", "A")}
"""Queries that are empty where nothing went wrong, by panel and letter: no internal error, nothing refused for good."""

WINDOWS: Final = {"$__range": "10m", "$__rate_interval": "1m"}
ALL: Final = {"$agent": ".*", "$task_class": ".*"}


@dataclass(frozen=True, slots=True)
class Asked:
    """One query of a panel."""

    title: str
    letter: str
    query: str
    instant: bool

    def filled(self, values: Mapping[str, str]) -> str:
        """Return the query with the variables of Grafana filled in."""
        query = self.query
        for name, value in {**WINDOWS, **values}.items():
            query = query.replace(name, value)
        assert "$" not in query, query
        return query


def _asked() -> list[Asked]:
    board = json.loads((CONFIGS / "grafana/dashboards/stalls.json").read_text(encoding="utf-8"))
    return [
        Asked(panel["title"], target["refId"], target["expr"], target["instant"])
        for panel in board["panels"]
        for target in panel.get("targets", [])
    ]


ASKED: Final = _asked()


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Prometheus that scraped the collector: the runs came through a gateway, and one more host judges in itself."""
    folder, ports = tmp_path_factory.mktemp("metrics"), Ports()
    (folder / "often.yaml").write_text("gateway: {metrics_seconds: 0.3}\n", encoding="utf-8")
    options = ["--mode", "inline", "--forward", f"grpc://{ports['ADDED_GRPC']}", "--config", str(folder / "often.yaml")]
    with (
        collector("metrics.yaml", folder, ports, FLUSH="200ms"),
        prometheus(folder, ports) as url,
        process(*options) as gateway,
    ):
        for spans in runs().every():
            assert gateway.send(traces(spans))
        _judged_in_a_host(ports["ADDED_GRPC"])
        names = ("stall_segment_length_bucket", "stall_processor_duration_seconds_bucket", "agent_tools_calls_total")
        eventually(lambda: all(len(_ask(url, name)) > 1 for name in names))
        time.sleep(3)  # `increase` wants a second value of each series
        yield url


def _judged_in_a_host(collector_address: str) -> None:
    exporter = OTLPMetricExporter(endpoint=collector_address, insecure=True)
    resource = Resource({"service.name": "host"})
    provider = MeterProvider(
        [PeriodicExportingMetricReader(exporter, export_interval_millis=60_000)], resource=resource
    )
    repair("in-process", StallSpanProcessor(StallConfig(), meter_provider=provider))
    provider.shutdown()


def _ask(api: str, query: str, *, instant: bool = True) -> list[dict[str, Any]]:
    now = time.time()
    fields = {"query": query, "time": str(now)}
    if not instant:
        fields = {"query": query, "start": str(now - 60), "end": str(now), "step": "5"}
    path = "query" if instant else "query_range"
    answer = urllib3.request("POST", f"{api}/api/v1/{path}", fields=fields, retries=False, timeout=20).json()
    assert answer["status"] == "success", (query, answer)
    found = answer["data"]["result"]
    assert isinstance(found, list)
    return found


def _figures(api: str, title: str, letter: str = "A", **variables: str) -> dict[tuple[str, ...], float]:
    """Return what an instant query of a panel gives: figures by the values of their labels."""
    (asked,) = [one for one in ASKED if (one.title, one.letter) == (title, letter)]
    assert asked.instant
    found = _ask(api, asked.filled({**ALL, **{f"${name}": value for name, value in variables.items()}}))
    return {tuple(one["metric"][key] for key in sorted(one["metric"])): float(one["value"][1]) for one in found}


@pytest.mark.parametrize("asked", ASKED, ids=lambda one: f"{one.title} {one.letter}")
def test_every_query_has_data(asked: Asked, api: str) -> None:
    """After runs that stalled, each query of each panel gives figures, but those that are empty when all is well."""
    found = _ask(api, asked.filled(ALL), instant=asked.instant)
    values = [value for one in found for _, value in (one.get("values") or [one["value"]])]
    if (asked.title, asked.letter) in EMPTY_WHEN_WELL:
        assert not found
    else:
        assert any(value != "NaN" for value in values)


def test_the_figures_are_those_of_the_runs(api: str) -> None:
    """Stalls that happened before the first scrape count in full: what began, ended and was reached is there."""
    one_run, both = {("fixer",): 4.0}, {("fixer",): 4.0, ("coder",): 2.0}
    assert _figures(api, "Agents", "C") == both
    assert _figures(api, "Agents", "C", agent="fixer") == one_run
    assert _figures(api, "Task classes", "C") == {(): 2.0, (TASK_CLASS,): 4.0}
    assert _figures(api, "Stalls that began") == {(): 6.0}
    assert _figures(api, "Stalls that began", task_class=TASK_CLASS) == {(): 4.0}
    assert _figures(api, "Stalls that ended") == {("amnesia", "notice"): 2.0, ("no_gradient", "ask_user"): 2.0}
    assert _figures(api, "Conversations in a stall") == {(): 2.0}
    assert _figures(api, "Agents", "A")[("coder",)] == 40 + 12 + 1
    assert _figures(api, "Steps that called for a person", agent="coder") == {(): 10.0}
    assert 0 < _figures(api, "Share of steps in a stall")[()] < 1
    assert _figures(api, "Tools that are called in stalls")[("read_file", "loop")] == 35 + 7


@pytest.mark.parametrize("query", [one.query for one in recipes("promql")])
def test_a_recipe_for_prometheus_has_data(query: str, api: str) -> None:
    """Each PromQL query of docs/queries.md gives figures, by the labels that it names."""
    found = _ask(api, query)
    assert any(one["value"][1] not in ("NaN", "0") for one in found)
    grouped = re.findall(r"by \(([^)]*)\)", query)
    labels = {label.strip() for group in grouped for label in group.split(",")} - {"le"}
    assert any(set(one["metric"]) == labels for one in found)


def test_prometheus_takes_every_expression(tmp_path: Path) -> None:
    """Prometheus's own checker has nothing to say against any query."""
    rules = [{"record": f"panel:query{place}", "expr": one.filled(ALL)} for place, one in enumerate(ASKED)]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "g", "rules": rules}]}), encoding="utf-8")
    command = ["promtool", "check", "rules", "rules.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(ASKED)} rules found" in done.stdout


def test_what_is_counted_is_what_is_new(tmp_path: Path) -> None:
    """A first value counts in full, a gap in what was scraped counts nothing twice, what ended stalls no more."""
    starts, steps = "stall_starts_total", "stall_steps_total"
    series = {
        f'{starts}{{of="first value"}}': "_x50 1x30",
        f'{starts}{{of="first value, and more"}}': "_x55 2x4 3x20",
        f'{starts}{{of="long known"}}': "5x80",
        f'{starts}{{of="known before a gap"}}': "5x20 _x35 5x30",
        f'{starts}{{of="grown over a gap"}}': "5x20 _x35 5x5 7x30",
        f'{starts}{{of="begun again"}}': "5x55 1x30",
        f'{steps}{{instance="ended"}}': "9x80",
        f'{steps}{{instance="lives"}}': "9x50 10+1x30",
        'stall_active{instance="ended"}': "3x80",
        'stall_active{instance="lives"}': "2x80",
    }
    counted_here = counted(starts, "of", "20m", "").replace("sum by", "round(sum by", 1) + ")"
    expected = {
        "first value": 1, "first value, and more": 3, "long known": 0, "known before a gap": 0, "grown over a gap": 2,
        "begun again": 1,
    }  # fmt: skip
    ended = [{"labels": f'{{of="{of}"}}', "value": value} for of, value in expected.items()]
    asked = [{"expr": counted_here, "eval_time": "65m", "exp_samples": ended}]
    asked.append({"expr": living("stall_active"), "eval_time": "75m", "exp_samples": [{"labels": "{}", "value": 2}]})
    given = [{"series": name, "values": values} for name, values in series.items()]
    tests = {"tests": [{"interval": "1m", "input_series": given, "promql_expr_test": asked}]}
    (tmp_path / "counted.yaml").write_text(yaml.safe_dump(tests), encoding="utf-8")
    command = ["promtool", "test", "rules", "counted.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
