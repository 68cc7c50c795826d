"""Tokens and TLS, over real sockets; health needs neither token nor knowledge of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import grpc
import pytest
import urllib3
from downstreams import Kept, grpc_downstream, run, running, traces

from otel_stall.gateway.access import allowed
from otel_stall.gateway.answers import Request
from otel_stall.gateway.forwarding import GRPC_METHODS, create_forwarder
from otel_stall.gateway.settings import ForwardConfig
from otel_stall.otlp import Signal


@pytest.mark.parametrize(
    ("header", "taken"),
    [
        ("Bearer new", True),
        ("bearer old", True),
        ("Bearer  new ", True),
        ("Bearer newer", False),
        ("Basic new", False),
        ("Bearer", False),
        ("new", False),
        ("", False),
        (None, False),
    ],
)
def test_which_headers_are_taken(header: str | None, taken: bool) -> None:
    """The scheme in any case, one of the tokens exactly; where no token is set, anybody."""
    assert allowed(("old", "new"), header) is taken
    assert allowed((), header)


def test_without_the_token_nothing_is_taken(tmp_path: Path) -> None:
    """401 over HTTP, UNAUTHENTICATED over gRPC, and what the admin endpoint knows stays there."""
    token = tmp_path / "token"
    token.write_text("s3cret")
    kept = Kept()
    with (
        grpc_downstream(kept.send) as to,
        running(mode="inline", forward={"url": f"grpc://{to}"}, token_file=token, metrics_seconds=3600) as at,
        urllib3.PoolManager() as pool,
        grpc.insecure_channel(at["OTLP/gRPC"]) as channel,
    ):
        call = channel.unary_unary(GRPC_METHODS[Signal.TRACES])
        body, url = traces(run(steps=1)).body, f"http://{at['OTLP/HTTP']}/v1/traces"
        kind = {"content-type": "application/x-protobuf"}
        assert pool.request("POST", url, body=body, headers=kind).status == 401
        with pytest.raises(grpc.RpcError) as refused:
            call(body)
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
        assert not kept.requests
        given = {"authorization": "Bearer s3cret"}
        assert pool.request("POST", url, body=body, headers={**kind, **given}).status == 200
        assert call(body, metadata=tuple(given.items())) == b""
        assert pool.request("GET", f"http://{at['admin']}/healthz").status == 200
        assert pool.request("GET", f"http://{at['admin']}/conversations").status == 401
        assert pool.request("GET", f"http://{at['admin']}/conversations", headers=given).status != 401


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for localhost that signs itself, made by openssl."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    subprocess.run([*made, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    return cert, key


def test_one_gateway_forwards_to_another_over_tls(certificate: tuple[Path, Path]) -> None:
    """Receivers and forwarders speak TLS with each other, over gRPC and HTTP; a stranger's certificate is refused."""
    cert, key = certificate
    kept = Kept()
    tls = {"cert_file": cert, "key_file": key}
    with (
        grpc_downstream(kept.send) as to,
        running(mode="inline", forward={"url": f"grpc://{to}"}, tls=tls, metrics_seconds=3600) as at,
    ):
        ports = {name: address.rpartition(":")[2] for name, address in at.items()}
        for url in (f"grpcs://localhost:{ports['OTLP/gRPC']}", f"https://localhost:{ports['OTLP/HTTP']}"):
            request = Request(Signal.TRACES, traces(run(url, steps=1)).body)
            for trusted in (True, False):
                settings = {"url": url, "timeout_seconds": 5, **({"ca_file": cert} if trusted else {})}
                forwarder = create_forwarder(ForwardConfig.model_validate(settings))
                assert forwarder.send(request).ok is trusted
                forwarder.close()
    assert len(kept.of(Signal.TRACES)) == 2
