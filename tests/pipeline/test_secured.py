"""The secured configuration: collector and otel-stall meet over TLS, each with a token that the other asks for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from chain import CONFIGS, Ports, collector, eventually, export
from downstreams import Kept, attributes, grpc_downstream, process, run, spans_of, traces

from otel_stall.gateway.answers import Code, Request
from otel_stall.gateway.forwarding import create_forwarder
from otel_stall.gateway.settings import ForwardConfig
from otel_stall.otlp import Signal


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for this machine that signs itself, made by openssl, and two tokens."""
    made = tmp_path_factory.mktemp("secured")
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    subprocess.run([*command, "-keyout", "key.pem", "-out", "cert.pem"], cwd=made, check=True, capture_output=True)
    (made / "ca.pem").write_bytes((made / "cert.pem").read_bytes())
    (made / "token").write_text("for-otel-stall", encoding="utf-8")
    (made / "annotated-token").write_text("for-the-collector", encoding="utf-8")
    return made


def _settings(folder: Path, ports: Ports, **changed: str) -> Path:
    """Return gateway.yaml with its files in that folder and its addresses those of the test."""
    text = (CONFIGS / "secured/gateway.yaml").read_text(encoding="utf-8")
    for path in ("/etc/otel-stall", "/var/lib/otel-stall"):
        text = text.replace(path, str(folder))
    settings: dict[str, Any] = yaml.safe_load(text)
    settings["gateway"] |= changed
    settings["gateway"]["forward"]["url"] = f"grpcs://{ports['ADDED_GRPC']}"
    settings["gateway"]["state"]["file"] = str(folder / f"state-{ports['STALL'].rpartition(':')[2]}")
    made = folder / "gateway.yaml"
    made.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return made


def _environ(folder: Path) -> dict[str, str]:
    files = {"CERT_FILE": "cert.pem", "KEY_FILE": "key.pem", "CA_FILE": "ca.pem"}
    files |= {"STALL_TOKEN_FILE": "token", "ANNOTATED_TOKEN_FILE": "annotated-token"}
    return {name: str(folder / file) for name, file in files.items()}


def test_spans_pass_with_the_tokens_and_not_without(folder: Path, tmp_path: Path) -> None:
    """A gateway that asks for another token takes nothing; what comes while the right one is there arrives judged."""
    ports, kept = Ports(), Kept()
    refused, taken = run("refused", steps=12), run("taken", steps=12)
    wrong = tmp_path / "wrong"
    wrong.write_text("another", encoding="utf-8")

    def said(what: str) -> bool:
        return any(what in log.read_text(encoding="utf-8") for log in tmp_path.glob("otelcol-stall-*.log"))

    with (
        grpc_downstream(kept.send) as ports["BACKEND"],
        collector("inline.yaml", tmp_path, ports, over="secured/collector.yaml", **_environ(folder)),
    ):
        with process("--config", str(_settings(folder, ports, token_file=str(wrong))), "--grpc", ports["STALL"]):
            export(ports["OTLP_GRPC"], refused)
            eventually(lambda: said("Unauthenticated"))
        with process("--config", str(_settings(folder, ports)), "--grpc", ports["STALL"]):
            export(ports["OTLP_GRPC"], taken)
            eventually(lambda: len(spans_of(kept.requests)) >= len(taken))
    arrived = spans_of(kept.requests)
    assert {span.span_id for span in arrived} == {span.context.span_id.to_bytes(8, "big") for span in taken}
    assert sum("stall.step" in attributes(span) for span in arrived) == 12


def test_its_receiver_takes_spans_from_otel_stall_alone(folder: Path, tmp_path: Path) -> None:
    """With another token the receiver behind otel-stall refuses them; a gateway holds that to be passing, and waits."""
    ports, kept = Ports(), Kept()
    request = Request(Signal.TRACES, traces(run(steps=1)).body)
    with (
        grpc_downstream(kept.send) as ports["BACKEND"],
        collector("inline.yaml", tmp_path, ports, over="secured/collector.yaml", **_environ(folder)),
    ):
        for token, code in (("token", Code.UNAVAILABLE), ("annotated-token", Code.OK)):
            settings = {"url": f"grpcs://{ports['ADDED_GRPC']}", "ca_file": folder / "ca.pem"}
            to = create_forwarder(ForwardConfig.model_validate({**settings, "token_file": folder / token}))
            assert to.send(request).code == code
            to.close()
