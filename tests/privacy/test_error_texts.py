"""What goes wrong says where, and never what was being read: logs, tracebacks, answers, problems, wrong settings."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import outlets
import pytest
from downstreams import Kept, assembled_gateway, running
from planted import Secrets, planted, recorded

from otel_stall import fold, hook, monitor
from otel_stall.cli import main
from otel_stall.config import StallConfig
from otel_stall.errors import ConfigError
from otel_stall.gateway.answers import Encoding, Request
from otel_stall.gateway.settings import GatewayConfig
from otel_stall.gateway.state import opened
from otel_stall.otlp import Signal
from otel_stall.settings import validated

SECRETS = Secrets("errors")
SECRET = SECRETS.marker("message")
RECORDING = Path(__file__).parents[1] / "fixtures/hosts/ai-sdk.OpenTelemetry.jsonl"


@pytest.fixture
def _raising(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a rule raise, with a secret in its message and in the one of what it came from."""

    def rule(*_: object) -> None:
        try:
            raise KeyError(SECRET)
        except KeyError as cause:
            raise ValueError(f"cannot judge {SECRET}") from cause

    monkeypatch.setattr(monitor, "fold", rule)
    assert fold.fold is not rule


@pytest.fixture
def output(capsys: pytest.CaptureFixture[str]) -> Callable[[], tuple[str, str]]:
    def read() -> tuple[str, str]:
        printed = capsys.readouterr()
        return printed.out, printed.err

    return read


@pytest.mark.usefixtures("_raising")
def test_an_internal_error_of_a_hook_or_a_gateway_is_logged_without_its_message(tmp_path: Path) -> None:
    """Its kind, its place and how many there were: one line."""
    recording = planted(RECORDING)
    found = outlets.live(outlets.spans_in(recording.requests)) | outlets.gateway(recording.requests, tmp_path)
    lines = [line for outlet, listed in found.items() if outlet.startswith("log lines") for line in list(listed)]  # type: ignore[call-overload] # lists of lines
    assert any("ValueError at " in line for line in lines)
    assert SECRETS.found_in(repr(found)) | recording.secrets.found_in(repr(found)) == set()


@pytest.mark.usefixtures("_raising")
@pytest.mark.parametrize(
    "command",
    [
        ["analyze"],
        *(["analyze", "--format", form] for form in ("json", "html", "otlp")),
        ["doctor", "--milestones"],
        ["calibrate", "-o", "baseline.json"],
    ],
)
def test_an_internal_error_of_a_command_shows_places_and_no_message(
    command: list[str], output: Callable[[], tuple[str, str]]
) -> None:
    """The exit status is 70; the places are those of a traceback."""
    with pytest.raises(SystemExit) as ended:
        main([*command, str(RECORDING)])
    printed, errors = output()
    assert ended.value.code == 70
    assert "monitor.py" in errors
    assert "an internal error, ValueError" in errors
    assert SECRETS.found_in(printed + errors) == set()


