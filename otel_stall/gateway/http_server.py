"""The receiver for OTLP/HTTP, in protobuf and JSON. It unpacks bodies within limits; the rest is the gateway's."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from otel_stall.errors import ConfigError, DecodeError, place_of
from otel_stall.gateway.access import allowed
from otel_stall.gateway.answers import Answer, Code, Encoding, Request, error_body, http_status, response_body
from otel_stall.gateway.bodies import ENCODINGS, TooLargeError, inflated
from otel_stall.gateway.forwarding import HTTP_PATHS
from otel_stall.gateway.settings import Endpoint, GatewayConfig, endpoint_of
from otel_stall.otlp import Signal

__all__ = ["HttpServer", "Site"]

_LOG = logging.getLogger("otel_stall")

_CHUNK: Final = 1 << 16
_ENCODINGS: Final = {encoding.value: encoding for encoding in Encoding} | {"application/protobuf": Encoding.PROTOBUF}

_CODES: Final = {404: Code.NOT_FOUND, 405: Code.UNIMPLEMENTED, 415: Code.INVALID_ARGUMENT}

Handle = Callable[[Request], Answer]


class _RefusedError(Exception):
    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.message)
        self.answer = answer


@dataclass(slots=True)
class _Held:
    """Bytes of one request that are in memory."""

    size: int = 0


class Site:
    """An aiohttp application on an address of its own; `field` is the setting that names it."""

    def __init__(self, application: web.Application, config: GatewayConfig, field: str) -> None:
        # Requests have ended, or had their time, when the site is stopped.
        self._runner = web.AppRunner(
            application, auto_decompress=False, access_log=None, handle_signals=False, shutdown_timeout=1.0
        )
        self._config = config
        self._field = field

    async def start(self) -> Endpoint:
        """Begin to listen and return the address; raises ConfigError where it is taken."""
        wanted = endpoint_of(getattr(self._config, self._field))
        tls = self._config.tls.context() if self._config.tls is not None else None
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, wanted.host, wanted.port, ssl_context=tls).start()
        except OSError as error:
            raise ConfigError(f"gateway.{self._field}", f"{wanted}: {error.strerror}") from None
        return Endpoint(wanted.host, self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Close the listener and the connections."""
        await self._runner.cleanup()


class HttpServer:
    """Serves POST /v1/traces, /v1/logs and /v1/metrics in the running event loop; requests are handled on threads."""

    def __init__(self, config: GatewayConfig, handle: Handle, busy: Callable[[str], Answer]) -> None:
        self._limits = config.limits
        self._tokens = config.tokens()
        self._handle = handle
        self._busy = busy
        self._held = 0
        self._pool = ThreadPoolExecutor(2 * config.limits.requests, "otel-stall http")
        application = web.Application(middlewares=[_with_status])
        application.add_routes([web.post(path, self._route(signal)) for signal, path in HTTP_PATHS.items()])
        self._site = Site(application, config, "http")

    async def start(self) -> Endpoint:
        """Begin to receive and return the address."""
        return await self._site.start()

    async def stop(self) -> None:
        """Take no more requests."""
        await self._site.stop()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _route(self, signal: Signal) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def export(http: web.Request) -> web.Response:
            encoding = _ENCODINGS.get(http.content_type)
            if encoding is None:
                raise web.HTTPUnsupportedMediaType(text=f"the content type is none of {', '.join(_ENCODINGS)}")
            try:
                with self._held_bytes() as held:
                    answer = await self._exported(http, signal, encoding, held)
            except _RefusedError as refused:
                answer = refused.answer
            return _response(signal, answer, encoding)

        return export

    async def _exported(self, http: web.Request, signal: Signal, encoding: Encoding, held: _Held) -> Answer:
        if not allowed(self._tokens, http.headers.get("authorization")):
            return Answer(Code.UNAUTHENTICATED, "a bearer token is asked for")
        compression = http.headers.get("content-encoding", "").strip().lower()
        if compression not in ENCODINGS:
            return Answer(Code.INVALID_ARGUMENT, "the content encoding is neither gzip nor identity")
        body = await self._read(http, held)

        def work() -> Answer:
            try:
                return self._handle(Request(signal, inflated(body, compression, self._limits.request_bytes), encoding))
            except TooLargeError:
                return self._too_large()
            except DecodeError as error:
                return Answer(Code.INVALID_ARGUMENT, str(error))

        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def _read(self, http: web.Request, held: _Held) -> bytes:
        """Return the body; one that is too large, or one too much beside the others, is refused while it comes."""
        if (http.content_length or 0) > self._limits.request_bytes:
            raise _RefusedError(self._too_large())
        parts = []
        async for part in http.content.iter_chunked(_CHUNK):
            parts.append(part)
            held.size += len(part)
            self._held += len(part)
            if held.size > self._limits.request_bytes:
                raise _RefusedError(self._too_large())
            if self._held > self._limits.bytes and self._held > held.size:
                raise _RefusedError(self._busy("too much at once"))
        return b"".join(parts)

    @contextmanager
    def _held_bytes(self) -> Iterator[_Held]:
        held = _Held()
        try:
            yield held
        finally:
            self._held -= held.size

    def _too_large(self) -> Answer:
        return Answer(Code.RESOURCE_EXHAUSTED, f"the request is larger than {self._limits.request_bytes} bytes")


def _response(signal: Signal, answer: Answer, encoding: Encoding) -> web.Response:
    body = response_body(signal, answer, encoding) if answer.ok else error_body(answer, encoding)
    headers = {} if answer.retry_after is None else {"retry-after": str(math.ceil(answer.retry_after))}
    return web.Response(body=body, status=http_status(answer), content_type=encoding.value, headers=headers)


@web.middleware
async def _with_status(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Give every refusal of aiohttp's own, for a path or a method, the body that the specification asks for."""
    try:
        return await handler(request)
    except web.HTTPException as refusal:
        encoding = _ENCODINGS.get(request.content_type, Encoding.JSON)
        code = _CODES.get(refusal.status, Code.INVALID_ARGUMENT)
        body = error_body(Answer(code, refusal.text or refusal.reason), encoding)
        headers = {"allow": refusal.headers["allow"]} if "allow" in refusal.headers else {}
        return web.Response(body=body, status=refusal.status, content_type=encoding.value, headers=headers)
    except Exception as error:  # aiohttp would log its message, which may hold what was sent
        _LOG.error("%s at %s while answering", type(error).__name__, place_of(error))
        encoding = _ENCODINGS.get(request.content_type, Encoding.JSON)
        body = error_body(Answer(Code.UNAVAILABLE, "an internal error"), encoding)
        return web.Response(body=body, status=503, content_type=encoding.value)
