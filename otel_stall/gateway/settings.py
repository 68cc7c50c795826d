"""Everything a user may set of the gateway, validated once at start-up: the section `gateway` of the settings file."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from otel_stall.config import StallConfig
from otel_stall.errors import ConfigError
from otel_stall.settings import Settings, from_environ, loaded_file, merged, validated

__all__ = ["ForwardConfig", "GatewayConfig", "LimitsConfig", "StateConfig", "TlsConfig", "load"]

SECTION = "gateway"
"""Name of the section in the settings file."""

_SCHEMES = ("grpc", "grpcs", "http", "https")
_PORTS = {"grpc": 4317, "grpcs": 4317, "http": 4318, "https": 4318}

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]


class Endpoint(NamedTuple):
    """Host and port of a listener."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def endpoint_of(text: str) -> Endpoint:
    """Return host and port of an address; raises ValueError where it is none."""
    parts = urlsplit(f"//{text}")
    if not parts.hostname or parts.port is None or parts.path:
        raise ValueError("no address")
    return Endpoint(parts.hostname, parts.port)


def _checked_address(text: str) -> str:
    try:
        endpoint_of(text)
    except ValueError:
        raise PydanticCustomError("address", "must be host:port, or empty for none") from None
    return text


def _checked_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        usable = parts.scheme in _SCHEMES and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise PydanticCustomError("url", "must be grpc://host:port, grpcs://…, http://… or https://…")
    if parts.username is not None or parts.password is not None:
        raise PydanticCustomError("url", "must hold no user and password; forward.token_file has the token")
    return text


def _checked_file(path: Path) -> Path:
    try:
        path.read_bytes()
    except OSError as error:
        raise PydanticCustomError(
            "file", "{path} cannot be read: {why}", {"path": str(path), "why": error.strerror}
        ) from None
    return path


Address = Annotated[str, AfterValidator(lambda text: _checked_address(text) if text else text)]
Url = Annotated[str, AfterValidator(_checked_url)]
ExistingFile = Annotated[Path, AfterValidator(_checked_file)]


def _tokens(path: Path | None) -> tuple[str, ...]:
    return tuple(path.read_text(encoding="utf-8").split()) if path is not None else ()


class TlsConfig(Settings):
    """Certificates of the receivers and the admin endpoint; files in PEM."""

    cert_file: ExistingFile
    """The server's certificate chain."""
    key_file: ExistingFile
    """Its private key."""
    client_ca_file: ExistingFile | None = None
    """Where set, clients must show a certificate that this authority signed."""

    def context(self) -> ssl.SSLContext:
        """Return the TLS context for HTTP; raises ssl.SSLError where the files are no certificate and key."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.cert_file, self.key_file)
        if self.client_ca_file is not None:
            context.load_verify_locations(self.client_ca_file)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def grpc_credentials(self) -> Any:
        """Return the credentials for a gRPC server."""
        import grpc

        authority = self.client_ca_file.read_bytes() if self.client_ca_file is not None else None
        pair = (self.key_file.read_bytes(), self.cert_file.read_bytes())
        return grpc.ssl_server_credentials([pair], authority, authority is not None)


class ForwardConfig(Settings):
    """Where requests, or what is added, go."""

    url: Url
    """grpc://host:port or grpcs://host:port for OTLP/gRPC, http://host:port or https://… for OTLP/HTTP."""
    token_file: ExistingFile | None = None
    """File with a bearer token that is sent along."""
    ca_file: ExistingFile | None = None
    """Authority that signed the downstream's certificate, in PEM; by default those of the system."""
    compression: Literal["gzip", "none"] = "none"
    """Compression of what is sent."""
    timeout_seconds: Seconds = 10.0
    """Time that the downstream may take to answer."""
    connections: Count = 32
    """Connections kept open, over HTTP."""

    @property
    def is_grpc(self) -> bool:
        """Whether the URL is one of OTLP/gRPC."""
        return self.url.startswith("grpc")

    @property
    def secure(self) -> bool:
        """Whether the connection uses TLS."""
        return urlsplit(self.url).scheme in ("grpcs", "https")

    @property
    def address(self) -> str:
        """Return host and port, the port that of OTLP where none is given."""
        parts = urlsplit(self.url)
        return str(Endpoint(parts.hostname or "", parts.port or _PORTS[parts.scheme]))

    def headers(self) -> dict[str, str]:
        """Return the headers of each request."""
        tokens = _tokens(self.token_file)
        return {"authorization": f"Bearer {tokens[0]}"} if tokens else {}

    def credentials(self) -> Any:
        """Return the gRPC credentials of the channel."""
        import grpc

        return grpc.ssl_channel_credentials(self.ca_file.read_bytes() if self.ca_file is not None else None)

    def verification(self) -> dict[str, Any]:
        """Return how an HTTP pool verifies the downstream."""
        return {"ca_certs": str(self.ca_file)} if self.ca_file is not None else {}


