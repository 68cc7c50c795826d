"""Settings of the gateway: from a file, the environment and the command line, and what is wrong has a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from otel_stall.errors import ConfigError
from otel_stall.gateway.settings import ForwardConfig, GatewayConfig, endpoint_of, load

FORWARD = {"forward": {"url": "grpc://127.0.0.1:4317"}}


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "settings.yaml"
    path.write_text(text)
    return path


def test_the_command_line_goes_before_the_file_and_that_before_the_environment(tmp_path: Path) -> None:
    """Three places, one order; rules and gateway share the file."""
    path = _file(
        tmp_path, "detection: {dry_notice: 9}\ngateway: {mode: inline, grpc: 127.0.0.1:1, http: 127.0.0.1:2}\n"
    )
    environ = {"OTEL_STALL_GATEWAY_HTTP": "127.0.0.1:3", "OTEL_STALL_GATEWAY_ADMIN": "127.0.0.1:4"}
    environ["OTEL_STALL_GATEWAY_LIMITS_REQUESTS"] = "7"
    gateway, rules = load(path, environ, {**FORWARD, "grpc": "127.0.0.1:5"})
    assert (gateway.grpc, gateway.http, gateway.admin) == ("127.0.0.1:5", "127.0.0.1:2", "127.0.0.1:4")
    assert (gateway.mode, gateway.limits.requests, rules.detection.dry_notice) == ("inline", 7, 9)


def test_the_environment_alone_is_enough() -> None:
    """A container needs no file."""
    gateway, _ = load(None, {"OTEL_STALL_GATEWAY_FORWARD_URL": "http://collector:4318"}, {})
    assert gateway.forward.url == "http://collector:4318"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("gateway: 3", "gateway"),
        ("gateway: {forward: {url: ftp://x}}", "gateway.forward.url"),
        ("gateway: {forward: {url: 'grpc://'}}", "gateway.forward.url"),
        ("gateway: {forward: {url: 'grpc://x:port'}}", "gateway.forward.url"),
        ("gateway: {grpc: nowhere}", "gateway.grpc"),
        ("gateway: {http: '127.0.0.1:99999'}", "gateway.http"),
        ("gateway: {mode: both}", "gateway.mode"),
        ("gateway: {limits: {requests: 0}}", "gateway.limits.requests"),
        ("gateway: {token_file: /does/not/exist}", "gateway.token_file"),
        ("gateway: {tls: {cert_file: /does/not/exist}}", "gateway.tls.cert_file"),
        ("gateway: {grpc: '', http: ''}", "gateway"),
        ("gateway: {unheard_of: 1}", "gateway.unheard_of"),
    ],
)
def test_a_wrong_setting_fails_with_its_name(tmp_path: Path, text: str, field: str) -> None:
    """The name is the one in the file."""
    given = {} if "forward" in text or "gateway: 3" in text else FORWARD
    with pytest.raises(ConfigError) as wrong:
        load(_file(tmp_path, text), {}, given)
    assert wrong.value.field == field


def test_without_a_downstream_nothing_starts() -> None:
    """The one setting without a default is named."""
    with pytest.raises(ConfigError) as wrong:
        load(None, {}, {})
    assert wrong.value.field == "gateway.forward"


@pytest.mark.parametrize(
    ("url", "address", "is_grpc", "secure"),
    [
        ("grpc://a:1", "a:1", True, False),
        ("grpcs://a", "a:4317", True, True),
        ("http://[::1]", "[::1]:4318", False, False),
        ("https://a:2/otlp", "a:2", False, True),
    ],
)
def test_urls(url: str, address: str, is_grpc: bool, secure: bool) -> None:
    """The scheme says protocol and TLS; OTLP's own ports are the default."""
    config = ForwardConfig(url=url)
    assert (config.address, config.is_grpc, config.secure) == (address, is_grpc, secure)


def test_addresses_of_the_sixth_version() -> None:
    """Brackets around the host, as in URLs."""
    assert str(endpoint_of("[::1]:5")) == "[::1]:5"


def test_several_tokens(tmp_path: Path) -> None:
    """One a line, so that an old and a new one are both taken while clients change."""
    path = _file(tmp_path, "old\nnew\n")
    assert GatewayConfig.model_validate({**FORWARD, "token_file": path}).tokens() == ("old", "new")
