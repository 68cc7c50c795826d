"""What an agent does, in one line each, and what the fold says of it; built by tests of many modules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from otel_stall.calls import (
    ABSENT,
    Capture,
    CompactionMark,
    Content,
    HostHint,
    HostMark,
    ModelCall,
    Reading,
    ToolCall,
    UserMark,
)
from otel_stall.config import StallConfig
from otel_stall.monitor import Monitor
from otel_stall.verdicts import Judged, Verdict

SECOND = 1_000_000_000


@dataclass(frozen=True)
class NewRun:
    """The host starts a new run: the readings after it carry another run id."""


@dataclass(frozen=True)
class Named:
    """The host names a milestone in an event of its own."""

    milestone: str
    evidence: str = "observed"


Act = ToolCall | ModelCall | CompactionMark | UserMark | HostHint | NewRun | Named


def content(value: object) -> Content:
    """Return captured content; None is content that was not captured."""
    return ABSENT if value is None else Content(value, Capture.CAPTURED)


def call(
    tool: str, arguments: object = None, result: object = None, *, exit_code: int | None = None, failed: bool = False
) -> ToolCall:
    """Return a call; `failed` is said by the span only where it is True."""
    return ToolCall(tool, content(arguments), content(result), failed=failed or None, exit_code=exit_code)


def bash(command: str, result: str | None = "", exit_code: int | None = 0) -> ToolCall:
    """Return a shell command with its output."""
    return call("bash", {"command": command}, result, exit_code=exit_code)


def read(path: str, result: str, **window: int) -> ToolCall:
    """Return a read of a file; `offset` and `limit` name the range."""
    return call("read_file", {"path": path, **window}, result)


def write(path: str, text: str, result: str = "ok") -> ToolCall:
    """Return a file written whole."""
    return call("write_file", {"path": path, "content": text}, result)


def edit(path: str, old: str, new: str, result: str = "The file has been edited.") -> ToolCall:
    """Return an edit of a file."""
    return call("str_replace", {"path": path, "old_str": old, "new_str": new}, result)


def red(message: str = "E  AssertionError: total is wrong\n1 failed, 3 passed", command: str = "pytest -q") -> ToolCall:
    """Return a test run that failed."""
    return bash(command, message, 1)


def green(command: str = "pytest -q", text: str = "4 passed") -> ToolCall:
    """Return a test run that passed."""
    return bash(command, text, 0)


def search(query: str, result: str) -> ToolCall:
    """Return a search of the web."""
    return call("web_search", {"query": query}, result)


def denied(command: str) -> ToolCall:
    """Return a shell command that a person refused."""
    return replace(bash(command, None, None), failed=True, denied=True)


def said(text: str, user_messages: int | None = None, *, calls_tools: bool = False, traced: bool = False) -> ModelCall:
    """Return a model turn; `traced`: its host lets every call be seen."""
    return ModelCall(text=text, user_messages=user_messages, calls_tools=calls_tools, traced=traced)


def compacted() -> CompactionMark:
    """Return the host's word that it compacted the context."""
    return CompactionMark("host")


def hinted(act: ToolCall, **hints: str | bool) -> ToolCall:
    """Return a call with what its host knows of it."""
    return replace(act, hints=replace(act.hints, **hints))  # type: ignore[arg-type]  # the fields are of both types


def numbered(text: str, first: int = 1, count: int = 30) -> str:
    """Return so many lines, each with its number."""
    return "\n".join(f"{text} line {number} of the file" for number in range(first, first + count))


def readings(acts: Iterable[Act], *, trace: int = 1, runs: bool = True, agent: str = "") -> list[Reading]:
    """Return one reading per act, a second apart, with span ids from 1; boundaries change the run id."""
    made, run = [], 0
    for number, act in enumerate(acts, start=1):
        if isinstance(act, NewRun):
            run += 1
            continue
        made.append(
            Reading(
                trace_id=f"{trace:032x}",
                span_id=f"{number:016x}",
                parent_id="",
                name="span",
                start_ns=(2 * number) * SECOND,
                end_ns=(2 * number + 1) * SECOND,
                dialect="tests",
                record=None if isinstance(act, Named) else act,
                run_id=f"run-{run}" if runs else "",
                agent=agent,
                marks=(HostMark(act.milestone, act.evidence, 0),) if isinstance(act, Named) else (),
            )
        )
    return made


def feed(monitor: Monitor, given: Iterable[Reading], conversation: str = "c", lane: str = "main") -> list[Judged]:
    """Return all that a monitor says of these readings."""
    return [judged for reading in given for judged in monitor.observe(reading, conversation, lane, reading.agent)]


def settings(**detection: float) -> StallConfig:
    """Return settings with these thresholds of detection."""
    return StallConfig.create({"detection": detection})


def verdicts(acts: Iterable[Act], config: StallConfig | None = None) -> list[Verdict]:
    """Return what a fresh monitor says of one lane."""
    return [judged.verdict for judged in feed(Monitor(config), readings(acts))]


def reasons(acts: Iterable[Act], config: StallConfig | None = None) -> list[str]:
    """Return the reason of each counted step."""
    return [verdict.reason for verdict in verdicts(acts, config) if verdict.counted]


def last(acts: Sequence[Act], config: StallConfig | None = None) -> Verdict:
    """Return the verdict on the last act."""
    return verdicts(acts, config)[-1]
