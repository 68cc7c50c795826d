"""Rules of `marking`: what a host says of a milestone counts at once, and the same in a replay."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from opentelemetry import baggage, context

import otel_stall
from otel_stall import StallConfig, StallSpanProcessor, attachment, marking
from otel_stall.analysis import analyze
from otel_stall.attributes import MILESTONE_EVIDENCE, MILESTONE_NAME
from otel_stall.calls import HostMark
from otel_stall.findings import Analysis
from otel_stall.spans import from_readable_span
from otel_stall.testing import RecordedProvider
from otel_stall.verdicts import Evidence, Judged, Milestone

Written = tuple[object, ...]


def recorded(**settings: object) -> RecordedProvider:
    return RecordedProvider(StallSpanProcessor(StallConfig.create(settings)))


def mark(host: RecordedProvider, name: str, evidence: str = "observed", conversation: str | None = None) -> None:
    otel_stall.milestone(name, evidence=evidence, conversation=conversation, timestamp=host.clock())  # type: ignore[arg-type]  # a text of three


def look(host: RecordedProvider, times: int = 1) -> None:
    for _ in range(times):
        host.tool("read_file", {"path": "a.py"}, "total = 1")


def live(host: RecordedProvider) -> list[Written]:
    """Return what the spans of steps say as they were exported."""
    names = ("step", "gain.reason", "steps_since_milestone", "steps_since_gain", "milestone.count", "level")
    return [tuple(written.get(f"stall.{name}") for name in names) for written in host.verdicts()]


def replayed(host: RecordedProvider) -> tuple[list[Written], Analysis]:
    """Return the same of the exported spans, judged anew, and the analysis."""
    found: list[Judged] = []
    analysis = analyze(map(from_readable_span, host.spans()), each=lambda judged, _: found.append(judged))
    return [
        (
            v.step,
            v.reason,
            v.steps_since_milestone,
            v.steps_since_gain,
            v.milestone_count,
            v.stall and v.stall.level.value,
        )
        for v in (judged.verdict for judged in found)
        if v.counted
    ], analysis


def processor_of(host: RecordedProvider) -> StallSpanProcessor:
    return otel_stall.attach(host.provider)


def events(host: RecordedProvider, span: str) -> list[str]:
    return [event.name for each in host.spans() if each.name == span for event in each.events]


class TestMilestone:
    def test_counts_at_once(self) -> None:
        """In the middle of an agent's run, whose span ends last: distance and streak start anew with the next step."""
        host = recorded()
        with host.agent("coder", conversation="c-1"):
            look(host, 4)
            mark(host, "schema agreed")
            look(host, 2)

        assert [(step, distance, count) for step, _, distance, _, count, _ in live(host)] == [
            *((1, 1, 0), (2, 2, 0), (3, 3, 0), (4, 4, 0)),
            *((5, 1, 1), (6, 2, 1)),
        ]
        found, analysis = replayed(host)
        assert found == live(host)
        assert [lane.milestones for lane in analysis.conversations] == [
            (Milestone(4, "schema agreed", Evidence.OBSERVED, 4),)
        ]

    def test_inside_a_tool(self) -> None:
        """The milestone comes before the step of the tool that was running."""
        host = recorded()
        with host.agent("coder", conversation="c-1"):
            look(host, 2)
            with host.span("execute_tool deploy", {"gen_ai.operation.name": "execute_tool"}) as span:
                span.set_attributes({"gen_ai.tool.name": "run", "gen_ai.tool.call.result": "[]"})
                mark(host, "staging is up")
            look(host)

        assert [distance for _, _, distance, _, _, _ in live(host)] == [1, 2, 1, 2]
        assert replayed(host)[0] == live(host)

    def test_a_name_counts_once_per_run(self) -> None:
        """Said again it changes nothing; in the next run it counts again, and ends of spans count nothing twice."""
        host = recorded()
        with host.agent("coder", conversation="c-1"):
            look(host, 2)
            for run in ("r-1", "r-2"):
                host.tool("read_file", {"path": "b"}, run, attributes={"stall.run.id": run})
                mark(host, "built")
                look(host)
                mark(host, "built")
                look(host)

        assert [distance for _, _, distance, _, _, _ in live(host)] == [1, 2, 3, 1, 2, 1, 1, 2]
        assert replayed(host)[0] == live(host)

    def test_of_each_lane(self) -> None:
        """It is a milestone of the agent whose span is current."""
        host = recorded()
        with host.agent("lead", conversation="c-1"):
            look(host, 2)
            with host.agent("helper"):
                look(host, 2)
                mark(host, "found it")
                look(host)
            look(host)

        assert [(step, distance) for step, _, distance, _, _, _ in live(host)] == [
            *((1, 1), (2, 2), (1, 1), (2, 2), (3, 1)),
            (3, 3),
        ]
        found, analysis = replayed(host)
        assert found != []
        assert [(lane.agent, len(lane.milestones)) for lane in analysis.conversations] == [("lead", 0), ("helper", 1)]

    def test_of_another_conversation(self) -> None:
        """A supervisor names whose milestone it is; that conversation's latest lane takes it, the caller's does not."""
        host = recorded()
        with host.agent("coder", conversation="c-1"):
            look(host, 3)
        with host.agent("supervisor", conversation="c-2"):
            look(host, 2)
            mark(host, "reviewed", conversation="c-1")
            look(host)
        with host.agent("coder", conversation="c-1"):
            look(host)

        assert [distance for _, _, distance, _, _, _ in live(host)] == [1, 2, 3, 1, 2, 3, 1]
        analysis = replayed(host)[1]
        assert [(lane.conversation, len(lane.verified)) for lane in analysis.conversations] == [("c-1", 1), ("c-2", 0)]

    def test_before_the_conversation_has_a_name(self) -> None:
        """What counted under the trace goes over to the conversation when an ancestor names it."""
        host = recorded()
        with host.agent("coder") as agent:
            look(host, 2)
            mark(host, "half")
            look(host)
            agent.set_attribute("gen_ai.conversation.id", "c-9")
            look(host)

        assert [distance for _, _, distance, _, _, _ in live(host)] == [1, 2, 1, 2]
        assert replayed(host)[0] == live(host)

    def test_irreversible_moves_the_distance_alone(self) -> None:
        """It closes no stall: the streak goes on."""
        host = recorded()
        with host.agent("coder", conversation="c-1"):
            look(host, 8)
            mark(host, "sent", "irreversible")
            look(host)

        assert live(host)[-1] == (9, "reread_unchanged", 1, 8, 1, "replan")
        assert replayed(host)[0] == live(host)

    def test_declared_is_recorded_only(self) -> None:
        """It counts nothing, and is verified by the next check that turns green after a change."""
        host = recorded()
        with host.agent("coder", conversation="c-1"):
            look(host, 2)
            mark(host, "done", "declared")
            host.tool("run_tests", {}, "1 failed")
            mark(host, "really done", "declared")
            host.tool("write_file", {"path": "a.py", "content": "x"}, "ok")
            host.tool("run_tests", {}, "3 passed")
            mark(host, "all done", "declared")

        assert [(distance, count) for _, _, distance, _, count, _ in live(host)] == [
            (1, 0),
            (2, 0),
            (3, 0),
            (4, 0),
            (0, 1),
        ]
        found, analysis = replayed(host)
        assert found == live(host)
        assert [(m.step, m.name, m.confirmed_at) for m in analysis.conversations[0].milestones] == [
            (2, "done", 5),
            (3, "really done", 5),
            (5, "run_tests", None),
            (5, "all done", None),
        ]
        (reached,) = [
            dict(event.attributes or {})
            for span in host.spans()
            for event in span.events
            if event.name == "stall.milestone_reached" and span.name == "execute_tool run_tests"
        ]
        assert reached["stall.milestone.declared"] == ("done", "really done")

    @hypothesis_settings(max_examples=40, deadline=None)
    @given(
        st.lists(
            st.one_of(
                st.just(""),
                st.tuples(st.sampled_from("abc"), st.sampled_from(["observed", "irreversible", "declared"])),
            ),
            max_size=30,
        ),
        st.booleans(),
    )
    def test_live_and_replay_agree(self, acts: list[str | tuple[str, str]], inner: bool) -> None:
        """Wherever milestones are named, on the agent's span or on one below it."""
        host = recorded()
        with host.agent("coder", conversation="c-1"):
            for act in acts:
                if isinstance(act, str):
                    look(host)
                elif inner:
                    with host.span("work"):
                        mark(host, *act)
                else:
                    mark(host, *act)

        assert replayed(host)[0] == live(host)


