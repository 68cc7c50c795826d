"""Doubles around the gateway: traffic as OTLP requests, a downstream that keeps what it gets, a running gateway."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from typing import Any
from zlib import crc32

import grpc
import urllib3
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider

from otel_stall.config import StallConfig
from otel_stall.gateway.answers import OK, Answer, Code, Encoding, Request, response_body, rpc_status
from otel_stall.gateway.forwarding import GRPC_METHODS, Forwarder
from otel_stall.gateway.serve import Parts, Service, assembled
from otel_stall.gateway.settings import GatewayConfig
from otel_stall.otlp import Signal
from otel_stall.otlp.values import attributes_from
from otel_stall.testing import RecordedProvider, SequentialIdGenerator

STALLED_STEPS = 10


class _Ids(SequentialIdGenerator):
    def __init__(self, conversation: str) -> None:
        super().__init__()
        self._base = crc32(conversation.encode()) << 16

    def generate_trace_id(self) -> int:
        return self._base + super().generate_trace_id()

    def generate_span_id(self) -> int:
        return self._base + super().generate_span_id()


def run(conversation: str = "c-1", steps: int = STALLED_STEPS, *, agent: str = "coder") -> list[Any]:
    """Return the spans of an agent that reads the same file again and again, in the order of their ends.

    Ids are those of the conversation: the same each time, and no other's.
    """
    resource = Resource({"service.name": "agents"})
    provider = TracerProvider(resource=resource, id_generator=_Ids(conversation), shutdown_on_exit=False)
    recorded = RecordedProvider(provider=provider)
    with recorded.agent(agent, conversation=conversation):
        for number in range(steps):
            recorded.tool(
                "read_file",
                {"path": "a.py", "range": number % 2},
                "print(1)",
                attributes={"gen_ai.conversation.id": conversation, "gen_ai.agent.name": agent},
            )
    return recorded.spans()


def conversation_spans(conversation: str, source: Random, steps: int = 25) -> list[Any]:
    """Return the spans of an agent that reads, edits, tests and forgets as chance has it, in order of their ends."""
    provider = TracerProvider(
        resource=Resource({"service.name": "agents"}), id_generator=_Ids(conversation), shutdown_on_exit=False
    )
    recorded = RecordedProvider(provider=provider)
    said: dict[str, Any] = {"gen_ai.conversation.id": conversation, "gen_ai.agent.name": "coder"}
    tokens = 1_000
    with recorded.agent("coder", conversation=conversation):
        for _ in range(steps):
            tokens = 900 if source.random() < 0.08 else tokens + 4_000
            recorded.chat(f"thought {source.randrange(9)}", {**said, "gen_ai.usage.input_tokens": tokens})
            tool, arguments, result = _ACTS[source.randrange(len(_ACTS))]
            number = source.randrange(4)
            recorded.tool(tool, arguments.format(number), result.format(number), attributes=said)
    return recorded.spans()


_ACTS = (
    ("read_file", '{{"path": "src/{0}.py"}}', "def f{0}(): return {0}"),
    ("bash", '{{"command": "grep -rn name{0} src"}}', "src/a.py:{0}: name"),
    ("bash", '{{"command": "pytest tests/t{0}"}}', "{0} failed, 9 passed"),
    ("bash", '{{"command": "pytest tests"}}', "{0} failed, 9 passed"),
    ("edit_file", '{{"path": "src/a.py", "old_string": "a", "new_string": "b{0}"}}', "edited"),
)


def traces(spans: Sequence[Any]) -> Request:
    """Return spans of the SDK as one request."""
    return Request(Signal.TRACES, encode_spans(spans).SerializeToString())


def spans_of(requests: Sequence[Request]) -> list[Span]:
    """Return the spans in trace requests in protobuf."""
    found = []
    for request in requests:
        if request.signal is Signal.TRACES:
            message = TracesData.FromString(request.body)
            found += [s for group in message.resource_spans for scoped in group.scope_spans for s in scoped.spans]
    return found


def records_of(requests: Sequence[Request]) -> list[LogRecord]:
    """Return the log records in log requests in protobuf."""
    found = []
    for request in requests:
        if request.signal is Signal.LOGS:
            message = LogsData.FromString(request.body)
            found += [r for group in message.resource_logs for scoped in group.scope_logs for r in scoped.log_records]
    return found


def attributes(item: Any) -> dict[str, Any]:
    """Return the attributes of a span or record as Python values."""
    from google.protobuf.json_format import MessageToDict

    return attributes_from([MessageToDict(pair) for pair in item.attributes])


class Kept(Forwarder):
    """A downstream in this process: keeps what it accepts, answers by `script` while that lasts, then OK."""

    def __init__(self, *script: Answer, untaken: frozenset[Signal] = frozenset()) -> None:
        self.requests: list[Request] = []
        self.attempts = 0
        self.script = list(script)
        self.untaken = untaken

    def send(self, request: Request) -> Answer:
        self.attempts += 1
        if request.signal in self.untaken:
            return Answer(Code.UNIMPLEMENTED)
        answer = self.script.pop(0) if self.script else OK
        if answer.ok:
            self.requests.append(request)
        return answer

    def close(self) -> None:
        pass

    def of(self, signal: Signal) -> list[Request]:
        return [request for request in self.requests if request.signal is signal]


@contextmanager
def grpc_downstream(answer: Callable[[Request], Answer], at: str = "127.0.0.1:0") -> Iterator[str]:
    """Serve OTLP/gRPC on loopback while the block runs and give the address; `answer` says what clients get."""
    server = grpc.server(ThreadPoolExecutor(4), options=[("grpc.so_reuseport", 0)])

    def service(signal: Signal) -> Any:
        def export(body: bytes, context: Any) -> bytes:
            said = answer(Request(signal, body))
            if said.ok:
                return response_body(signal, said, Encoding.PROTOBUF)
            context.set_trailing_metadata((("grpc-status-details-bin", rpc_status(said).SerializeToString()),))
            context.abort(next(code for code in grpc.StatusCode if code.value[0] == said.code), said.message)
            return b""

        _, name, method = GRPC_METHODS[signal].split("/")
        return grpc.method_handlers_generic_handler(name, {method: grpc.unary_unary_rpc_method_handler(export)})

    server.add_generic_rpc_handlers(tuple(map(service, Signal)))
    port = server.add_insecure_port(at)
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(0).wait()


class Process:
    """A gateway as a process of its own; `addresses` are those it printed."""

    def __init__(self, *options: str) -> None:
        free = ["--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0"]
        command = [sys.executable, "-m", "otel_stall", "serve", *free, *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        parts = (part.rpartition(" on ") for part in said.strip().partition("; ")[2].split(", "))
        self.addresses = {name: address for name, _, address in parts}

    def ended(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit status."""
        self.process.send_signal(number)
        self.process.communicate(timeout=30)
        return self.process.returncode

    def send(self, request: Request, path: str = "/v1/traces", attempts: int = 1) -> bool:
        """Post a request until it is accepted, as a client with retries, and return whether it was."""
        with urllib3.PoolManager(retries=False, timeout=20) as pool:
            for _ in range(attempts):
                url, kind = f"http://{self.addresses['OTLP/HTTP']}{path}", {"content-type": request.encoding.value}
                if pool.request("POST", url, body=request.body, headers=kind).status == 200:
                    return True
        return False


