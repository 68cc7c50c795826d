"""Fingerprints: equality tokens that anyone can recompute, or with a key that only its owner can."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import outlets
import pytest
from downstreams import Kept, assembled_gateway, attributes, run, spans_of, traces
from opentelemetry.sdk.trace import TracerProvider
from planted import HOSTS, Secrets, planted, request_of

from otel_stall.cli import main
from otel_stall.config import StallConfig
from otel_stall.emission import fingerprint
from otel_stall.errors import ConfigError
from otel_stall.monitor import Monitor
from otel_stall.otlp import key_values
from otel_stall.pressure import Ladder
from otel_stall.processor import StallSpanProcessor
from otel_stall.testing import RecordedProvider, SequentialIdGenerator

KEY = Secrets("key").marker("key")
KEYED = StallConfig.create({"fingerprint_key": KEY})
NAMES = ("stall.call.fingerprint", "stall.outcome.fingerprint")

Tokens = list[tuple[Any, ...]]


def _tokens(spans: Sequence[Any]) -> Tokens:
    return [tuple(span.get(name) for name in NAMES) for span in spans if NAMES[0] in span]


def _live(config: StallConfig, *, processor: StallSpanProcessor | None = None) -> Tokens:
    recorded = RecordedProvider(processor or StallSpanProcessor(config))
    with recorded.agent("coder", conversation="c-1"):
        for number in range(10):
            recorded.tool("read_file", {"path": "a.py", "range": number % 2}, "print(1)")
    return _tokens(recorded.verdicts())


def _in_gateway(config: StallConfig) -> Tokens:
    kept = Kept()
    with assembled_gateway(kept, config) as parts:
        parts.gateway.handle(traces(run()))
    return _tokens([attributes(span) for span in spans_of(kept.requests)])


def _offline(key: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tokens:
    def values(span: Any) -> dict[str, object]:
        return {pair["key"]: pair["value"].get("stringValue") for pair in span["attributes"]}

    spans = [
        {
            "traceId": f"{span.context.trace_id:032x}",
            "spanId": f"{span.context.span_id:016x}",
            "name": span.name,
            "startTimeUnixNano": str(span.start_time),
            "endTimeUnixNano": str(span.end_time),
            "attributes": key_values(span.attributes),
        }
        for span in run()
    ]
    lines = [json.dumps(request_of(span, {}, "tests")) + "\n" for span in spans]
    (folder / "spans.jsonl").write_text("".join(lines), encoding="utf-8")
    monkeypatch.setenv("OTEL_STALL_FINGERPRINT_KEY", key)
    with pytest.raises(SystemExit):
        main(["analyze", "--format", "otlp", str(folder / "spans.jsonl")])
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    with pytest.raises(SystemExit):
        main(["analyze", "--format", "json", "--steps", str(folder / "spans.jsonl")])
    (lane,) = json.loads(capsys.readouterr().out)["conversations"]
    reported = [(step["call_fingerprint"], step["outcome_fingerprint"]) for step in lane["steps_detail"]]
    written = _tokens([values(line["resourceSpans"][0]["scopeSpans"][0]["spans"][0]) for line in printed])
    assert reported == written
    return written


@pytest.mark.parametrize("key", ["", KEY])
def test_processor_gateway_and_analysis_say_the_same(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With one key, or none, a call has one token wherever it is judged: 16 hexadecimal digits."""
    config = StallConfig.create({"fingerprint_key": key})
    live = _live(config)
    assert live == _in_gateway(config) == _offline(key, tmp_path, monkeypatch, capsys)
    assert len(live) == 10
    assert all(re.fullmatch("[0-9a-f]{16}", token) for pair in live for token in pair)


def test_with_a_key_no_outlet_holds_a_token_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spans, events, records, reports, pages and files hold the keyed token of a call, or none."""

    def output() -> tuple[str, str]:
        printed = capsys.readouterr()
        return printed.out, printed.err

    requests = planted(HOSTS[1]).requests
    plain = outlets.live(outlets.spans_in(requests))
    tokens = set(re.findall(r"fingerprint': '([0-9a-f]{16})'", repr(plain["span attributes and events"])))
    monkeypatch.setenv("OTEL_STALL_FINGERPRINT_KEY", KEY)
    keyed = outlets.EAGER.model_copy(update={"fingerprint_key": KEYED.fingerprint_key})
    found = outlets.command_line(requests, tmp_path, output) | outlets.gateway(requests, tmp_path, keyed)
    found |= outlets.live(outlets.spans_in(requests), keyed)
    assert tokens
    assert {outlet: held for outlet, what in found.items() if (held := {t for t in tokens if t in repr(what)})} == {}


def test_a_keyed_token_is_blake2b_of_the_digest() -> None:
    """The key's own digest is the key of BLAKE2b, as keys of any length are then as good as their text."""
    digest = 0x0123_4567_89AB_CDEF
    key = hashlib.blake2b(KEY.encode()).digest()
    assert fingerprint(digest) == "0123456789abcdef"
    assert fingerprint(digest, KEY) == hashlib.blake2b(digest.to_bytes(8, "big"), key=key, digest_size=8).hexdigest()