class LimitsConfig(Settings):
    """What is taken at once; beyond it clients are asked to come back, and nothing is dropped."""

    request_bytes: Count = 64 << 20
    """Largest request, before and after decompression; 64 MiB is what the OTLP specification recommends."""
    requests: Count = 64
    """Requests that are worked on at a time."""
    bytes: Count = 256 << 20
    """Bytes of the requests that are worked on at a time."""
    retry_seconds: Seconds = 2.0
    """After what time clients are asked to come back."""
    remembered_spans: Count = 50_000
    """Spans with a verdict that get the same again when they are delivered again."""


class StateConfig(Settings):
    """What is kept over a restart."""

    file: Path | None = None
    """The file; None = a restart begins anew."""
    sync: bool = True
    """Whether a request is acknowledged only when the verdicts on it are in the file; False saves at intervals."""
    seconds: Seconds = 5.0
    """The interval."""


class GatewayConfig(Settings):
    """All settings of `otel-stall serve`."""

    mode: Literal["tap", "inline"] = "tap"
    """`tap` takes a copy of the traffic and sends only what it adds; `inline` annotates and forwards everything."""
    forward: ForwardConfig
    grpc: Address = "127.0.0.1:14317"
    """Where OTLP/gRPC is received; empty = nowhere."""
    http: Address = "127.0.0.1:14318"
    """Where OTLP/HTTP is received; empty = nowhere."""
    admin: Address = "127.0.0.1:14319"
    """Where health and conversations are asked for; empty = nowhere."""
    copies: bool = False
    """tap: whether a marked copy of each step inside a stall is sent, so that a search for stalls finds its trace."""
    events: bool = True
    """Whether events are sent as log records."""
    token_file: ExistingFile | None = None
    """File with the bearer tokens, one a line, one of which clients must send."""
    tls: TlsConfig | None = None
    limits: LimitsConfig = LimitsConfig()
    state: StateConfig = StateConfig()
    settle_seconds: Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)] = 6.0
    """How long a call of a host that tells of it in a span and in a log record (Claude Code, Gemini CLI, Qwen Code)
    waits for the other, unacknowledged; these hosts send every five seconds. 0 = each is judged by itself."""
    metrics_seconds: Seconds = 30.0
    """How often metrics are sent."""
    drain_seconds: Seconds = 20.0
    """Time that requests may still take after a signal to stop."""

    @model_validator(mode="after")
    def _takes_something(self) -> Self:
        if not self.grpc and not self.http:
            raise PydanticCustomError("address", "grpc and http are both empty: nothing would be received")
        return self

    def tokens(self) -> tuple[str, ...]:
        """Return the tokens that clients may send, () where none is asked for."""
        return _tokens(self.token_file)


def load(
    path: Path | None, environ: Mapping[str, str], options: Mapping[str, object]
) -> tuple[GatewayConfig, StallConfig]:
    """Return the settings of the gateway and of its rules, of a file, the environment and the command line.

    Options go before the file's section `gateway`, that before `OTEL_STALL_GATEWAY_*` variables. Raises
    ConfigError with the field's name where a value is wrong or a name unknown.
    """
    section = (loaded_file(path) if path is not None else {}).get(SECTION) or {}
    if not isinstance(section, Mapping):
        raise ConfigError(SECTION, "must be a mapping of settings")
    given = merged(from_environ(GatewayConfig, environ, "OTEL_STALL_GATEWAY_"), section)
    gateway = validated(GatewayConfig, merged(given, options), SECTION)
    rules = StallConfig.load(path, environ) if path is not None else StallConfig.from_environ(environ)
    return gateway, rules
