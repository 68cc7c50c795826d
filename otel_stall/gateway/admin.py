"""The admin endpoint: health for orchestrators, and where each conversation stands for people and hooks."""

from __future__ import annotations

from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from otel_stall.gateway.access import allowed
from otel_stall.gateway.http_server import Site
from otel_stall.gateway.settings import Endpoint, GatewayConfig
from otel_stall.judge import Judge

__all__ = ["Admin"]

_OPEN: Final = ("/healthz", "/readyz")


class Admin:
    """Serves GET in the running event loop. Health needs no token; `ready` is what /readyz answers."""

    def __init__(self, config: GatewayConfig, judge: Judge) -> None:
        self.ready = False
        self._judge = judge
        self._tokens = config.tokens()
        application = web.Application(middlewares=[self._guarded])
        application.add_routes([web.get("/healthz", self._health), web.get("/readyz", self._readiness)])
        self._site = Site(application, config, "admin")

    async def start(self) -> Endpoint:
        """Begin to answer and return the address."""
        return await self._site.start()

    async def stop(self) -> None:
        """Answer no more."""
        await self._site.stop()

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path not in _OPEN and not allowed(self._tokens, request.headers.get("authorization")):
            return _error(401, "a bearer token is asked for")
        try:
            return await handler(request)
        except web.HTTPException as refusal:
            return _error(refusal.status, refusal.reason)

    async def _health(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def _readiness(self, _: web.Request) -> web.Response:
        return web.json_response({"ready": self.ready}, status=200 if self.ready else 503)


def _error(status: int, why: str) -> web.Response:
    return web.json_response({"error": why}, status=status)
