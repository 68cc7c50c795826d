"""Rules of `instrumentor`: the processor without a line of code in the host."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest
from opentelemetry.configuration._conversion import _dict_to_dataclass

from otel_stall.config import StallConfig
from otel_stall.instrumentor import StallInstrumentor, StallOptions

ROOT = Path(__file__).parent.parent
_VALUE = "otel_stall.instrumentor:StallInstrumentor"

# Neither host names otel-stall. What they export is printed by the console exporter that the environment asks for.
AGENT = """
from opentelemetry import trace

given = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read_file", "gen_ai.conversation.id": "c"}
for _ in range(2):
    with trace.get_tracer("agent").start_as_current_span("execute_tool", attributes=given):
        pass
trace.get_tracer_provider().force_flush()
"""

CONFIGURED = """
file_format: "1.1"
tracer_provider:
  processors:
    - simple: { exporter: { console: {} } }
instrumentation/development:
  python:
    otel_stall: OPTIONS
"""


def run(tmp_path: Path, **environ: str) -> tuple[list[set[str]], str]:
    """Return the `stall.*` names on each span that the host exports by `opentelemetry-instrument`, and its log."""
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT, encoding="utf-8")
    done = subprocess.run(
        [str(Path(sys.executable).with_name("opentelemetry-instrument")), sys.executable, str(agent)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("OTEL_")},
            "OTEL_TRACES_EXPORTER": "console",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_LOGS_EXPORTER": "none",
            "PYTHONPATH": os.pathsep.join([*installed(tmp_path), str(ROOT)]),
            **environ,
        },
    )
    assert done.returncode == 0, done.stderr
    decoder, text, spans = json.JSONDecoder(), done.stdout.strip(), []
    while text:
        span, end = decoder.raw_decode(text)
        spans.append({name for name in span["attributes"] if name.startswith("stall.")})
        text = text[end:].lstrip()
    return spans, done.stderr


def installed(tmp_path: Path) -> list[str]:
    """Return a folder by which the checkout looks installed, with its entry points; none where it is installed."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ((group, names),) = project["entry-points"].items()
    if any(found.name in names for found in entry_points(group=group)):
        return []
    folder = tmp_path / "site" / "otel_stall_checkout-0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: otel-stall-checkout\nVersion: 0\n", encoding="utf-8")
    lines = [f"{name} = {value}" for name, value in names.items()]
    (folder / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines, ""]), encoding="utf-8")
    return [str(folder.parent)]


FULL = {
    "stall.step",
    "stall.gain.type",
    "stall.steps_since_milestone",
    "stall.steps_since_gain",
    "stall.detected",
    "stall.gain.reason",
    "stall.milestone.count",
    "stall.state_changes",
    "stall.context.epoch",
    "stall.call.fingerprint",
}
MINIMAL = {
    "stall.step",
    "stall.gain.type",
    "stall.steps_since_milestone",
    "stall.steps_since_gain",
    "stall.detected",
}


class TestZeroCode:
    def test_an_agent_that_knows_nothing_of_us(self, tmp_path: Path) -> None:
        """`opentelemetry-instrument python agent.py` is enough, and nothing is said on the way."""
        spans, log = run(tmp_path)
        assert [names - {"stall.call.fingerprint"} for names in spans] == [FULL - {"stall.call.fingerprint"}] * 2
        assert log == ""

    def test_settings_of_the_environment(self, tmp_path: Path) -> None:
        """`OTEL_STALL_*` counts here as everywhere."""
        assert run(tmp_path, OTEL_STALL_PRESET="minimal")[0] == [MINIMAL] * 2

    @pytest.mark.parametrize(
        "switch", [{"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "otel_stall"}, {"OTEL_STALL_ENABLED": "false"}]
    )
    def test_switched_off(self, switch: dict[str, str], tmp_path: Path) -> None:
        """Either switch leaves the host's spans as they are."""
        assert run(tmp_path, **switch) == ([set(), set()], "")

    def test_wrong_settings(self, tmp_path: Path) -> None:
        """A broken settings file is named in the log; the host's telemetry goes on without us."""
        spans, log = run(tmp_path, OTEL_STALL_CONFIG="/nowhere.yaml")
        assert spans == [set(), set()]
        assert "nothing is judged, as a setting of otel_stall is wrong: /nowhere.yaml: cannot be read" in log


class TestDeclarative:
    def configured(self, tmp_path: Path, options: str, **environ: str) -> tuple[list[set[str]], str]:
        path = tmp_path / "otel.yaml"
        path.write_text(CONFIGURED.replace("OPTIONS", options), encoding="utf-8")
        return run(tmp_path, OTEL_CONFIG_FILE=str(path), **environ)

    def test_options(self, tmp_path: Path) -> None:
        """Options of the file reach the processor, and go before the environment's."""
        spans, _ = self.configured(tmp_path, "{preset: minimal, detection: {dry_notice: 7}}", OTEL_STALL_PRESET="full")
        assert spans == [MINIMAL] * 2

    def test_a_wrong_value(self, tmp_path: Path) -> None:
        """A value that is not allowed is named with its field, and spans are exported without us."""
        spans, log = self.configured(tmp_path, "{detection: {dry_notice: 0}}")
        assert spans == [set(), set()]
        assert "detection.dry_notice: must be 1 or more" in log


class TestOptions:
    def test_are_the_settings(self) -> None:
        """Every setting but `enabled`, which OpenTelemetry handles itself, is an option, None by default."""
        fields = {field.name: field.default for field in dataclasses.fields(StallOptions)}
        assert fields == dict.fromkeys(StallConfig.model_fields.keys() - {"enabled"})

    def test_are_converted_by_opentelemetry(self) -> None:
        """OpenTelemetry turns a file's mapping into them."""
        given = {"detection": {"dry_notice": 7}, "stamp": False}
        assert _dict_to_dataclass(given, StallOptions) == StallOptions(detection={"dry_notice": 7}, stamp=False)

    def test_entry_point(self) -> None:
        """The entry point that pyproject.toml names is the instrumentor."""
        assert f'otel_stall = "{_VALUE}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        assert EntryPoint("otel_stall", _VALUE, "opentelemetry_instrumentor").load() is StallInstrumentor


SWITCHING = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from otel_stall.instrumentor import StallInstrumentor
from otel_stall.testing import RecordedProvider

named = {"gen_ai.conversation.id": "c"}
recorded = RecordedProvider()
trace.set_tracer_provider(recorded.provider)
instrumentor = StallInstrumentor()
instrumentor.instrument(preset="minimal")
recorded.tool("read_file", attributes=named)
instrumentor.uninstrument()
recorded.tool("read_file", attributes=named)
instrumentor.instrument()
recorded.tool("read_file", attributes=named)
print([verdict.get("stall.step") for verdict in recorded.verdicts()])
"""


def test_on_and_off() -> None:
    """After `uninstrument` spans pass untouched; `instrument` again goes on where it was, and adds nothing twice."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SWITCHING], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("[1, None, 2]\n", "")
