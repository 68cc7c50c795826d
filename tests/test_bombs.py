"""Small input that wants to become very large: what is read of it is bounded, and takes time in proportion."""

from __future__ import annotations

import gzip
import io
import time
from collections.abc import Callable
from typing import Any

import grpc
import pytest
import zstandard
from downstreams import Kept, assembled_gateway, run, running, traces

from otel_stall.analysis import analyze
from otel_stall.gateway.answers import Code, Encoding, Request
from otel_stall.gateway.bodies import TooLargeError, inflated
from otel_stall.gateway.forwarding import GRPC_METHODS
from otel_stall.otlp import Signal
from otel_stall.readers import Problems, read_paths
from otel_stall.readers.framing import MAX_RECORD

_MIB = 1 << 20


def read(data: bytes) -> tuple[int, str]:
    """Return how many spans there are in a file, and what is said of it."""
    problems = Problems()
    views = list(read_paths(["-"], problems=problems, stdin=io.BytesIO(data)))
    analyze(views)
    return len(views), "; ".join(problem.error for problem in problems.kept)


def seconds(act: Callable[[], object]) -> float:
    """Return the least CPU time of three runs."""
    times = []
    for _ in range(3):
        began = time.process_time()
        act()
        times.append(time.process_time() - began)
    return min(times)


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


class TestCompressed:
    @pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
    def test_a_file_of_a_line_without_end(self, pack: Callable[[bytes], bytes]) -> None:
        """A few kilobytes that unpack to more than a record may be are left out, in a second or two."""
        packed = pack(b"{" + b" " * (MAX_RECORD + 10 * _MIB))
        began = time.process_time()

        assert read(packed) == (0, "a line of more than 256 MiB is left out")
        assert time.process_time() - began < 15

    def test_a_message_that_claims_to_be_huge(self) -> None:
        """What a compressed message says of its size is not believed beyond the limit of a record."""
        frame = b"\x28\xb5\x2f\xfd\xe0" + (1 << 45).to_bytes(8, "little") + b"\x01\x00\x00"

        assert read(len(frame).to_bytes(4, "big") + frame) == (0, "message 1 of more than 256 MiB is left out")

    @pytest.mark.parametrize("times", [1, 2, 20])
    def test_packed_again_and_again(self, times: int) -> None:
        """Only one layer is taken off: a file in a file in a file is no trace."""
        data = b'{"resourceSpans": []}'
        for _ in range(times):
            data = gzip.compress(data)
        spans, said = read(data)

        assert (spans, bool(said)) == (0, times > 1)

    def test_a_body_of_very_many_members(self) -> None:
        """Twice as many empty members of a gzip body take about twice as long, and not four times."""
        short, long = (gzip.compress(b"") * number for number in (40_000, 80_000))
        ratio = min(
            seconds(lambda: inflated(long, "gzip", 64 * _MIB)) / seconds(lambda: inflated(short, "gzip", 64 * _MIB))
            for _ in range(3)
        )

        assert ratio < 3

    @pytest.mark.parametrize("cut", [3_000, 4_095, 4_096, 4_097, 9_000])
    def test_members_that_end_anywhere(self, cut: int) -> None:
        """A body of two members is joined, wherever the pieces end in which it is unpacked."""
        data = bytes((n * n) % 251 for n in range(20_000))

        assert inflated(gzip.compress(data[:cut], 0) + gzip.compress(data[cut:], 0), "gzip", 2 * len(data)) == data

    def test_a_body_beyond_the_limit(self) -> None:
        """It is refused before more than the limit was unpacked, in one member or in many."""
        with pytest.raises(TooLargeError):
            inflated(gzip.compress(b"\0" * (64 * _MIB)), "gzip", _MIB)
        with pytest.raises(TooLargeError):
            inflated(gzip.compress(b"\0" * 1_000) * 2_000, "gzip", _MIB)


def test_a_bomb_over_grpc() -> None:
    """What a compressed gRPC message unpacks to is held to the same limit, and the next one is taken."""
    settings: dict[str, Any] = {"forward": {"url": "grpc://127.0.0.1:1"}, "limits": {"request_bytes": _MIB}}
    with running(**settings) as addresses, grpc.insecure_channel(addresses["OTLP/gRPC"]) as channel:
        export = channel.unary_unary(GRPC_METHODS[Signal.TRACES])
        with pytest.raises(grpc.RpcError) as refused:
            export(b"\0" * (64 * _MIB), compression=grpc.Compression.Gzip, timeout=30)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        export(b"", timeout=30)