class TestWithoutSpan:
    def test_the_conversation_is_told(self) -> None:
        """Outside of any span a milestone counts for the conversation named; nothing is there to replay."""
        host = recorded()
        processor = processor_of(host)
        with host.agent("coder", conversation="c-1"):
            look(host, 3)
        processor.mark(HostMark("paid", "observed", host.clock(), "c-1"))
        with host.agent("coder", conversation="c-1"):
            look(host)

        assert [distance for _, _, distance, _, _, _ in live(host)] == [1, 2, 3, 1]
        assert processor.errors == 0

    def test_or_the_baggage_tells(self) -> None:
        """As for spans."""
        host = recorded()
        processor = processor_of(host)
        with host.agent("coder", conversation="c-1"):
            look(host, 2)
        token = context.attach(baggage.set_baggage("gen_ai.conversation.id", "c-1"))
        processor.mark(HostMark("paid", "observed", host.clock()))
        context.detach(token)
        with host.agent("coder", conversation="c-1"):
            look(host)

        assert [distance for _, _, distance, _, _, _ in live(host)] == [1, 2, 1]


class TestNothing:
    def test_without_a_processor(self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
        """The event is on the span for a later analysis; nothing counts, and the log says so once, at debug."""
        monkeypatch.setattr(marking, "_said", set())
        monkeypatch.setattr(attachment, "_attached", {})
        host = RecordedProvider()
        with caplog.at_level(logging.DEBUG, logger="otel_stall"), host.agent("coder", conversation="c-1"):
            mark(host, "a")
            mark(host, "b")

        assert [(record.levelname, record.message.split(":")[0]) for record in caplog.records] == [
            ("DEBUG", "no processor is attached")
        ]
        assert events(host, "invoke_agent coder") == ["stall.milestone"] * 2
        analysis = replayed(host)[1]
        assert [len(lane.verified) for lane in analysis.conversations] == [2]

    def test_switched_off(self) -> None:
        """A processor that is switched off leaves spans untouched, by this way too."""
        host = recorded(enabled=False)
        with host.agent("coder", conversation="c-1"):
            mark(host, "a")

        assert events(host, "invoke_agent coder") == []

    @pytest.mark.parametrize("name", [None, 3, "", "  ", "x" * 100_000, "\ud800", b"\xff", object(), ["a"]])
    def test_never_raises(self, name: object) -> None:
        """Whatever the host says."""
        host = recorded()
        with host.agent("coder", conversation="c-1"):
            otel_stall.milestone(name)  # type: ignore[arg-type]  # that is what is tried
            otel_stall.milestone("a", evidence=name, conversation=name)  # type: ignore[arg-type]  # likewise
        otel_stall.milestone("outside")

    def test_a_slip_is_told_once(self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
        """What can only be a mistake is a warning: nobody would look for it at debug."""
        monkeypatch.setattr(marking, "_said", set())
        host = recorded()
        with host.agent("coder", conversation="c-1"):
            for name, evidence in (("", "observed"), ("a", "obsreved"), ("", "observed"), ("b", "obsreved")):
                mark(host, name, evidence)

        assert [(record.levelname, record.getMessage()[:34]) for record in caplog.records] == [
            ("WARNING", "a milestone without a name, or who"),
            ("WARNING", "the evidence of a milestone is obs"),
        ]

    @pytest.mark.parametrize("name", [None, 3, "", "  "])
    def test_without_a_name_nothing_counts(self, name: object) -> None:
        """A milestone that has no name is none."""
        host = recorded()
        with host.agent("coder", conversation="c-1"):
            look(host)
            otel_stall.milestone(name)  # type: ignore[arg-type]  # that is what is tried
            look(host)

        assert live(host)[-1][2] == 2
        assert events(host, "invoke_agent coder") == []

    def test_unknown_evidence_on_a_tool_span_counts_nothing(self) -> None:
        """The word means the same wherever the host says it."""
        host = recorded()
        with host.agent("coder", conversation="c-1"):
            host.tool("look_up", {"a": 1}, "x", attributes={MILESTONE_NAME: "paid", MILESTONE_EVIDENCE: "obsreved"})

        assert live(host)[-1][2] == 1

    def test_unknown_evidence_counts_nothing(self) -> None:
        """A slip of the pen is a claim, not a proof."""
        host = recorded()
        with host.agent("coder", conversation="c-1"):
            look(host, 2)
            mark(host, "paid", "obsreved")
            look(host)

        assert live(host)[-1][2] == 3
        assert replayed(host)[0] == live(host)

    def test_what_failed_is_no_error_of_the_host(self) -> None:
        """Nothing is counted as an error of the processor's in all of this."""
        host = recorded()
        processor = processor_of(host)
        with host.agent("coder", conversation="c-1"):
            mark(host, "a")

        assert (processor.errors, processor.skipped, processor.unannotated) == (0, 0, 0)


class TestEvents:
    def test_are_mirrored_on_the_current_span(self) -> None:
        """The host's own event, and what came of it."""
        host = recorded()
        with host.agent("coder", conversation="c-1"):
            look(host)
            mark(host, "a")

        assert events(host, "invoke_agent coder") == ["stall.milestone", "stall.milestone_reached"]

    def test_the_open_span_of_the_agent_knows(self) -> None:
        """Its count of milestones is that of its lane."""
        host = recorded()
        with host.agent("coder", conversation="c-1"):
            look(host)
            mark(host, "a")

        (agent,) = [span for span in host.spans() if span.name == "invoke_agent coder"]
        assert (agent.attributes or {})["stall.milestone.count"] == 1
