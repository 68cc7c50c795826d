"""What no agent should send: the fold never raises, takes time in proportion, and keeps nothing of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from acts import Act, bash, call, content, edit, feed, green, hinted, numbered, read, readings, red, said, write
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from strategies import any_calls

from otel_stall import checks, commands, effects, fingerprints, outcomes, steps
from otel_stall.calls import Capture, Content, ModelCall, ToolCall
from otel_stall.config import StallConfig
from otel_stall.monitor import Monitor
from otel_stall.observations import Step

TOOLS = (
    "bash",
    "read_file",
    "write_file",
    "str_replace",
    "web_search",
    "run_tests",
    "todo_write",
    "think",
    "wait",
    "x",
)


def nested(depth: int) -> object:
    """Return maps and lists inside one another."""
    value: object = "end"
    for level in range(depth):
        value = {"content": [value]} if level % 2 else {"text": value}
    return value


class Odd:
    """A host's own value that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


VALUES: dict[str, object] = {
    "large": "line of some length\n" * 500_000,
    "one line": "x" * 10_000_000,
    "surrogates": "\ud800 error \udfff\n" * 50,
    "not a number": {"a": float("nan"), "b": float("-inf"), "path": float("nan")},
    "100 deep": nested(100),
    "5000 deep": nested(5_000),
    "truncated": '{"command": "ls", "path": "a.p',
    "mapping": {"stdout": {"a": (1, b"\xff", None)}, "exit_code": "one"},
    "keys": {1: "a", None: "b", "c": 2.5, (1, 2): "d"},
    "newlines": "\n" * 100_000,
    "spaces": "x" + " " * 100_000 + "\ny",
    "null": "\x00" * 5_000,
    "bytes": b"\x00\xff" * 5_000,
    "numbers": 10**3000,
    "too long a number": 10**5000,
    "window": {"path": "a", "offset": 10**30, "limit": -5, "view_range": [True, "x"]},
    "wrong types": {"command": {"command": 1}, "path": ["a", 1], "todos": [{"status": []}, 3], "view_range": "ab"},
    "empty": {},
    "odd": Odd(),
    "odd inside": {"content": [Odd()]},
    "wide": {f"k{n}": n for n in range(50_000)},
    "many commands": "ls;" * 50_000,
    "quotes": "'\"" * 50_000,
}


class TestValues:
    @pytest.mark.parametrize("tool", TOOLS)
    @pytest.mark.parametrize("name", VALUES)
    def test_as_arguments_and_result(self, name: str, tool: str) -> None:
        """Any value, in any place, is judged; twice it is the same call; the state can be saved and read."""
        value = VALUES[name]
        wrapped = value if isinstance(value, Mapping) else {"command": value, "path": value, "query": value}
        acts: list[Act] = [
            call(tool, value, value),
            call(tool, wrapped, value, failed=True),
            call(tool, wrapped, {"output": value}, exit_code=1),
            ToolCall(tool, content(wrapped), content(value), error_message="x" * 100),
        ]
        monitor, other = Monitor(), Monitor()
        found = feed(monitor, readings(acts))
        other.restore(monitor.snapshot())

        assert [judged.verdict.step for judged in found] == [1, 2, 3, 4]
        assert other.snapshot() == monitor.snapshot()

    @pytest.mark.parametrize("name", ["\ud800", "", "x" * 1_000_000, "a:b:c", "\n", "__", "../../etc"])
    def test_as_names(self, name: str) -> None:
        """A tool, an agent, a conversation, a run and a call id may have any name; what is kept of it is short."""
        acts: list[Act] = [
            replace(call(name, {}, "ok"), call_id=name),
            hinted(call(name, {}, "Error: x"), milestone=name),
        ]
        monitor, other = Monitor(), Monitor()
        found = feed(
            monitor, [replace(reading, agent=name[:100], run_id=name[:100]) for reading in readings(acts)], name
        )
        other.restore(monitor.snapshot())

        assert len(found) == 2
        assert other.snapshot() == monitor.snapshot()
        lane = monitor.lanes.get((name, "main"))
        assert lane is not None
        assert len(lane.dump()) < 20_000

    def test_as_what_the_host_says_of_a_state(self) -> None:
        """Digests a host sends may be of any length; what is kept of them is short."""
        hints = {"state_before": "b" * 100_000, "state_after": "a" * 100_000, "content_digest": "d" * 100_000}
        monitor = Monitor()
        feed(monitor, readings([hinted(read("a.py", "x"), resource="r" * 100_000, **hints)]))
        lane = monitor.lanes.get(("c", "main"))

        assert lane is not None
        assert len(lane.dump()) < 20_000

    @hypothesis_settings(deadline=None)
    @given(st.lists(any_calls(), max_size=8))
    def test_of_any_shape(self, acts: list[Act]) -> None:
        """Every call that is not pending or a duplicate is a step, whatever it holds."""
        found = feed(Monitor(), readings(acts))

        assert [judged.verdict.step for judged in found] == list(range(1, len(found) + 1))

    @pytest.mark.parametrize("capture", [Capture.ABSENT, Capture.REDACTED, Capture.TRUNCATED])
    def test_not_captured_equals_nothing(self, capture: Capture) -> None:
        """Content that was not recorded in full is never the same again."""
        acts: list[Act] = [ToolCall("read_file", Content("x", capture), Content("y", capture))] * 20
        found = feed(Monitor(), readings(acts))

        assert {judged.verdict.reason for judged in found} == {"content_not_captured"}
        assert all(judged.verdict.stall is None for judged in found)


