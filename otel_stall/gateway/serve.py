"""`serve`: the gateway as a process, from start to a drained end."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import signal
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from opentelemetry.sdk.metrics import MeterProvider

from otel_stall.config import StallConfig
from otel_stall.emitter import Emitter, Providers
from otel_stall.errors import ConfigError, SnapshotError
from otel_stall.gateway.admin import Admin
from otel_stall.gateway.advice import Advisor
from otel_stall.gateway.annotator import Annotator
from otel_stall.gateway.core import Gateway
from otel_stall.gateway.forwarding import Forwarder, create_forwarder
from otel_stall.gateway.grpc_server import GrpcServer
from otel_stall.gateway.http_server import HttpServer
from otel_stall.gateway.keeper import StateKeeper
from otel_stall.gateway.settings import GatewayConfig, StateConfig, endpoint_of
from otel_stall.gateway.state import Saved, StateFile, opened
from otel_stall.gateway.telemetry import GatewayMetrics, create_provider
from otel_stall.judge import Judge
from otel_stall.monitor import Monitor

__all__ = ["Parts", "Service", "assembled", "serve"]

_LOG = logging.getLogger("otel_stall")

_JUDGE_SECONDS: Final = 60.0
_ANSWER_SECONDS: Final = 1.0  # for answers that are on their way when all work has ended


@dataclass(frozen=True, slots=True)
class Parts:
    """What a gateway is made of, without its receivers."""

    forwarder: Forwarder
    provider: MeterProvider
    judge: Judge
    advisor: Advisor
    keeper: StateKeeper | None
    gateway: Gateway

    def close(self) -> None:
        """Save the state, send the last metrics and give up the connections; blocks for all three."""
        if self.keeper is not None:
            self.keeper.stop()
        self.provider.shutdown()
        self.forwarder.close()


def assembled(config: GatewayConfig, rules: StallConfig, forwarder: Forwarder) -> Parts:
    """Return a gateway that sends to this forwarder and goes on where its state file ended.

    Raises ConfigError where the file cannot be used.
    """
    provider = create_provider(forwarder, config.metrics_seconds)
    judge = Judge(Monitor(rules), wait_seconds=_JUDGE_SECONDS)
    emitter = Emitter(rules, judge.census, Providers(meter=provider))
    annotates = config.mode == "inline" and rules.mode == "annotate"
    annotator = Annotator(judge, emitter, limit=config.limits.remembered_spans, annotates=annotates)
    keeper = _keeper(config.state, judge, annotator)
    metrics = GatewayMetrics(provider, lambda: keeper.failures if keeper is not None else 0)
    gateway = Gateway(config, annotator, forwarder, metrics, failed=emitter.failed, keeper=keeper)
    advisor = Advisor(rules, judge, forwarder.send)
    return Parts(forwarder, provider, judge, advisor, keeper, gateway)


def _keeper(config: StateConfig, judge: Judge, annotator: Annotator) -> StateKeeper | None:
    if config.file is None:
        return None
    file, saved = _opened(config.file)
    judge.adopt(saved.lanes, saved.traces)
    annotator.adopt(saved.remarks)
    return StateKeeper(file, annotator.changed, seconds=config.seconds).start()


class Service:
    """A gateway with its receivers; raises ConfigError while it is made or started, then nothing."""

    def __init__(self, config: GatewayConfig, rules: StallConfig) -> None:
        self._config = config
        self._parts = assembled(config, rules, create_forwarder(config.forward))
        gateway = self._parts.gateway
        self._grpc = GrpcServer(config, gateway.handle) if config.grpc else None
        self._http = HttpServer(config, gateway.handle, gateway.busy) if config.http else None
        self._admin = Admin(config, self._parts.judge, self._parts.advisor) if config.admin else None

    async def start(self) -> dict[str, str]:
        """Begin to receive and return the addresses by what is served there."""
        addresses = {}
        if self._admin is not None:
            addresses["admin"] = str(await self._admin.start())
        if self._http is not None:
            addresses["OTLP/HTTP"] = str(await self._http.start())
        if self._grpc is not None:
            self._grpc.start()
            addresses["OTLP/gRPC"] = str(self._grpc.endpoint)
        if self._admin is not None:
            self._admin.ready = True
        return addresses

    async def stop(self) -> bool:
        """Take no more, let what runs end, save the state; return whether everything ended in time."""
        if self._admin is not None:
            self._admin.ready = False
        if self._grpc is not None:
            self._grpc.drain()
        drained = await _on_thread(partial(self._parts.gateway.close, self._config.drain_seconds))
        if self._grpc is not None:
            await _on_thread(partial(self._grpc.stop, _ANSWER_SECONDS))
        if self._http is not None:
            await self._http.stop()
        await _on_thread(self._parts.close)
        if self._admin is not None:
            await self._admin.stop()
        return bool(drained)


def serve(config: GatewayConfig, rules: StallConfig, say: Callable[[str], None]) -> int:
    """Run until SIGTERM or SIGINT and return the exit status: 0, or 1 where requests had to be cut off.

    `say` is told the addresses once everything listens. Raises ConfigError where the service cannot start.
    """
    return asyncio.run(_serve(config, rules, say))


async def _serve(config: GatewayConfig, rules: StallConfig, say: Callable[[str], None]) -> int:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):  # Windows: Ctrl-C interrupts the loop itself
            loop.add_signal_handler(number, stopped.set)
    service = Service(config, rules)
    try:
        addresses = await service.start()
        say(_told(config, addresses))
        _warn_if_open(config)
        await stopped.wait()
        say("stopping")
    finally:
        drained = await service.stop()
    return 0 if drained else 1


def _told(config: GatewayConfig, addresses: dict[str, str]) -> str:
    listed = ", ".join(f"{name} on {address}" for name, address in addresses.items())
    return f"{config.mode} to {config.forward.url}; {listed}"


def _warn_if_open(config: GatewayConfig) -> None:
    hosts = {endpoint_of(address).host for address in (config.grpc, config.http, config.admin) if address}
    if not config.token_file and not all(map(_is_loopback, hosts)):
        _LOG.warning("anybody who reaches this machine can send: gateway.token_file asks for a token")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _opened(path: Path) -> tuple[StateFile, Saved]:
    try:
        return opened(path)
    except (SnapshotError, sqlite3.Error, OSError) as error:
        raise ConfigError("gateway.state.file", f"{path}: {error}") from None


async def _on_thread(work: Callable[[], object]) -> object:
    return await asyncio.get_running_loop().run_in_executor(None, work)
