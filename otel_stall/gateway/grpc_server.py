"""The receiver for OTLP/gRPC. Messages pass as bytes: parsing is the gateway's."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from otel_stall.errors import ConfigError
from otel_stall.gateway.access import allowed
from otel_stall.gateway.answers import Answer, Code, Encoding, Request, response_body, rpc_status
from otel_stall.gateway.forwarding import GRPC_METHODS
from otel_stall.gateway.settings import Endpoint, GatewayConfig, endpoint_of
from otel_stall.otlp import Signal

__all__ = ["GrpcServer"]

_STREAMS: Final = 256
_AGE_MS: Final = 600_000  # clients come back now and then, so that a load balancer can move them
_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}
_DETAILS: Final = "grpc-status-details-bin"

Handle = Callable[[Request], Answer]


class GrpcServer:
    """Serves Export of traces, logs and metrics, and the gRPC health protocol, on threads of its own."""

    def __init__(self, config: GatewayConfig, handle: Handle) -> None:
        self._handle = handle
        self._tokens = config.tokens()
        self._health = health.HealthServicer()
        options = [
            ("grpc.max_receive_message_length", config.limits.request_bytes),
            ("grpc.max_concurrent_streams", _STREAMS),
            ("grpc.max_connection_age_ms", _AGE_MS),
            ("grpc.so_reuseport", 0),
        ]
        # Twice as many threads as requests that are worked on: the others say that it is too much.
        self._pool = ThreadPoolExecutor(2 * config.limits.requests, "otel-stall grpc")
        self._server = grpc.server(self._pool, options=options)
        self._server.add_generic_rpc_handlers(tuple(map(self._service, GRPC_METHODS)))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        self.endpoint = self._bound(config)

    def start(self) -> None:
        """Begin to receive."""
        self._server.start()
        self._health.set("", health_pb2.HealthCheckResponse.SERVING)

    def drain(self) -> None:
        """Tell health checks that this server is about to go."""
        self._health.enter_graceful_shutdown()

    def stop(self, seconds: float) -> None:
        """Take no more calls, and give those that run so much time."""
        self._server.stop(seconds).wait()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _bound(self, config: GatewayConfig) -> Endpoint:
        wanted = endpoint_of(config.grpc)
        try:
            port = (
                self._server.add_secure_port(str(wanted), config.tls.grpc_credentials())
                if config.tls is not None
                else self._server.add_insecure_port(str(wanted))
            )
        except RuntimeError:
            raise ConfigError("gateway.grpc", f"{wanted} cannot be listened on") from None
        return Endpoint(wanted.host, port)

    def _service(self, signal: Signal) -> Any:
        _, service, method = GRPC_METHODS[signal].split("/")

        def export(body: bytes, context: Any) -> bytes:
            return self._export(Request(signal, body), context)

        return grpc.method_handlers_generic_handler(service, {method: grpc.unary_unary_rpc_method_handler(export)})

    def _export(self, request: Request, context: Any) -> bytes:
        metadata = dict(context.invocation_metadata())
        if allowed(self._tokens, metadata.get("authorization")):
            answer = self._handle(request)
        else:
            answer = Answer(Code.UNAUTHENTICATED, "a bearer token is asked for")
        if answer.ok:
            return response_body(request.signal, answer, Encoding.PROTOBUF)
        status = rpc_status(answer)
        context.set_trailing_metadata(((_DETAILS, status.SerializeToString()),))
        context.abort(_CODES[int(answer.code)], status.message)
        raise AssertionError("abort raises")  # pragma: no cover
