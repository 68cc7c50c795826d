"""The page for a browser as a file: what stands in it, what a trace can do to it, and what it leaves out.

How it behaves once it is opened is tested in `tests/page`, in a browser.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import zlib
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest
from analysed import PLAIN
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from otel_stall.calls import Capture
from otel_stall.config import StallConfig
from otel_stall.emission import fingerprint
from otel_stall.errors import ConfigError
from otel_stall.findings import Analysis, ConversationAnalysis, Cut, StepDetail, summarize
from otel_stall.observations import Effect
from otel_stall.readers import Problems
from otel_stall.report import json as as_json
from otel_stall.report.page import TraceLink, write
from otel_stall.verdicts import EndReason, Evidence, Gain, Kind, Level, Milestone, Stall

TRACE = "0af7651916cd43dd8448eb211c80319c"
KEY = SecretStr("a key of some length")
STALL = Stall(
    1, Kind.NO_GRADIENT, 2, 3, 4, ((Level.NOTICE, 3),), ("3 steps without gain",), ended=EndReason.GAIN, tokens=90
)


def step(number: int, **fields: object) -> StepDetail:
    plain = StepDetail(
        number,
        "bash",
        Effect.COMMAND,
        Capture.CAPTURED,
        Capture.CAPTURED,
        False,
        None,
        Gain.NONE,
        "same_outcome",
        1,
        command="bash:git status",
        trace_id=TRACE,
        span_id=f"{number:016x}",
        end_ns=number * 1_000_000_000,
        call_fingerprint=number,
    )
    return replace(plain, **fields)  # type: ignore[arg-type]  # fields of mixed types


STALLED = replace(
    PLAIN,
    conversation="ticket-7",
    agent="fixer",
    steps=5,
    details=tuple(step(number) for number in range(1, 6)),
    milestones=(Milestone(1, "pytest", Evidence.OBSERVED, 1),),
    stalls=(STALL,),
    cuts=(Cut(2),),
    compactions=1,
    tokens=400,
    start_ns=1_700_000_000_000_000_000,
    end_ns=1_700_000_009_000_000_000,
)


def page(*lanes: ConversationAnalysis, link: TraceLink | None = None, config: StallConfig | None = None) -> str:
    out = io.StringIO()
    write(out, Analysis(lanes, summarize(lanes), 10), Problems(), config or StallConfig(), link=link)
    return out.getvalue()


def data(text: str, name: str) -> Any:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def record(text: str, number: int = 0) -> Any:
    found = re.search(rf'<script type="text/plain" id="lane-{number}">(.*?)</script>', text)
    assert found is not None
    return json.loads(zlib.decompress(base64.b64decode(found[1])))


class TestData:
    def test_totals_are_those_of_the_json_document(self) -> None:
        """What the page claims of all conversations is the JSON document's summary, to the last figure."""
        lanes = (STALLED, replace(PLAIN, conversation="well", steps=3))
        document = as_json.document(Analysis(lanes, summarize(lanes), 10), Problems())
        assert data(page(*lanes), "report")["summary"] == document["summary"]

    def test_a_record_holds_the_conversation_of_the_json_document(self) -> None:
        """What the page says of one lane is what the JSON document says of it."""
        found = record(page(STALLED))
        wanted = as_json.conversation(STALLED)
        assert {name: found[name] for name in wanted} == wanted

    def test_steps_are_columns_of_equal_length(self) -> None:
        """Every column has one entry a step; what repeats is a place among the names."""
        columns = record(page(STALLED))["columns"]
        assert {len(column if isinstance(column, list) else column["at"]) for column in columns.values()} == {5}
        assert columns["tool"] == {"names": ["bash"], "at": [0] * 5}
        assert columns["trace"]["names"] == [TRACE]
        assert columns["ended"] == [1000, 2000, 3000, 4000, 5000]

    def test_rows_say_what_the_table_sorts_and_filters_by(self) -> None:
        """A row has the cells that `columns` names; a lane that did not stall has level -1 and no step to tell."""
        found = data(page(STALLED, PLAIN), "report")
        stalled, well = (dict(zip(found["columns"], row, strict=True)) for row in found["rows"])
        assert (stalled["kinds"], stalled["level"], stalled["stalled_steps"]) == (["no_gradient"], 0, 3)
        assert (stalled["stalled_tokens"], stalled["detected_step"], stalled["ongoing"]) == (90, 3, False)
        assert (stalled["started"], stalled["milestones"], stalled["input_step"]) == (1_700_000_000_000, 1, None)
        assert (well["kinds"], well["level"], well["detected_step"], well["started"]) == ([], -1, None, None)

    def test_bands_have_the_parts_of_a_stall(self) -> None:
        """A stall is drawn from its first step on, and by level from where each was reached."""
        assert record(page(STALLED))["bands"] == [
            {"kind": "no_gradient", "row": 0, "parts": [[None, 2, 2], ["notice", 3, 4]]}
        ]

    def test_fingerprints_are_keyed(self) -> None:
        """With a key set, the page holds the tokens that spans carry, and no digest as it is."""
        text = page(STALLED, config=StallConfig(fingerprint_key=KEY))
        assert record(text)["columns"]["call"]["names"][0] == fingerprint(1, KEY.get_secret_value())
        assert record(page(STALLED))["columns"]["call"]["names"][0] == fingerprint(1)

    def test_nothing_of_unknown_content_has_a_fingerprint(self) -> None:
        """The outcome of a call whose result is unknown has no fingerprint."""
        assert record(page(STALLED))["columns"]["outcome"] == {"names": [None], "at": [0] * 5}

    def test_the_same_analysis_gives_the_same_page(self) -> None:
        """Two pages of one analysis are equal to the byte: no time and no chance is in them."""
        assert page(STALLED) == page(STALLED)

    def test_no_conversation_makes_a_page_too(self) -> None:
        """A report in which nothing was found can be opened all the same."""
        assert data(page(), "report")["rows"] == []


