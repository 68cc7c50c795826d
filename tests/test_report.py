"""The three forms of a report, compared whole with files.

`UPDATE_GOLDEN=1 pytest tests/test_report.py` writes the files anew; look at the difference before it is kept.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

import analysed
import pytest
from golden import compare
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from otel_stall.calls import Capture
from otel_stall.findings import Analysis, ConversationAnalysis, Counters, StepDetail, summarize
from otel_stall.observations import Compaction, Effect, Step
from otel_stall.otlp import Signal
from otel_stall.readers import Problems, Record
from otel_stall.report import json as as_json
from otel_stall.report.cells import Screen
from otel_stall.report.otlp import Verdicts, lines
from otel_stall.report.printable import printable
from otel_stall.report.text import render
from otel_stall.verdicts import (
    Change,
    Changed,
    EndReason,
    Evidence,
    Gain,
    InputTiers,
    Judged,
    Kind,
    Level,
    Milestone,
    Stall,
    Verdict,
)

TRACE = "0af7651916cd43dd8448eb211c80319c"

STALL = Stall(
    number=1,
    kind=Kind.NO_GRADIENT,
    first_step=3,
    detected_step=8,
    last_step=18,
    levels=((Level.NOTICE, 8), (Level.REPLAN, 14)),
    evidence=("16 steps without gain since step 2", "4 times the check fails as it did before"),
    tokens=1234,
)
PLAIN = replace(analysed.PLAIN, conversation="plain")
STALLED = replace(
    PLAIN,
    conversation="6f1d0f5e-6a3c-4a37-9f0e-2f3f9c9a4b11",
    lane="coder",
    agent="coder",
    service="build-bot",
    steps=18,
    milestones=(Milestone(2, "bash:pytest", Evidence.OBSERVED, 2), Milestone(9, "to-do", Evidence.DECLARED, 7)),
    stalls=(STALL,),
    counters=Counters(16, 16, 2),
    arguments=18,
    results=9,
    commands=4,
    details=(
        StepDetail(
            1, "bash", Effect.COMMAND, Capture.CAPTURED, Capture.ABSENT, False, 0, Gain.INFORMATION, "unseen_content", 0
        ),
        StepDetail(
            2, "bash", Effect.CHECK, Capture.CAPTURED, Capture.TRUNCATED, True, None, Gain.NONE, "still_failing", 0.5
        ),
    ),
)
HOSTILE = replace(
    PLAIN,
    conversation="\x1b[31mred\x1b[0m\r\n[bold]\u202eevil\u202c \ud800",
    lane="a/b#2",
    agent="\x07bell",
    steps=6,
    compactions=1,
    partial=True,
    arguments=6,
    results=6,
    stalls=(
        replace(
            STALL,
            number=1,
            kind=Kind.LOOP,
            first_step=1,
            detected_step=3,
            last_step=4,
            levels=((Level.NOTICE, 3),),
            evidence=("one call 3 times: \x1b]0;title\x07",),
            ended=EndReason.GAIN,
            tokens=None,
            input_tiers=InputTiers(repeat=5, cycle=4),
        ),
    ),
)
HEALTHY = replace(PLAIN, steps=7, arguments=7, results=7, commands=3, exit_codes=3)


def analysis(*lanes: ConversationAnalysis, spans: int = 100) -> Analysis:
    return Analysis(lanes, summarize(lanes), spans)


def problems() -> Problems:
    found = Problems()
    found.add("folder/a.jsonl", 12, "broken JSON: Expecting value at column 7")
    found.add("folder/\x1b[2Jb.json", None, "the file is empty")
    found.requests[Signal.TRACES] = 4
    found.requests[Signal.LOGS] = 1
    return found


FULL = analysis(STALLED, HOSTILE, HEALTHY)
NO_SHARE = {"count": 0, "of": 0, "share": None, "low": None, "high": None}
NOTHING = {"conversations": NO_SHARE, "steps": NO_SHARE, "tokens": None, "input_tiers_silent": NO_SHARE}
NOTHING_OF_A_KIND = {**NOTHING, "of_stalled_steps": NO_SHARE}


class TestJson:
    def test_a_declared_milestone_that_was_verified_later(self) -> None:
        """It says so, with the step of what verified it."""
        declared = Milestone(9, "to-do", Evidence.DECLARED, 7, confirmed_at=14)
        lane = replace(FULL.conversations[0], milestones=(declared,))

        found = json.loads(as_json.render(replace(FULL, conversations=(lane,)), Problems()))

        assert found["conversations"][0]["milestones"] == [
            {"step": 9, "name": "to-do", "evidence": "declared", "verified": True, "verified_step": 14}
        ]

    def test_document(self) -> None:
        """The document is the contract: every key, in this shape, nothing left out."""
        compare("analysis.json", as_json.render(FULL, problems(), steps=True))

    def test_steps_only_when_asked(self) -> None:
        """Without --steps there is no `steps_detail`, and nothing else changes."""
        full = as_json.document(FULL, problems(), steps=True)
        for found in full["conversations"]:  # type: ignore[attr-defined]  # the document is plain values
            del found["steps_detail"]
        assert as_json.document(FULL, problems()) == full

    def test_nothing_found_is_no_zero_share(self) -> None:
        """Shares that cannot be told are null."""
        document = as_json.document(analysis(spans=0), Problems())
        assert document == {
            "schema": 1,
            "conversations": [],
            "summary": {
                "conversations": 0,
                "stalled": 0,
                "by_kind": {},
                "steps": 0,
                "stalled_steps": 0,
                "input_tiers_silent": 0,
                "partial_progress": {"unfinished": 0, "with_milestone": 0},
                "observable": {"arguments": None, "results": None, "exit_codes": None, "compaction": None},
                "measurement": {
                    "conversations": 0,
                    "few": True,
                    "with_tokens": 0,
                    "dominant": None,
                    "any": NOTHING,
                    "kinds": {"loop": NOTHING_OF_A_KIND, "no_gradient": NOTHING_OF_A_KIND, "amnesia": None},
                    "partial_progress": NO_SHARE,
                    "not_measurable": {
                        "amnesia": "no compaction signal in these traces",
                        "tokens": "no token counts in these traces",
                    },
                },
            },
            "problems": [],
        }

    def test_problems_that_were_dropped_are_counted(self) -> None:
        """A bounded list says how many more there were."""
        many = Problems()
        for line in range(103):
            many.add("a", line, "broken")
        document = as_json.document(analysis(), many)
        assert (len(document["problems"]), document["problems_dropped"]) == (100, 3)  # type: ignore[arg-type]  # a list

    def test_a_document_is_ascii(self) -> None:
        """Nothing in a trace can send a control sequence to the terminal that shows the document."""
        text = as_json.render(FULL, problems())
        assert text.isascii()
        assert "\x1b" not in text


class TestText:
    def test_into_a_pipe(self) -> None:
        """Plain, every line whole."""
        compare("report.txt", render(FULL, problems()))

    def test_on_a_terminal_of_80_columns(self) -> None:
        """The same, folded: no line is longer than the terminal."""
        text = render(FULL, problems(), Screen(80))
        assert max(map(len, text.splitlines())) <= 80
        compare("report-80.txt", text)

    def test_colour_adds_escape_sequences_of_ours_alone(self) -> None:
        """Without colour there is no escape sequence; with it the text is the same."""
        plain, coloured = render(FULL, problems()), render(FULL, problems(), Screen(None, colour=True))
        assert "\x1b" not in plain
        assert coloured != plain
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain

    @given(st.text(), st.text(alphabet="数据x\u0301\x1b\u202e ", max_size=90), st.integers(20, 160))
    def test_every_line_fits(self, name: str, other: str, width: int) -> None:
        """Whatever the names, no line of the report is wider than the terminal, and all of it is printable."""
        named = replace(STALLED, conversation=name, lane=other, agent=name, service=other)
        reached = replace(named, milestones=(Milestone(2, other, Evidence.OBSERVED, 2),))
        for line in render(analysis(named, reached, HEALTHY), problems(), Screen(width)).splitlines():
            assert cell_len(line) <= width
            assert line.isprintable()

    def test_no_stall(self) -> None:
        """Without a stall the report is one sentence, the conversations and what could not be seen."""
        assert render(analysis(HEALTHY), Problems()) == (
            "No stall in 1 conversation of 7 steps.\n"
            "\n"
            "conversation  milestones  stall  level  stalled  tokens  open\n"
            "plain         none in 0   -      -          0/7       -  -\n"
            "\n"
            "Not measured:\n"
            "  amnesia: not measurable, no compaction signal in these traces\n"
            "  composite: without detection.tool_call_budget this input-side rule cannot fire\n"
        )

    def test_no_agent(self) -> None:
        """Traces without any tool call say so, and nothing is said of rules."""
        assert render(analysis(spans=3), Problems()) == ("No tool call and no model turn was recognised in 3 spans.\n")

    def test_content_that_was_not_captured(self) -> None:
        """Where nothing was captured the share and the reason are told."""
        text = render(analysis(replace(HEALTHY, results=0, arguments=0, exit_codes=0)), Problems())
        assert [line for line in text.splitlines() if "captured" in line or "exit" in line] == [
            "  arguments: captured on 0% of the steps; on the others the instrumentation's content switch is "
            "off, or it cut or redacted them, and they cannot be compared",
            "  results: captured on 0% of the steps; on the others the instrumentation's content switch is "
            "off, or it cut or redacted them, and they cannot be compared",
            "  exit codes: none on any command; a failure is known by status and text alone",
        ]

    def test_long_reports_are_cut(self) -> None:
        """Of many stalls some are told and twenty conversations listed, and the rest is counted; or all are listed."""
        many = analysis(*(replace(STALLED, conversation=f"c{index}") for index in range(60)))
        text = render(many, Problems())
        assert "and 40 more, which cost less; --all lists them too\n" in text
        assert "55 more stalls in the table; --conversation ID tells those of one conversation\n" in text
        assert text.count("16 steps without gain") == 5
        assert sum(line.startswith("c") for line in render(many, Problems(), whole=True).splitlines()) == 61 + 5


class TestPrintable:
    @given(st.text())
    def test_no_control_character_passes(self, text: str) -> None:
        """Whatever a name holds, it is printable, of one line and bounded."""
        shown = printable(text, 20)
        assert shown.isprintable()
        assert len(shown) <= 20

    @pytest.mark.parametrize("text", ["plain", "größer 数 é", ""])
    def test_ordinary_text_passes(self, text: str) -> None:
        """Text without such characters is shown as it is."""
        assert printable(text) == text


VERDICT = Verdict(
    step=1,
    counted=True,
    gain=Gain.NONE,
    reason="same_outcome",
    waste=1,
    steps_since_milestone=1,
    steps_since_gain=1,
    milestone_count=0,
    state_changes=0,
    epoch=0,
    call_fingerprint=7,
)


def judged(span_id: str, **fields: object) -> Judged:
    return Judged(
        conversation="c",
        lane="main",
        agent="",
        service="",
        trace_id=TRACE,
        span_id=span_id,
        observation=Step("bash", Effect.COMMAND) if fields.get("counted", True) else Compaction("host"),
        verdict=replace(VERDICT, **fields),  # type: ignore[arg-type]  # fields of mixed types
    )


INPUT = {
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "s"}}], "unknownField": 1},
            "scopeSpans": [
                {
                    "spans": [
                        {
                            "traceId": TRACE.upper(),
                            "spanId": "000000000000000a",
                            "name": "execute_tool bash",
                            "attributes": [
                                {"key": "x", "value": {"doubleValue": 1e300}},
                                {"key": "stall.kind", "value": {"stringValue": "amnesia"}},
                                {"key": "stall.milestone.name", "value": {"stringValue": "a hint stays"}},
                            ],
                            "events": [{"name": "exception", "timeUnixNano": "1"}],
                            "unknownField": {"deep": [None, "\ud800"]},
                        },
                        {
                            "traceId": TRACE,
                            "spanId": "000000000000000b",
                            "name": "judged once, no step now",
                            "attributes": [
                                {"key": "stall.step", "value": {"intValue": "3"}},
                                {"key": "x", "value": {"intValue": 5}},
                            ],
                            "events": [{"name": "stall.started"}],
                        },
                        {"traceId": TRACE, "spanId": "000000000000000c", "name": "chat", "attributes": None},
                    ]
                }
            ],
        }
    ]
}


class TestOtlp:
    def test_verdicts_are_written_on_the_steps(self) -> None:
        """Counted steps carry attributes and events; stale ones go; everything else is as it came."""
        verdicts = Verdicts()
        started = Changed(Change.STARTED, 1, replace(STALL, first_step=1, detected_step=1, levels=((Level.NOTICE, 1),)))
        verdicts.take(judged("000000000000000a", stall=started.stall, changes=(started,)), 99)
        compacted = (Changed(Change.CONTEXT_COMPACTED, 1),)
        verdicts.take(judged("000000000000000c", counted=False, changes=compacted), 120)
        text = "".join(lines([Record("f", 1, json.loads(json.dumps(INPUT)))], verdicts))
        assert text.count("\n") == 1
        compare("annotated.json", json.dumps(json.loads(text), indent=1) + "\n")

    def test_writing_twice_changes_nothing(self) -> None:
        """What an earlier run wrote is replaced by the same."""
        verdicts = Verdicts()
        started = Changed(Change.STARTED, 1, STALL)
        verdicts.take(judged("000000000000000a", stall=STALL, changes=(started,)), 99)
        (once,) = lines([Record("f", 1, json.loads(json.dumps(INPUT)))], verdicts)
        (twice,) = lines([Record("f", 1, json.loads(once))], verdicts)
        assert once == twice

    def test_without_verdicts_the_input_comes_back(self) -> None:
        """Spans that are no steps pass value for value."""
        untouched: dict[str, object] = {
            "resourceSpans": [{"scopeSpans": [{"spans": [{"name": "x", "kind": 1.0, "traceId": "?"}]}], "y": 1}]
        }
        assert [json.loads(line) for line in lines([Record("f", 1, untouched)], Verdicts())] == [untouched]