FLOOR = 0.02


def seconds(act: Callable[[], object]) -> float:
    """Return the least time of three runs."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        act()
        times.append(time.perf_counter() - start)
    return min(times)


TEXTS = {
    "newlines": "\n",
    "spaces": " ",
    "space and newline": " \n",
    "tabs": "\t\n ",
    "letters": "a",
    "words": "error ",
    "failed": "failed",
    "almost failed": "faile ",
    "counts": "1 faile",
    "digits": "1",
    "dots": "1.",
    "colons": "1:",
    "times": "12:3",
    "dates": "2026-01-0",
    "hex": "0x",
    "uuid": "123e4567-",
    "pids": "pid ",
    "request": "request-",
    "paths": "/tmp/tm",
    "folders": "/var/folders/",
    "escapes": "\x1b[",
    "quotes": "'",
    "double quotes": '"',
    "backslashes": "\\",
    "quoted backslash": '"\\',
    "backticks": "`",
    "here documents": "<<A",
    "here documents and lines": "<<A\n",
    "redirects": ">",
    "assignments": "A=",
    "wrappers": "sudo ",
    "shells": "bash -c '",
    "semicolons": ";",
    "pipes": "a|",
    "remarks": "#",
    "tags": "<output>",
    "open tags": "<out",
    "exit codes": "exit code",
    "tool names": "tool x",
    "no match for": "no matches for ",
    "camel": "aA",
    "underscores": "_",
    "prefix": "a.py:1",
    "prefixes": "a/b:",
    "accents": "é ",
    "surrogates": "\ud800",
}


def shell_step(text: str) -> object:
    return steps.step(bash(text, text, None))


FUNCTIONS: dict[str, Callable[[str], object]] = {
    "commands": commands.parse,
    "effects": lambda text: effects.nature(call(text, {"path": text, "command": text, "query": text})),
    "result text": lambda text: outcomes.result_text({"stdout": text, "stderr": text}),
    "outcomes": lambda text: [
        outcomes.exit_code_in(text),
        outcomes.says_failed(text, writes=True),
        outcomes.error_line(text),
        outcomes.is_refusal(text),
        outcomes.says_absent(text),
        outcomes.is_unchanged(text),
        outcomes.says_running(text),
        outcomes.is_empty(text),
        outcomes.is_acknowledgement(text),
    ],
    "checks": lambda text: checks.check_outcome(text, text, failed=True, exit_code=None),
    "canonical": lambda text: fingerprints.canonical({"a": text, text: [text]}),
    "outcome": fingerprints.outcome,
    "mask": fingerprints.mask,
    "error class": fingerprints.fold_error,
    "unordered": fingerprints.unordered,
    "words": lambda text: fingerprints.trigrams(fingerprints.words(text)),
    "step": shell_step,
}


class TestTime:
    @pytest.mark.parametrize("name", FUNCTIONS)
    def test_grows_no_faster_than_the_text(self, name: str) -> None:
        """Four times the text takes about four times as long, whatever it repeats, below and above every cap."""
        act, slow = FUNCTIONS[name], {}
        for what, unit in TEXTS.items():
            for size in (1_000, 4_000, 30_000):
                short, long = (unit * (n // len(unit)) for n in (size, 4 * size))
                took = seconds(lambda text=long: act(text))  # type: ignore[misc]  # bound in the loop
                if took > FLOOR and took > 8 * max(seconds(lambda text=short: act(text)), FLOOR / 4):  # type: ignore[misc]  # as above
                    slow[f"{what}, {4 * size}"] = took

        assert slow == {}

    def test_of_one_hook(self) -> None:
        """A step of common size is judged in a few milliseconds, the largest ones in a fraction of a second."""
        small = readings([bash("pytest -q", numbered("test", count=80) + "\n1 failed", 1)])
        large = readings([bash("cat big.log", "line of some length\n" * 500_000)])

        assert seconds(lambda: feed(Monitor(), small)) < 0.05
        assert seconds(lambda: feed(Monitor(), large)) < 0.5


SECRET = "s3cr3tXYZZY"


def secret_acts() -> list[Act]:
    """Return acts that carry the secret in every place where content travels."""
    s = SECRET
    plain: list[Act] = [
        call("fetch", {"url": f"http://{s}.example", "q": [s, {s: s}]}, f"page of {s}\n{s}"),
        bash(f"{s} --run {s}", f"{s}: command not found", 127),
        bash(f"/opt/{s}/bin/{s} x", s),
        bash(f"make {s}", s),
        bash(f"npm run {s}", s),
        bash(f"python3 -m {s}", s),
        bash(f"python{s} x.py", s),
        bash(f"git {s}", s, 1),
        bash(f"cat {s}.py", f"{s} = 1"),
        bash(f"cat > {s}.py <<{s}\n{s}\n{s}\n", ""),
        bash(f"pytest tests/{s}.py", f"FAILED {s}\n1 failed", 1),
        edit("a.py", s, s * 2),
        bash(f"pytest tests/{s}.py", "1 passed", 0),
        bash(f"git commit -m {s}", f"[main 1a2b3c] {s}"),
        bash(f"gh pr create --title {s}", s),
        read(f"{s}/a.py", s, offset=1, limit=3),
        write(f"{s}.md", s),
        write("NOTES.md", s),
        call("todo_write", {"todos": [{"content": s, "status": "done"}, {"content": s, "status": "done"}]}, s),
        call("think", {"thought": s}, s),
        call("web_search", {"query": f"{s} one two three"}, f"{s} " * 30),
        call("find_user", {"query": s}, "[]"),
        ToolCall("x", content({"a": s}), content(f"Error: {s}"), True, s, s),
        call("finish", {"answer": s}, s),
        said(s),
        said(s),
        ModelCall(text=s, compacted=True),
        green(text=f"{s} 3 passed"),
        red(f"E KeyError: {s}\n1 failed"),
    ]
    return [*plain, *plain, *[bash(f"{s} {n % 2}", s) for n in range(40)]]


class TestSecrets:
    def test_are_in_no_state_and_no_verdict(self) -> None:
        """Of arguments, results, texts, paths and commands only digests and known words are kept."""
        monitor = Monitor(StallConfig())
        found = feed(monitor, readings(secret_acts()))

        assert SECRET not in monitor.snapshot()
        assert all(SECRET not in lane.dump() for _, lane in monitor.lanes)
        assert [judged for judged in found if SECRET in repr(judged)] == []
        assert {judged.verdict.stall.kind.value for judged in found if judged.verdict.stall is not None}
        assert any(change.milestone for judged in found for change in judged.verdict.changes)

    def test_of_the_host_s_own_words_only_its_names_are_shown(self) -> None:
        """A tool's name and what the host says in `stall.*` are its own choice; no state keeps a digest it sent."""
        act = hinted(call("x", {}, "ok"), state_before="b", state_after=SECRET, content_digest=SECRET, resource=SECRET)
        monitor = Monitor()
        feed(monitor, readings([act]))

        assert SECRET not in monitor.snapshot()

    def test_an_observation_holds_digests(self) -> None:
        """What reaches the fold names the tool and known commands, and no content."""
        shown = [repr(observed) for observed in map(steps.observation, readings(secret_acts())) if observed is not None]

        assert shown
        assert not [text for text in shown if SECRET in text]

    def test_a_step_is_plain_data(self) -> None:
        """All of a step but its hints is numbers, names and truth values."""
        observed = steps.step(bash(f"cat {SECRET}.py", SECRET))

        assert isinstance(observed, Step)
        assert json.dumps(observed.command) == '"bash:cat"'
