"""The command line from outside: what it prints, where, and with which exit status."""

from __future__ import annotations

import gzip
import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import exports
import pytest

from otel_stall import __version__
from otel_stall.cli import main

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["demo", "--fast", "-o", "/dev/null/x"], "/dev/null/x"),
        (["demo", "--fast", "--svg", "/dev/null/x"], "/dev/null/x"),
        (["analyze", "--steps", "x"], "--steps goes with --format json, or with"),
        (["analyze", "--conversation", "c", "--format", "otlp", "x"], "--conversation goes with text, json and html"),
        (["analyze", "--all", "--format", "json", "x"], "--all goes with the text of all conversations"),
        (["analyze", "--all", "--conversation", "c", "x"], "--all goes with the text of all conversations"),
        (["analyze", "--credit", "--format", "otlp", "x"], "--credit goes with text and json"),
    ],
)
def test_what_makes_no_sense_is_said(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line on what is wrong, and an exit status that is not 0; no traceback."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def attribute(key: str, value: str) -> dict[str, object]:
    return {"key": key, "value": {"stringValue": value}}


def span(conversation: str, index: int, command: str, result: str, offset: int = 0) -> dict[str, object]:
    end = (index + offset) * SECOND
    return {
        "traceId": f"{sum(conversation.encode()):032x}",
        "spanId": f"{index + 1:016x}",
        "name": "execute_tool bash",
        "kind": 1,
        "startTimeUnixNano": str(end - SECOND // 2),
        "endTimeUnixNano": str(end),
        "attributes": [
            attribute("gen_ai.operation.name", "execute_tool"),
            attribute("gen_ai.tool.name", "bash"),
            attribute("gen_ai.conversation.id", conversation),
            attribute("gen_ai.tool.call.arguments", json.dumps({"command": command})),
            attribute("gen_ai.tool.call.result", result),
        ],
        "status": {},
        "futureField": 1,
    }


def request(*spans: dict[str, object]) -> str:
    resource = {"attributes": [attribute("service.name", "bot")]}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}) + "\n"


def stuck(conversation: str, steps: int = 9, offset: int = 0) -> list[dict[str, object]]:
    return [span(conversation, index, "cat notes.txt", "the same text", offset) for index in range(steps)]


def healthy(conversation: str, steps: int = 9) -> list[dict[str, object]]:
    return [
        span(conversation, index, f"cat file{index}.txt", f"line {index} of {conversation}\n") for index in range(steps)
    ]


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    path = tmp_path / "traces.jsonl"
    path.write_text(request(*stuck("stuck")) + request(*healthy("fine")), encoding="utf-8")
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(end.value.code or 0), out, err


def process(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "otel_stall", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, check=False, timeout=60)


def spans_of(lines: str) -> Iterator[dict[str, Any]]:
    for line in lines.splitlines():
        for group in json.loads(line)["resourceSpans"]:
            for scoped in group["scopeSpans"]:
                yield from scoped["spans"]


