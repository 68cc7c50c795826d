"""The admin endpoint: health for orchestrators, and where each conversation stands for people and hooks.

`GET /conversations` lists lanes, the one used last first; `?stalled=true` those inside a stall, `?limit=` how
many. `GET /conversations/{id}` gives the lanes of one. `POST /advice/{id}?can=replan,…` says what its host is to do
now, of what it can, and takes it for done. All answer in JSON.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from otel_stall.errors import place_of
from otel_stall.gateway.access import allowed
from otel_stall.gateway.advice import Advisor
from otel_stall.gateway.http_server import Site
from otel_stall.gateway.settings import Endpoint, GatewayConfig
from otel_stall.judge import Judge
from otel_stall.status import Status

__all__ = ["Admin"]

_LOG = logging.getLogger("otel_stall")

_OPEN: Final = ("/healthz", "/readyz")
_LISTED: Final = 100
_MOST: Final = 10_000


class Admin:
    """Serves HTTP in the running event loop. Health needs no token; `ready` is what /readyz answers."""

    def __init__(self, config: GatewayConfig, judge: Judge, advisor: Advisor) -> None:
        self.ready = False
        self._advisor = advisor
        self._judge = judge
        self._tokens = config.tokens()
        application = web.Application(middlewares=[self._guarded])
        application.add_routes(
            [
                web.get("/healthz", self._health),
                web.get("/readyz", self._readiness),
                web.get("/conversations", self._conversations),
                web.get("/conversations/{id:.+}", self._conversation),
                web.post("/advice/{id:.+}", self._advice),
            ]
        )
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
            return _error(refusal.status, refusal.text or refusal.reason)
        except Exception as error:  # aiohttp would log its message, which may hold what was judged
            _LOG.error("%s at %s while answering", type(error).__name__, place_of(error))
            return _error(500, "an internal error")

    async def _health(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def _readiness(self, _: web.Request) -> web.Response:
        return web.json_response({"ready": self.ready}, status=200 if self.ready else 503)

    async def _conversations(self, request: web.Request) -> web.Response:
        limit = request.query.get("limit", str(_LISTED))
        if not limit.isdecimal():
            raise web.HTTPBadRequest(text="limit is no number")
        stalled = request.query.get("stalled", "").lower() in ("1", "true")
        found = await _asked(lambda: self._judge.status(limit=_MOST))
        listed = [one.document() for one in found if one.stall is not None or not stalled]
        shown = listed[: min(int(limit[:6]), _MOST)]
        return web.json_response({"conversations": shown, "more": len(listed) - len(shown)})

    async def _conversation(self, request: web.Request) -> web.Response:
        found = await _asked(lambda: self._judge.status(request.match_info["id"]))
        if not found:
            raise web.HTTPNotFound(text="this conversation is not known here")
        return web.json_response({"conversations": [one.document() for one in found], "more": 0})

    async def _advice(self, request: web.Request) -> web.Response:
        can = request.query.get("can", "").split(",")
        conversation = request.match_info["id"]
        advice = await asyncio.get_running_loop().run_in_executor(None, lambda: self._advisor.advise(conversation, can))
        return web.json_response(dict(advice))


async def _asked(ask: Callable[[], tuple[Status, ...] | None]) -> tuple[Status, ...]:
    """Return what the judge says, asked on a thread: another one may hold it for a while."""
    found = await asyncio.get_running_loop().run_in_executor(None, ask)
    if found is None:
        raise web.HTTPServiceUnavailable(text="busy, ask again")
    return found


def _error(status: int, why: str) -> web.Response:
    return web.json_response({"error": why}, status=status)