class TestSafety:
    @given(st.text(max_size=40), st.sampled_from(["conversation", "lane", "agent", "service"]))
    def test_no_text_of_a_trace_is_markup(self, text: str, field: str) -> None:
        """Whatever a name holds, the page has the elements it has without it, and the name comes back whole."""
        lane = replace(STALLED, **{field: f"{text}</script><script>alert(1)</script><!--"})  # type: ignore[arg-type]
        made = page(lane)
        assert made.count("<script") == page(STALLED).count("<script")
        assert made.count("<!--") == page(STALLED).count("<!--")
        names = {"conversation": "id"}
        assert record(made)[names.get(field, field)] == getattr(lane, field)

    def test_a_browser_may_run_the_two_scripts_and_open_nothing(self) -> None:
        """The policy names the scripts by their digests; it allows no address at all."""
        text = page(STALLED)
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
        assert policy is not None
        scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
        digests = [
            f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
        ]
        assert "default-src 'none'" in policy[1]
        assert f"script-src {' '.join(digests)};" in policy[1]
        assert len(digests) == 2

    def test_nothing_is_loaded(self) -> None:
        """No element of the page asks for another file."""
        head, body = page(STALLED).split("<body>")
        for part in (head, body.split("<script>")[0]):
            assert not re.search(r"<link|<img|<iframe|\bsrc=|@import|url\(", part)

    def test_the_library_is_the_one_that_was_looked_at(self) -> None:
        """The file of the library is the published one, byte for byte, and its licence is beside it."""
        vendor = files("otel_stall.report.page") / "vendor"
        stated = (vendor / "README.md").read_text("utf-8")
        digest = hashlib.sha256((vendor / "echarts.common.min.js").read_bytes()).hexdigest()
        assert digest in stated
        assert "Apache License" in (vendor / "LICENSE-echarts").read_text("utf-8")


class TestLink:
    def test_a_template_becomes_parts(self) -> None:
        """The page fills in each field by itself: literal text and the field after it."""
        link = TraceLink("http://localhost:16686/trace/{trace_id}?uiFind={span_id}")
        assert data(page(STALLED, link=link), "report")["link"] == [
            ["http://localhost:16686/trace/", "trace_id"],
            ["?uiFind=", "span_id"],
        ]

    def test_braces_can_be_written(self) -> None:
        """Grafana's addresses hold JSON: a brace written twice is one."""
        link = TraceLink('https://grafana.example/explore?left={{"query":"{trace_id}"}}')
        assert "".join(part[0] + part[1] for part in link.parts()) == (
            'https://grafana.example/explore?left={"query":"trace_id"}'
        )

    @pytest.mark.parametrize(
        ("template", "said"),
        [
            ("javascript:alert({trace_id})", "http:// or https://"),
            ("/trace/{trace_id}", "http:// or https://"),
            ("http:///trace/{trace_id}", "http:// or https://"),
            ("http://{trace_id}/", "host"),
            ("http://localhost/", "{trace_id} is missing"),
            ("http://localhost/{trace_id}/{user}", "{user} is not known"),
            ("http://localhost/{trace_id}/{}", "{} is not known"),
            ("http://localhost/{trace_id", "trace-url"),
        ],
    )
    def test_what_is_no_address_is_refused(self, template: str, said: str) -> None:
        """A template that leads nowhere, or to a script, is said to be wrong before anything is read."""
        with pytest.raises(ConfigError, match=re.escape(said)):
            TraceLink(template)
