"""The alert rules, evaluated by Prometheus's own test tool, and the names they use, read off a real collector."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import urllib3
from chain import CONFIGS, Ports, collector, eventually, prometheus
from downstreams import process, run, traces

RULES = CONFIGS / "prometheus"


@pytest.mark.parametrize(
    "arguments",
    [["check", "rules", "rules.yaml"], ["test", "rules", "rules_test.yaml"], ["check", "config", "prometheus.yaml"]],
    ids=" ".join,
)
def test_the_rules_hold(arguments: list[str]) -> None:
    """They parse, and alert when and only when their tests say: ask_user and above page, notice never."""
    done = subprocess.run(["promtool", *arguments], cwd=RULES, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_metrics_that_rules_ask_for_are_exposed(tmp_path: Path) -> None:
    """Through gateway and collector, under the names and labels of the rules, and span metrics by kind beside them."""
    ports = Ports()
    options = ["--mode", "inline", "--forward", f"grpc://{ports['ADDED_GRPC']}"]
    page = ""

    def scraped() -> bool:
        nonlocal page
        page = urllib3.request("GET", f"http://{ports['PROMETHEUS']}/metrics", retries=False, timeout=5).data.decode()
        return "stall_stalled_steps_total" in page and "agent_tools_calls_total" in page

    with (
        collector("metrics.yaml", tmp_path, ports, FLUSH="200ms"),
        process(*options, "--config", str(_often(tmp_path))) as gateway,
    ):
        assert gateway.send(traces(run("stuck", steps=12)))
        eventually(scraped)
    for wanted in (
        'stall_stalled_steps_total{gen_ai_agent_name="coder"',
        'stall_kind="loop"',
        'stall_level="replan"',
        "stall_steps_total{",
        "stall_gateway_requests_total{",
        'outcome="accepted"',
        "stall_gateway_unsaved_total",
        "stall_evictions_total",
    ):
        assert wanted in page
    assert 'stall_kind="none"' in page
    assert "stuck" not in page


def test_prometheus_pages_for_an_agent_that_needs_a_person(tmp_path: Path) -> None:
    """Prometheus scrapes the collector and fires the page of the rules; an agent at replan fires none."""
    ports = Ports()
    options = ["--mode", "inline", "--forward", f"grpc://{ports['ADDED_GRPC']}", "--config", str(_often(tmp_path))]
    with (
        collector("metrics.yaml", tmp_path, ports, FLUSH="200ms"),
        prometheus(tmp_path, ports) as api,
        process(*options) as gateway,
    ):
        assert gateway.send(traces(run("patient", steps=12, agent="replanner")))
        assert gateway.send(traces(run("stuck", steps=40, agent="coder")))

        def pages() -> list[dict[str, str]]:
            answer = urllib3.request("GET", f"{api}/api/v1/alerts", retries=False, timeout=5).json()
            firing = [alert["labels"] for alert in answer["data"]["alerts"] if alert["state"] == "firing"]
            return [labels for labels in firing if labels["severity"] == "page"]

        found = eventually(pages)
        levels = f'{api}/api/v1/query?query=stall_stalled_steps_total{{gen_ai_agent_name="replanner"}}'
        seen = urllib3.request("GET", levels, retries=False, timeout=5).json()["data"]["result"]
    assert {(labels["alertname"], labels["gen_ai_agent_name"]) for labels in found} == {
        ("AgentAsksForAPerson", "coder")
    }
    assert {labels["stall_level"] for labels in found} <= {"ask_user", "abandon"}
    assert {one["metric"]["stall_level"] for one in seen} == {"notice", "replan"}


def _often(folder: Path) -> Path:
    path = folder / "often.yaml"
    path.write_text("gateway: {metrics_seconds: 0.3}\n", encoding="utf-8")
    return path