SPAN = '"traceId": "11111111111111111111111111111111", "spanId": "2222222222222222", "name": "execute_tool"'


def request(*attributes: str, span: str = "") -> bytes:
    """Return a JSON request of one span with these attributes and fields as they are written."""
    listed = f'"attributes": [{", ".join(attributes)}]'
    span = "{" + ", ".join(part for part in (SPAN, listed, span) if part) + "}"
    return ('{"resourceSpans": [{"scopeSpans": [{"spans": [' + span + "]}]}]}").encode()


def attribute(key: str, value: str) -> str:
    return f'{{"key": "{key}", "value": {{{value}}}}}'


def nested(depth: int) -> str:
    return attribute("a", '"arrayValue": {"values": [{' * depth + "}]}" * depth)


RESULT = "gen_ai.tool.call.result"
TOOL = attribute("gen_ai.tool.name", '"stringValue": "bash"')
OPERATION = attribute("gen_ai.operation.name", '"stringValue": "execute_tool"')

HOSTILE = {
    "nested arrays": request(TOOL, nested(60)),
    "nested too deeply": request(TOOL, nested(5_000)),
    "only brackets": b"[" * 1_000_000,
    "only braces": b'{"resourceSpans":' * 100_000,
    "a huge number": request(attribute(RESULT, '"intValue": ' + "9" * 3_000)),
    "a number too long": request(attribute(RESULT, '"intValue": ' + "9" * 100_000)),
    "a huge exponent": request(attribute(RESULT, '"doubleValue": 1e999999')),
    "not a number": request(attribute(RESULT, '"doubleValue": NaN'), attribute("b", '"doubleValue": "Infinity"')),
    "times of a huge number": request(span=f'"startTimeUnixNano": {"9" * 400}, "endTimeUnixNano": "{"9" * 400}"'),
    "an infinite time": request(span='"startTimeUnixNano": Infinity, "endTimeUnixNano": -Infinity'),
    "fields twice": request(span='"name": "a", "name": "b", "attributes": [], "attributes": [{}]'),
    "attributes twice": request(*[TOOL] * 500),
    "very many attributes": request(*[attribute(f"k{n}", '"stringValue": "x"') for n in range(50_000)]),
    "lone surrogates": request(TOOL, OPERATION, attribute("\\udfff", '"stringValue": "\\ud800"')),
    "a name of surrogates": request(span='"name": "\\ud800", "\\ud800": 1'),
    "control characters": request(TOOL, attribute("\\u0000", '"stringValue": "\\u0000\\u001b[2J"')),
    "a value of two kinds": request(attribute(RESULT, '"stringValue": "a", "intValue": "1", "arrayValue": {}')),
    "spans that are none": b'{"resourceSpans": [{"scopeSpans": [{"spans": [null, 1, "a", [], {}]}]}, null, 5]}',
}


@pytest.mark.parametrize("name", HOSTILE)
class TestHostile:
    def test_in_a_file(self, name: str) -> None:
        """It is read or said to be broken, in a second or two, and whoever reads on is not disturbed."""
        good = request(TOOL, OPERATION).replace(b"2" * 16, b"3" * 16)
        began = time.process_time()
        spans, said = read(good + b"\n" + HOSTILE[name] + b"\n" + good.replace(b"3" * 16, b"4" * 16) + b"\n")

        assert spans >= 2, said
        assert time.process_time() - began < 5

    @pytest.mark.parametrize("mode", ["inline", "tap"])
    def test_in_the_gateway(self, name: str, mode: str) -> None:
        """It is taken or refused for good, never with an internal error, and the next request is judged."""
        kept = Kept()
        with assembled_gateway(kept, mode=mode, settle_seconds=0) as parts:
            failed: list[Exception] = []
            parts.gateway._failed = failed.append
            answer = parts.gateway.handle(Request(Signal.TRACES, HOSTILE[name], Encoding.JSON))
            again = parts.gateway.handle(traces(run()))

        assert (answer.code in (Code.OK, Code.INVALID_ARGUMENT), again.ok, failed) == (True, True, [])