def test_another_key_gives_other_tokens_with_the_same_equalities() -> None:
    """What was equal stays equal and what differed differs, and no token is that of another key or of none."""
    listed = [_live(StallConfig.create({"fingerprint_key": key})) for key in ("", KEY, KEY[::-1])]
    assert len({tuple(tokens.index(token) for token in tokens) for tokens in listed}) == 1
    each = [{token for pair in tokens for token in pair} for tokens in listed]
    assert each[0] & each[1] == each[0] & each[2] == each[1] & each[2] == set()


def test_what_is_saved_does_not_depend_on_the_key() -> None:
    """A snapshot is the same with every key, and goes on under another one with that one's tokens."""
    processors = {key: StallSpanProcessor(StallConfig.create({"fingerprint_key": key})) for key in ("", KEY)}
    tokens = {key: _live(processor.config, processor=processor) for key, processor in processors.items()}
    plain, keyed = (processors[key].monitor.snapshot() for key in ("", KEY))
    assert _but_when(plain) == _but_when(keyed)
    monitor = Monitor(KEYED)
    monitor.restore(plain)
    ids = SequentialIdGenerator()
    for _ in range(2 * len(tokens[KEY])):
        ids.generate_span_id()
    provider = TracerProvider(id_generator=ids, shutdown_on_exit=False)
    again = RecordedProvider(StallSpanProcessor(KEYED, monitor=monitor), provider=provider)
    with again.agent("coder", conversation="c-1"):
        again.tool("read_file", {"path": "a.py", "range": 0}, "print(1)")
    (said,) = again.verdicts()
    assert said["stall.step"] == 11
    assert said[NAMES[0]] == tokens[KEY][0][0]


def _but_when(snapshot: str) -> str:
    return re.sub(r'"used_ns": [0-9]+', "", snapshot)


def test_a_key_is_shown_nowhere(tmp_path: Path) -> None:
    """Not by settings, processors, records or dumps of them, nor in anything that is written."""
    secrets = Secrets("key")
    secrets.marker("key")
    config = outlets.EAGER.model_copy(update={"fingerprint_key": KEYED.fingerprint_key})
    spans = run(steps=40)
    processor = StallSpanProcessor(config)
    for span in spans:
        processor.on_end(span)
    ladder = Ladder(["abandon"], source=processor)
    record = ladder.abandon(ladder.look("c-1"))
    assert record is not None
    assert record.fingerprint_key.get_secret_value() == KEY
    with assembled_gateway(Kept(), config, state={"file": tmp_path / "state"}) as parts:
        parts.gateway.handle(traces(spans))
    said = [
        *(repr(one) for one in (config, processor, record, asdict(record), config.model_dump(), vars(config))),
        *(str(config), config.model_dump_json(), record.json(), processor.monitor.snapshot()),
        *(file.read_bytes().decode("latin-1") for file in tmp_path.iterdir()),
    ]
    assert secrets.found_in(repr(said)) == set()


@pytest.mark.parametrize(
    ("key", "problem"),
    [("short", "must have 16 characters or more"), (7, "must be a text"), (None, "must be a text")],
)
def test_a_wrong_key_fails_at_start_up(key: object, problem: str) -> None:
    """A key that could be found by trying is no key."""
    with pytest.raises(ConfigError, match=f"fingerprint_key: {problem}"):
        StallConfig.create({"fingerprint_key": key})


def test_a_wrong_key_in_the_environment_leaves_no_token_that_anyone_can_recompute() -> None:
    """As with every variable the log says so and the host goes on, under a key that this process makes up."""
    with outlets.logged() as lines:
        config, other = (StallConfig.from_environ({"OTEL_STALL_FINGERPRINT_KEY": "short"}) for _ in range(2))
    assert [line for line in lines if "OTEL_STALL_FINGERPRINT_KEY is ignored" in line]
    assert [line for line in lines if "a key of this process alone" in line]
    assert len({str(_live(one)) for one in (StallConfig(), config, other)}) == 3


def test_spaces_around_a_key_are_no_part_of_it() -> None:
    """A file with a line end and a variable without give the same tokens."""
    assert StallConfig.create({"fingerprint_key": f" {KEY}\n"}) == KEYED
    assert StallConfig.from_environ({"OTEL_STALL_FINGERPRINT_KEY": KEY}) == KEYED


@pytest.mark.parametrize("path", ["state"])
def test_the_state_file_is_its_owners_alone(path: str, tmp_path: Path) -> None:
    """It holds digests without the key: nobody else may read it."""
    with assembled_gateway(Kept(), state={"file": tmp_path / path}) as parts:
        parts.gateway.handle(traces(run()))
        assert {oct(file.stat().st_mode & 0o777) for file in tmp_path.iterdir()} == {"0o600"}
