"""Nothing of what an agent saw comes out: recordings of every dialect, a marker in all they hold, every outlet."""

from __future__ import annotations

import json
from pathlib import Path

import outlets
import pytest
from planted import DIALECTS, HOSTS, IDENTITIES, Planted, planted

# Nothing of a call stands in these: what is recorded there was recorded without contents.
WITHOUT_CONTENT = {"agent-framework.default.json", "google-adk.v2.json", "mcp.native.json", "mcp.stdio.native2.json"}

SHOWN_BY_DOCTOR = {"span name", "event.name", "gen_ai.operation.name", "langfuse.observation.type", "lmnr.span.type"}
"""How spans and records call themselves: `doctor` names those in which it found no call, for whose traces they are."""


def _leaks(found: dict[str, object], recording: Planted) -> dict[str, set[str]]:
    said = {
        outlet: recording.secrets.found_in(what if isinstance(what, str) else repr(what))
        for outlet, what in found.items()
    }
    for outlet in ("doctor", "doctor json"):
        said[outlet] -= SHOWN_BY_DOCTOR
    return {outlet: places for outlet, places in said.items() if places}


@pytest.mark.parametrize("path", [*HOSTS, *DIALECTS], ids=lambda path: path.name)
def test_no_outlet_holds_anything_of_what_was_recorded(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Arguments, results, errors, prompts, messages, bodies, resources: not as they were, in part or encoded."""
    recording = planted(path)
    assert recording.named <= IDENTITIES
    assert bool(recording.calls_with_markers) is (path.name not in WITHOUT_CONTENT)

    def output() -> tuple[str, str]:
        printed = capsys.readouterr()
        return printed.out, printed.err

    found = outlets.command_line(recording.requests, tmp_path, output)
    found |= outlets.gateway(recording.requests, tmp_path)
    found |= outlets.live(outlets.spans_in(recording.requests))
    assert _leaks(found, recording) == {}


def test_the_outlets_say_something(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a recording with calls each outlet holds a verdict, so that its silence about secrets means something."""
    recording = planted(next(path for path in HOSTS if path.name == "ai-sdk.OpenTelemetry.jsonl"))

    def output() -> tuple[str, str]:
        printed = capsys.readouterr()
        return printed.out, printed.err

    found = outlets.command_line(recording.requests, tmp_path, output)
    found |= outlets.gateway(recording.requests, tmp_path)
    found |= outlets.live(outlets.spans_in(recording.requests))
    silent = {outlet for outlet, what in found.items() if len(repr(what)) < 60}
    assert silent <= {outlet for outlet in found if outlet.startswith("log lines")}
    assert "stall.step" in json.dumps(repr(found["analyze otlp"]))
    assert '"evidence"' in repr(found["what the page unpacks"])


def test_a_marker_is_found_however_it_is_hidden() -> None:
    """Whole, cut to 12 characters, in another case, in base64 at any offset, in hexadecimal; and 11 are none."""
    import base64

    recording = planted(HOSTS[0])
    place = min(recording.secrets.places)
    marker = recording.secrets.marker(place)
    hidden = [marker, f"x{marker[5:17]}y", marker.upper(), marker.encode().hex().upper(), marker[:12].encode().hex()]
    hidden += [base64.b64encode(b"z" * shift + marker.encode() + b"end").decode() for shift in range(3)]
    assert [recording.secrets.found_in(text) for text in hidden] == [{place}] * len(hidden)
    assert recording.secrets.found_in(f"{marker[:11]} {marker[12:23]}") == set()