@pytest.mark.parametrize("path", ["admin", "OTLP/HTTP"])
def test_an_internal_error_of_an_endpoint_is_answered_and_logged_without_its_message(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's own log would have shown the message and the whole traceback."""

    def raising(*_: object) -> None:
        raise ValueError(SECRET)

    monkeypatch.setattr("otel_stall.gateway.admin._asked", raising)
    monkeypatch.setattr("otel_stall.gateway.http_server._response", raising)
    with outlets.logged() as lines, running(forward={"url": "http://127.0.0.1:1"}) as addresses:
        where = {"admin": "/conversations", "OTLP/HTTP": "/v1/traces"}[path]
        body = None if path == "admin" else b"{}"
        request = urllib.request.Request(f"http://{addresses[path]}{where}", body, {"content-type": "application/json"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=10)
        answer = refused.value.read().decode()
    assert refused.value.code >= 500
    assert "an internal error" in answer
    assert any("ValueError at " in line for line in lines)
    assert SECRETS.found_in(answer + repr(lines)) == set()


def _broken() -> list[bytes]:
    """Return exports that are damaged in as many ways, each with a secret at the damaged place."""
    whole = json.dumps(recorded(RECORDING)[0])
    names = ("traceId", "spanId", "startTimeUnixNano", "kind", "attributes", "events", "status", "name")
    spans = [{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "1" * 32, name: SECRET}]}]}]} for name in names]
    return [
        whole[: len(whole) // 2].encode() + SECRET.encode(),
        f'{{"resourceSpans": "{SECRET}"}}'.encode(),
        f'{{"resourceSpans": [{{"{SECRET}": 1, "scopeSpans": ["{SECRET}"]}}]}}'.encode(),
        f'{{"{SECRET}": "{SECRET}"}}'.encode(),
        SECRET.encode() * 100,
        b"\x1f\x8b" + SECRET.encode(),
        b"\x28\xb5\x2f\xfd" + SECRET.encode(),
        b"\x0a\xff\xff" + SECRET.encode(),
        f'["{SECRET}", {{"name": "{SECRET}"}}]'.encode(),
        *[json.dumps(span).encode() for span in spans],
    ]


@pytest.mark.parametrize("number", range(len(_broken())))
def test_damaged_input_is_told_without_what_it_holds(
    number: int, tmp_path: Path, output: Callable[[], tuple[str, str]]
) -> None:
    """Problems name the file, the line and what is wrong; the gateway's refusals and log lines likewise."""
    body = _broken()[number]
    path = tmp_path / "export.jsonl"
    path.write_bytes(body + b"\n")
    with outlets.logged() as lines:
        for command in (["analyze"], ["analyze", "--format", "json"], ["doctor"], ["doctor", "--milestones"]):
            with pytest.raises(SystemExit):
                main([*command, str(path)])
        with assembled_gateway(Kept()) as parts:
            answers = [
                parts.gateway.handle(Request(signal, body, encoding))
                for signal in (Signal.TRACES, Signal.LOGS)
                for encoding in Encoding
            ]
    said = [output(), lines, [answer.message for answer in answers]]
    # `doctor` names spans in which it finds no call.
    assert SECRETS.found_in(repr(said).replace(f'"{SECRET}" ', "") if number == 16 else repr(said)) == set()


def test_a_damaged_state_file_is_told_without_what_it_holds(tmp_path: Path) -> None:
    """It is put aside, and the log says why in the words of the format."""
    with outlets.logged() as lines:
        for damaged in (SECRET.encode() * 400, b"SQLite format 3\x00" + SECRET.encode() * 40):
            (tmp_path / "state").write_bytes(damaged)
            file, _ = opened(tmp_path / "state")
            file.close()
    assert sum("is kept as" in line for line in lines) == 2
    assert SECRETS.found_in(repr(lines)) == set()


WRONG = [
    {"fingerprint_key": [SECRET]},
    {"fingerprint_keys": SECRET},
    {"detection": SECRET},
    {"detection": {"dry_notice": SECRET}},
    {"mode": SECRET},
    {"bounds": [SECRET]},
    {"fingerprint_key": SECRET[:15]},
]


@pytest.mark.parametrize("settings", WRONG, ids=repr)
def test_a_wrong_setting_is_told_without_its_value(settings: dict[str, object], tmp_path: Path) -> None:
    """By the package's own error and by pydantic's, from code, file and environment."""
    path = tmp_path / "stall.yaml"
    path.write_text(json.dumps(settings), encoding="utf-8")
    errors: list[BaseException] = []
    creates: list[Callable[[], object]] = [
        lambda: StallConfig.create(settings),
        lambda: StallConfig.load(path),
        lambda: StallConfig.model_validate(settings),
    ]
    for create in creates:
        with pytest.raises(ValueError) as refused:  # noqa: PT011 # both errors are of this kind
            create()
        errors.append(refused.value)
    assert isinstance(errors[0], ConfigError)
    assert SECRETS.found_in(repr([(str(error), repr(error)) for error in errors])) == set()


def test_a_broken_settings_file_and_a_wrong_variable_are_told_without_their_values(tmp_path: Path) -> None:
    """A line number for YAML; the variable's name for the environment."""
    path = tmp_path / "stall.yaml"
    path.write_text(f"fingerprint_key: '{SECRET}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        StallConfig.load(path)
    with outlets.logged() as lines:
        config = StallConfig.from_environ({"OTEL_STALL_DETECTION_DRY_NOTICE": SECRET, "OTEL_STALL_MODE": SECRET})
    assert len(lines) == 2
    assert SECRETS.found_in(repr([refused.value, lines, config])) == set()


def test_an_address_with_a_password_is_refused() -> None:
    """`otel-stall serve` prints where it forwards to; a password has a file of its own."""
    with pytest.raises(ConfigError) as refused:
        validated(GatewayConfig, {"forward": {"url": f"https://me:{SECRET}@example.org"}})
    assert "forward.token_file" in str(refused.value)
    assert SECRETS.found_in(str(refused.value)) == set()


def test_a_hook_that_cannot_answer_prints_nothing(
    monkeypatch: pytest.MonkeyPatch, output: Callable[[], tuple[str, str]]
) -> None:
    """Whatever the event holds, and whatever is wrong with it."""
    monkeypatch.setenv("OTEL_STALL_ADMIN", "127.0.0.1:1")
    events = [
        {"session_id": "s", "hook_event_name": "PostToolUse", "tool_input": {"command": SECRET}, "prompt": SECRET},
        {"hook_event_name": SECRET},
        SECRET,
    ]
    for event in events:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(event).encode())))
        assert hook.run(["claude-code"]) == 0
    assert output() == ("", "")


def test_the_demo_shows_what_its_own_agent_does_and_nothing_of_the_environment(tmp_path: Path) -> None:
    """A secret in the environment, as a key of a provider, comes out of no command."""
    environ = {"API_KEY": SECRET, "OTEL_STALL_FINGERPRINT_KEY": SECRET, "OTEL_STALL_BASELINES": SECRET}
    command = [sys.executable, "-m", "otel_stall", "demo", "--fast", "-o", str(tmp_path / "spans.jsonl")]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=True)
    written = (tmp_path / "spans.jsonl").read_text(encoding="utf-8")
    assert "stall.step" in written
    assert SECRETS.found_in(done.stdout + done.stderr + written) == set()
