"""SECURITY.md: what it says of bounds, memory, files and names holds."""

from __future__ import annotations

import gc
import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType

import outlets
import pytest
from downstreams import Kept, assembled_gateway
from pages import assert_holds
from planted import HOSTS, planted
from pydantic import BaseModel

from otel_stall.baseline import Baseline
from otel_stall.cli import main
from otel_stall.config import BoundsConfig, StallConfig
from otel_stall.gateway.settings import GatewayConfig, LimitsConfig
from otel_stall.parallel import analyze_paths
from otel_stall.processor import StallSpanProcessor
from otel_stall.readers import Problems

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_the_bounds_are_those_of_the_settings() -> None:
    """Each limit with its default and its meaning, as the settings have them."""
    models: dict[str, type[BaseModel]] = {"bounds": BoundsConfig, "gateway.limits": LimitsConfig}
    rows = [
        f"| `{section}.{name}` | {field.default:,} | {' '.join((field.description or '').split())} |"
        for section, model in models.items()
        for name, field in model.model_fields.items()
        if section == "bounds" or name in ("bytes", "remembered_spans")
    ]
    assert_holds(
        ROOT / "SECURITY.md", "bounds", "\n".join(["| setting | default | what it limits |", "|---|---|---|", *rows])
    )


def test_settings_and_commands_that_the_page_names_exist() -> None:
    """In the words of the page."""
    assert {"stamp", "fingerprint_key", "milestones"} <= set(StallConfig.model_fields)
    assert {"settle_seconds", "token_file", "tls", "limits", "forward"} <= set(GatewayConfig.model_fields)
    assert "(SECURITY.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert not re.search(r"[\w.]+@[\w.]+|https?://", PAGE)


def _strings_within(start: object) -> list[str]:
    """Return every text that can be reached from an object, but for code, modules and classes."""
    seen, left, texts = {id(start)}, [start], []
    while left:
        one = left.pop()
        if isinstance(one, (str, bytes)):
            texts.append(one if isinstance(one, str) else one.decode("latin-1"))
        if isinstance(one, (type, ModuleType, FunctionType)):
            continue
        for inner in gc.get_referents(one):
            if id(inner) not in seen:
                seen.add(id(inner))
                left.append(inner)
    return texts


@pytest.mark.parametrize("path", HOSTS, ids=lambda path: path.name)
def test_nothing_refers_to_contents_after_a_span_has_ended(path: Path) -> None:
    """Of what a processor and a gateway remember no text holds a secret, whole or in part; spans keep their names."""
    recording = planted(path)
    processor = StallSpanProcessor(outlets.EAGER)
    for view in outlets.spans_in(recording.requests):
        processor.on_end(outlets.sdk_span(view))
    with assembled_gateway(Kept(), mode="tap", settle_seconds=outlets.SETTLE) as parts:
        for part in recording.requests:
            parts.gateway.handle(outlets.request(part))
        texts = _strings_within(processor) + _strings_within(parts.judge)
    assert any("main" in text for text in texts)
    assert recording.secrets.found_in("\n".join(texts)) <= {"span name"}


def test_temporary_files_are_their_owners_alone_and_gone_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the analysis of large inputs, which hold what the input holds; also where it fails in the middle."""
    recording = planted(HOSTS[0])
    source = tmp_path / "spans.jsonl"
    source.write_text("".join(json.dumps(part) + "\n" for part in recording.requests), encoding="utf-8")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    modes: set[str] = set()

    class Looking:
        def took(self, _: int) -> None:
            modes.update(oct(path.stat().st_mode) for path in (tmp_path / "temporary").rglob("*"))

        def judged(self, done: int, of: int) -> None:
            if done == of:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        analyze_paths(
            [source], StallConfig(), problems=Problems(), jobs=2, piece=2_000, share=1_000, progress=Looking()
        )
    assert modes == {"0o40700", "0o100600"}
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_baseline_names_agents_and_classes_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither conversations, nor tasks, nor digests."""

    def output() -> tuple[str, str]:
        printed = capsys.readouterr()
        return printed.out, printed.err

    recording = planted(HOSTS[1])
    text = outlets.command_line(recording.requests, tmp_path, output)["baseline"]
    assert isinstance(text, str)
    assert Baseline.load(tmp_path / "baseline.json") is not None
    listed = json.dumps(json.loads(text))
    assert '"class"' in listed
    assert '"task"' not in listed
    assert not re.search(r"[0-9a-f]{16}|[0-9]{17}", listed)


def test_nothing_is_written_unless_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor, a gateway without a state file and the commands that report leave no file behind."""
    recording = planted(HOSTS[0])
    source = tmp_path / "spans.jsonl"
    source.write_text("".join(json.dumps(part) + "\n" for part in recording.requests), encoding="utf-8")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    outlets.live(outlets.spans_in(recording.requests))
    with assembled_gateway(Kept()) as parts:
        parts.gateway.handle(outlets.request(recording.requests[0]))
    commands: list[Callable[[], None]] = [
        lambda: main(["analyze", str(source)]),
        lambda: main(["doctor", str(source)]),
    ]
    for command in commands:
        with pytest.raises(SystemExit):
            command()
    assert list((tmp_path / "here").iterdir()) == []