class TestText:
    def test_a_stall_is_told(self, traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The plain form says first how many conversations stalled."""
        status, out, err = run(capsys, "analyze", traces)
        assert (status, err) == (0, "")
        assert out.startswith("1 of 2 conversations stalled: ")
        assert "stuck (service bot): " in out
        assert "fine (service bot): " not in out

    def test_all_conversations_are_listed_when_asked(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Twenty are listed and the others counted; with --all each has its row."""
        path = tmp_path / "many.jsonl"
        path.write_text("".join(request(*healthy("x" * index, 2)) for index in range(1, 26)), encoding="utf-8")
        _, some, _ = run(capsys, "analyze", path)
        _, every, _ = run(capsys, "analyze", path, "--all")
        assert "and 5 more, which cost less; --all lists them too\n" in some
        assert [len([line for line in out.splitlines() if line.endswith("  -")]) for out in (some, every)] == [20, 25]

    def test_problems_are_told_twice(self, traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """In the report, and on standard error when the report goes into a pipe."""
        with traces.open("a", encoding="utf-8") as stream:
            stream.write("{broken\n")
        status, out, err = run(capsys, "analyze", traces)
        line = f"{traces}:3: broken JSON: Expecting property name enclosed in double quotes at column 2\n"
        assert (status, err) == (0, f"otel-stall: {line}")
        assert out.endswith(f"Problems:\n  {line}")


class TestJson:
    def test_the_contract(self, traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """One object with these keys; a stall has a step for each level it reached."""
        status, out, err = run(capsys, "analyze", "--format", "json", traces)
        document = json.loads(out)
        assert (status, err) == (0, "")
        assert list(document) == ["schema", "conversations", "summary", "problems"]
        fine, found = sorted(document["conversations"], key=lambda each: str(each["id"]))
        assert (fine["id"], fine["steps"], fine["stalls"]) == ("fine", 9, [])
        assert (found["id"], found["steps"], found["service"]) == ("stuck", 9, "bot")
        (stall,) = found["stalls"]
        assert stall["levels"][stall["level"]] <= stall["last_step"]
        assert stall["levels"]["notice"] == stall["detected_step"]
        assert "steps_detail" not in found

    def test_steps(self, traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """With --steps every counted step is there, without its contents."""
        _, out, _ = run(capsys, "analyze", "--format", "json", "--steps", traces)
        found = next(each for each in json.loads(out)["conversations"] if each["id"] == "stuck")
        assert [(step["step"], step["tool"], step["arguments"], step["result"]) for step in found["steps_detail"]] == [
            (number, "bash", "captured", "captured") for number in range(1, 10)
        ]
        assert "the same text" not in out
        assert "notes.txt" not in out

    def test_problems_go_to_standard_error_too(self, traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The document stays one JSON object whatever happens."""
        missing = traces.parent / "missing"
        status, out, err = run(capsys, "analyze", "--format", "json", missing, traces)
        error = "cannot be read: No such file or directory"
        assert json.loads(out)["problems"] == [{"source": str(missing), "line": None, "error": error}]
        assert (status, err) == (0, f"otel-stall: {missing}: {error}\n")

    def test_shards_in_any_order(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Several files, in any order, with spans in any order and twice, give what one file gives."""
        spans = [*stuck("a"), *healthy("b"), *stuck("c", 12, offset=3)]
        (tmp_path / "one.jsonl").write_text(request(*spans), encoding="utf-8")
        _, whole, _ = run(capsys, "analyze", "--format", "json", "--steps", tmp_path / "one.jsonl")
        shuffle = random.Random(7)
        for _ in range(5):
            shuffle.shuffle(spans)
            shards = [spans[:8], spans[8:15], [*spans[15:], *spans[:3]]]
            for index, shard in enumerate(shards):
                (tmp_path / f"{index}.gz").write_bytes(gzip.compress(request(*shard).encode()))
            _, out, _ = run(
                capsys, "analyze", "--format", "json", "--steps", *(tmp_path / f"{i}.gz" for i in (2, 0, 1))
            )
            assert out == whole


class TestConversation:
    def test_its_course_is_drawn(self, traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A beginning of its id is enough; other conversations are not told."""
        status, out, err = run(capsys, "analyze", traces, "--conversation", "stu")
        assert (status, err) == (0, "")
        assert out.startswith("stuck (service bot)\n9 steps, ")
        assert "\ngain         I........\n" in out
        assert "fine" not in out

    def test_steps_have_the_fingerprints_of_their_spans(
        self, traces: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """With --steps every step is listed, without contents, with the fingerprints that its span carries."""
        monkeypatch.setenv("OTEL_STALL_FINGERPRINT_KEY", "a key for this test alone")
        _, written, _ = run(capsys, "analyze", traces, "--format", "otlp")
        status, out, _ = run(capsys, "analyze", traces, "--conversation", "fine", "--steps")
        prints = [
            attribute["value"]["stringValue"]
            for one in spans_of(written)
            for attribute in one["attributes"]
            if attribute["key"] in ("stall.call.fingerprint", "stall.outcome.fingerprint")
            and {"key": "gen_ai.conversation.id", "value": {"stringValue": "fine"}} in one["attributes"]
        ]
        assert (status, len(prints)) == (0, 18)
        assert all(fingerprint in out for fingerprint in prints)
        assert "information: lines that were not seen before" in out
        assert "file1.txt" not in out

    def test_json_of_it_alone(self, traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The document is of that conversation, its summary too; the entry is the one in the whole document."""
        _, out, _ = run(capsys, "analyze", "--format", "json", "--steps", traces)
        status, alone, _ = run(capsys, "analyze", "--format", "json", "--steps", traces, "--conversation", "fine")
        document = json.loads(alone)
        assert status == 0
        assert document["conversations"] == [one for one in json.loads(out)["conversations"] if one["id"] == "fine"]
        assert (document["summary"]["conversations"], document["summary"]["stalled"]) == (1, 0)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "'' means 2 conversations: fine, stuck"),
            ("stuk", "no conversation 'stuk'; there is stuck, fine"),
        ],
    )
    @pytest.mark.parametrize("form", ["text", "json"])
    def test_none_or_several(
        self, text: str, said: str, form: str, traces: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Status 2, and one line names those that could be meant."""
        found = run(capsys, "analyze", "--format", form, traces, "--conversation", text)
        assert found == (2, "", f"otel-stall: {said}\n")

    def test_nothing_could_be_read(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Status 1 and why, as without it."""
        status, out, err = run(capsys, "analyze", tmp_path, "--conversation", "c")
        assert (status, out) == (1, "")
        assert err == f"otel-stall: {tmp_path}: the folder holds no files\notel-stall: nothing could be read\n"


class TestOtlp:
    def test_the_input_comes_back_annotated(self, traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Line by line as it was, with `stall.*` on each counted step, and nothing else changed."""
        status, out, err = run(capsys, "analyze", "--format", "otlp", traces)
        assert (status, err) == (0, "")
        written = list(spans_of(out))
        for one in written:
            added = [pair for pair in one["attributes"] if pair["key"].startswith("stall.")]
            assert [pair["key"] for pair in added][:3] == [
                "stall.step",
                "stall.gain.type",
                "stall.steps_since_milestone",
            ]
            one["attributes"] = [pair for pair in one["attributes"] if pair not in added]
            one.pop("events", None)
        assert written == list(spans_of(traces.read_text(encoding="utf-8")))

    def test_annotating_again_changes_nothing(self, traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """An annotated file is judged anew, and gives itself."""
        _, once, _ = run(capsys, "analyze", "--format", "otlp", traces)
        traces.write_text(once, encoding="utf-8")
        _, twice, _ = run(capsys, "analyze", "--format", "otlp", traces)
        assert once == twice
        assert "stall.started" in once

    def test_standard_input_is_read_twice(self, traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The input that comes through a pipe is annotated as a file is."""
        _, out, _ = run(capsys, "analyze", "--format", "otlp", traces)
        done = process("analyze", "--format", "otlp", "-", stdin=traces.read_bytes())
        assert (done.returncode, done.stdout.decode(), done.stderr) == (0, out, b"")


class TestOptions:
    def test_output_file(self, traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """With -o nothing goes to standard output."""
        target = traces.parent / "report.txt"
        assert run(capsys, "analyze", "-o", target, traces) == (0, "", "")
        assert target.read_text(encoding="utf-8").startswith("1 of 2 conversations stalled")

    def test_input_is_not_overwritten(self, traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A file cannot be read and written at the same time."""
        before = traces.read_bytes()
        status, out, err = run(capsys, "analyze", "--format", "otlp", "-o", traces, traces)
        assert (status, out, traces.read_bytes()) == (2, "", before)
        assert "cannot be written at the same time" in err

    def test_settings(self, traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Settings of a file count."""
        config = traces.parent / "settings.yaml"
        config.write_text("detection: {loop_notice: 100, dry_notice: 100, waste_notice: 1000}\n", encoding="utf-8")
        _, out, _ = run(capsys, "analyze", "--config", config, traces)
        assert out.startswith("No stall in 2 conversations")

    def test_wrong_settings_name_the_field(self, traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A wrong setting ends the run before anything is read."""
        config = traces.parent / "settings.yaml"
        config.write_text("detection: {dry_notice: never}\n", encoding="utf-8")
        status, out, err = run(capsys, "analyze", "--config", config, traces)
        assert (status, out) == (2, "")
        assert err.startswith("otel-stall: wrong setting detection.dry_notice: ")

    @pytest.mark.parametrize(
        "arguments", [["analyze"], ["analyze", "--format", "xml", "-"], ["nothing"], ["analyze", "-", "-"]]
    )
    def test_wrong_usage(self, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        """Wrong usage is status 2, with a sentence on standard error."""
        status, out, err = run(capsys, *arguments)
        assert (status, out) == (2, "")
        assert "Error: " in err

    def test_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        """--version says which version it is."""
        assert run(capsys, "--version") == (0, f"otel-stall, version {__version__}\n", "")


class TestFrom:
    def test_the_same_run_from_any_export(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Told by the content or named, each export gives the report of the OTLP file."""
        for name, data in (("otlp", exports.otlp()), ("jaeger", exports.jaeger()), ("tempo", exports.tempo())):
            (tmp_path / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")
        wanted = run(capsys, "analyze", tmp_path / "otlp.json")
        assert "1 of 1 conversation stalled: 1 loop." in wanted[1]
        for name in ("jaeger", "tempo"):
            assert run(capsys, "analyze", tmp_path / f"{name}.json") == wanted
            assert run(capsys, "analyze", "--from", name, tmp_path / f"{name}.json") == wanted

    def test_an_export_comes_back_as_otlp(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Whatever the input was, `--format otlp` writes its spans in OTLP, with the verdicts on them."""
        path = tmp_path / "trace.json"
        path.write_text(json.dumps(exports.jaeger()), encoding="utf-8")
        status, out, err = run(capsys, "analyze", "--from", "jaeger", "--format", "otlp", path)
        steps = [span["attributes"] for span in spans_of(out) if "execute_tool" in span["name"]]
        assert (status, err, len(steps)) == (0, "", 15)
        assert all(any(pair["key"] == "stall.step" for pair in attributes) for attributes in steps)

    @pytest.mark.parametrize("command", ["analyze", "doctor", "calibrate"])
    def test_a_wrong_name_is_a_problem(self, command: str, traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Status 1, and standard error says what the file is instead."""
        status, _, err = run(capsys, command, "--from", "phoenix", traces)
        assert status == 1
        assert "not Phoenix spans: OTLP JSON" in err
        assert err.endswith("otel-stall: nothing could be read\n")


class TestExitStatus:
    def test_nothing_could_be_read(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Status 1, and a sentence for each file, when no input is a trace."""
        (tmp_path / "a.txt").write_text("hello", encoding="utf-8")
        status, out, err = run(capsys, "analyze", "--format", "json", tmp_path, tmp_path / "none")
        assert status == 1
        assert json.loads(out)["conversations"] == []
        assert err == (
            f"otel-stall: {tmp_path}/a.txt: not a trace: neither JSON nor OTLP protobuf\n"
            f"otel-stall: {tmp_path}/none: cannot be read: No such file or directory\n"
            "otel-stall: nothing could be read\n"
        )

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ('{"resourceMetrics": []}', "otel-stall: no span was found in what could be read\n"),
            (
                '{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "zz", "spanId": "1"}]}]}]}',
                "otel-stall: FILE:1: a span has no valid trace id and span id\n"
                "otel-stall: no span was found in what could be read\n",
            ),
            ("[]", "otel-stall: FILE:1: not a trace: an empty JSON array\notel-stall: nothing could be read\n"),
            ("[[]]", "otel-stall: FILE:1: not a trace: an empty JSON array\notel-stall: nothing could be read\n"),
            (
                '{"a": "\t"}',
                "otel-stall: FILE:1: broken JSON: Invalid control character at column 8\n"
                "otel-stall: nothing could be read\n",
            ),
        ],
    )
    @pytest.mark.parametrize("command", ["analyze", "doctor"])
    def test_without_a_span(
        self, command: str, text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Status 1 where no span could be read, whatever else was, and why."""
        file = tmp_path / "a.json"
        file.write_text(text, encoding="utf-8")
        status, _, err = run(capsys, command, file)
        assert (status, err) == (1, said.replace("FILE", str(file)))

    def test_a_trace_without_agents_is_no_error(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Status 0: it was read, and there was nothing to judge."""
        (tmp_path / "a.json").write_text('{"resourceSpans": []}', encoding="utf-8")
        assert run(capsys, "analyze", tmp_path) == (
            0,
            "No tool call and no model turn was recognised in 0 spans.\n",
            "",
        )

    def test_a_reader_that_goes_away(self, tmp_path: Path) -> None:
        """A closed pipe ends the run quietly."""
        path = tmp_path / "a.jsonl"
        path.write_text("".join(request(*healthy(f"c{index}")) for index in range(60)), encoding="utf-8")
        command = [sys.executable, "-m", "otel_stall", "analyze", "--format", "json", "--steps", str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            assert child.stdout is not None
            assert child.stderr is not None
            child.stdout.read(10)
            child.stdout.close()
            assert (child.wait(timeout=60), child.stderr.read()) == (0, b"")

    def test_an_interrupt(self, tmp_path: Path) -> None:
        """Ctrl-C ends the run without a traceback, with the status that shells give it."""
        with subprocess.Popen(
            [sys.executable, "-m", "otel_stall", "analyze", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as child:
            assert child.stdin is not None
            child.stdin.write(request(*healthy("c")).encode() * 200)
            child.stdin.flush()  # more than a pipe holds: it is being read by now
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=60)
        assert (child.returncode, out, err.strip()) == (130, b"", b"")


class TestImports:
    def test_help_is_light(self) -> None:
        """The command line starts without the reader's, the report's and the detector's modules."""
        code = (
            "import sys, otel_stall.cli;"
            "heavy = {'rich', 'google.protobuf', 'zstandard', 'otel_stall.readers', 'otel_stall.analysis'};"
            "print(sorted(heavy & set(sys.modules)))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
        assert done.stdout == "[]\n"