@contextmanager
def process(*options: str) -> Iterator[Process]:
    """Run a gateway as a process; it is killed where the block has not ended it."""
    gateway = Process(*options)
    try:
        yield gateway
    finally:
        if gateway.process.poll() is None:
            gateway.ended(signal.SIGKILL)


@contextmanager
def running(rules: StallConfig | None = None, **settings: Any) -> Iterator[dict[str, str]]:
    """Run a gateway on free loopback ports while the block runs, and give its addresses."""
    config = GatewayConfig.model_validate(
        {"grpc": "127.0.0.1:0", "http": "127.0.0.1:0", "admin": "127.0.0.1:0", "drain_seconds": 5, **settings}
    )
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        service = Service(config, rules or StallConfig())
        try:
            yield asyncio.run_coroutine_threadsafe(service.start(), loop).result(10)
        finally:
            asyncio.run_coroutine_threadsafe(service.stop(), loop).result(30)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def assembled_gateway(kept: Forwarder, rules: StallConfig | None = None, **settings: Any) -> Iterator[Parts]:
    """Give a gateway without receivers, closed as the process would close it."""
    settings = {"mode": "inline", "forward": {"url": "grpc://127.0.0.1:1"}, **settings}
    parts = assembled(GatewayConfig.model_validate(settings), rules or StallConfig(), kept)
    try:
        yield parts
    finally:
        parts.close()
