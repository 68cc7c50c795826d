"""From spans to what stalled, with a fold whose verdicts are written down here."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from analysed import PLAIN
from hypothesis import given
from hypothesis import strategies as st

from otel_stall.analysis import analyze
from otel_stall.calls import Capture, CompactionMark, ModelCall, Reading, ToolCall
from otel_stall.config import StallConfig
from otel_stall.findings import (
    Analysis,
    ConversationAnalysis,
    Counters,
    Cut,
    Observable,
    StepDetail,
    Summary,
    summarize,
)
from otel_stall.monitor import Monitor
from otel_stall.observations import Compaction, Effect, ModelTurn, Observation, Step
from otel_stall.runs import Run
from otel_stall.spans import SpanView
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

SECOND = 1_000_000_000


class Scripted(Monitor):
    """A fold without rules: the tool's name says what happens.

    `bash` counts as dry; a stall opens at the third dry step, reaches `replan` at the fifth and ends at a
    `test`, which is a milestone.
    """

    def __init__(self, config: StallConfig | None = None) -> None:
        super().__init__(config)
        self._dry: dict[str, int] = {}
        self._steps: dict[str, int] = {}
        self._stalls: dict[str, list[Stall]] = {}

    def observe(self, reading: Reading, conversation: str, lane: str, agent: str) -> Sequence[Judged]:
        observation, verdict = self._fold(reading, lane)
        if observation is None:
            return []
        return [
            Judged(
                conversation=conversation,
                lane=lane,
                agent=agent,
                service=reading.service,
                trace_id=reading.trace_id,
                span_id=reading.span_id,
                observation=observation,
                verdict=verdict,
                partial=reading.name == "partial",
            )
        ]

    def _fold(self, reading: Reading, lane: str) -> tuple[Observation | None, Verdict]:
        step, dry = self._steps.get(lane, 0), self._dry.get(lane, 0)
        match reading.record:
            case CompactionMark():
                changed = Changed(Change.CONTEXT_COMPACTED, step)
                return Compaction("host"), self._verdict(lane, False, (changed,))
            case ModelCall():
                return ModelTurn(), self._verdict(lane, False, ())
            case ToolCall() as call:
                self._steps[lane] = step + 1
                self._dry[lane] = 0 if call.tool == "test" else dry + 1
                changes = self._changes(lane, call.tool)
                effect = Effect.CHECK if call.tool == "test" else Effect.COMMAND
                observed = Step(
                    call.tool,
                    effect,
                    arguments=call.arguments.capture,
                    result=call.result.capture,
                    exit_code=call.exit_code,
                )
                return observed, self._verdict(lane, True, changes)
        return None, self._verdict(lane, False, ())

    def _changes(self, lane: str, tool: str) -> tuple[Changed, ...]:
        step, dry = self._steps[lane], self._dry[lane]
        stalls = self._stalls.setdefault(lane, [])
        if tool == "test":
            milestone = Changed(
                Change.MILESTONE_REACHED, step, milestone=Milestone(step, "test", Evidence.OBSERVED, step)
            )
            if not stalls or stalls[-1].ended:
                return (milestone,)
            stalls[-1] = dataclasses.replace(stalls[-1], ended=EndReason.MILESTONE)
            return (Changed(Change.ENDED, step, stalls[-1]), milestone)
        if dry == 3:
            stalls.append(Stall(len(stalls) + 1, Kind.NO_GRADIENT, step - 2, step, step, ((Level.NOTICE, step),)))
            return (Changed(Change.STARTED, step, stalls[-1]),)
        if dry > 3:
            last = stalls[-1]
            levels = (*last.levels, (Level.REPLAN, step)) if dry == 5 else last.levels
            stalls[-1] = dataclasses.replace(last, last_step=step, levels=levels)
        return ()

    def _verdict(self, lane: str, counted: bool, changes: tuple[Changed, ...]) -> Verdict:
        stalls = self._stalls.get(lane, [])
        dry = self._dry.get(lane, 0)
        return Verdict(
            step=self._steps.get(lane, 0),
            counted=counted,
            gain=Gain.NONE if dry else Gain.MILESTONE,
            reason="scripted",
            waste=0,
            steps_since_milestone=dry,
            steps_since_gain=dry,
            milestone_count=0,
            state_changes=1,
            epoch=0,
            stall=stalls[-1] if stalls and not stalls[-1].ended else None,
            changes=changes,
        )


def tool_span(
    conversation: str, index: int, tool: str = "bash", *, exit_code: int | None = None, outcome: str = ""
) -> SpanView:
    attributes: dict[str, object] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.arguments": '{"command": "ls"}',
        "gen_ai.tool.call.result": "a",
        "gen_ai.conversation.id": conversation,
        **({} if exit_code is None else {"process.exit.code": exit_code}),
        **({"stall.run.outcome": outcome} if outcome else {}),
    }
    return SpanView(
        trace_id=f"{sum(conversation.encode()):032x}",
        span_id=f"{index:016x}",
        parent_id="",
        name=f"execute_tool {tool}",
        start_ns=index * SECOND,
        end_ns=index * SECOND + 1,
        attributes=attributes,
        scope="scope",
        resource={"service.name": "service"},
    )


def conversation(name: str, *tools: str, first: int = 1) -> list[SpanView]:
    return [tool_span(name, index, tool) for index, tool in enumerate(tools, first)]


def compaction(name: str, index: int) -> SpanView:
    kept = {"gen_ai.conversation.id": name, "stall.compaction": True}
    return dataclasses.replace(tool_span(name, index), name="compact", attributes=kept)


def analyzed(views: list[SpanView], *, details: bool = False) -> Analysis:
    return analyze(views, details=details, monitor=Scripted)


def untimed(found: Analysis) -> tuple[ConversationAnalysis, ...]:
    return tuple(dataclasses.replace(one, start_ns=0, end_ns=0) for one in found.conversations)


def lane(conversation: str = "c", **fields: object) -> ConversationAnalysis:
    plain = dataclasses.replace(PLAIN, conversation=conversation, service="service")
    return dataclasses.replace(plain, **fields)  # type: ignore[arg-type]  # fields of mixed types


def stall(number: int, first: int, last: int, **fields: object) -> Stall:
    plain = Stall(number, Kind.NO_GRADIENT, first, first + 2, last, ((Level.NOTICE, first + 2),))
    return dataclasses.replace(plain, **fields)  # type: ignore[arg-type]  # fields of mixed types


class TestCollecting:
    def test_a_stall_is_as_it_was_last(self) -> None:
        """Stalls are followed by their number: level, last step and end are the latest ones."""
        tools = ["bash"] * 6 + ["test"] + ["bash"] * 3
        found = analyzed(conversation("c", *tools))
        levels = ((Level.NOTICE, 3), (Level.REPLAN, 5))
        assert untimed(found) == (
            lane(
                steps=10,
                milestones=(Milestone(7, "test", Evidence.OBSERVED, 7),),
                stalls=(
                    stall(1, 1, 6, levels=levels, ended=EndReason.MILESTONE),
                    stall(2, 8, 10),
                ),
                counters=Counters(3, 3, 1),
                arguments=10,
                results=10,
                commands=10,
                runs=(Run("c", "main", "", steps=10, distance=6, segments=(7,), tail=3),),
            ),
        )

    def test_steps_are_detailed_when_asked(self) -> None:
        """One entry per counted step, without contents."""
        spans = [tool_span("c", 1, "bash", exit_code=2), tool_span("c", 2, "test")]
        detail = StepDetail(
            1, "bash", Effect.COMMAND, Capture.CAPTURED, Capture.CAPTURED, False, 2, Gain.NONE, "scripted", 0, 1, 1
        )
        detail = dataclasses.replace(
            detail, trace_id=spans[0].trace_id, span_id=spans[0].span_id, end_ns=spans[0].end_ns
        )
        other = dataclasses.replace(
            detail,
            step=2,
            tool="test",
            effect=Effect.CHECK,
            exit_code=None,
            gain=Gain.MILESTONE,
            dry=0,
            since_milestone=0,
            span_id=spans[1].span_id,
            end_ns=spans[1].end_ns,
        )
        (found,) = analyzed(spans, details=True).conversations
        assert found.details == (detail, other)
        assert analyzed(spans).conversations[0].details == ()

    def test_a_step_from_a_log_record_is_in_the_span_around_it(self) -> None:
        """A log record has no span of its own: its step names the one that it was written in."""
        record = dataclasses.replace(tool_span("c", 1), span_id="log:1", parent_id="00000000000000aa", log=True)
        (found,) = analyzed([record], details=True).conversations
        assert [detail.span_id for detail in found.details] == ["00000000000000aa"]

    def test_conversations_without_steps_are_listed(self) -> None:
        """A conversation of model turns alone has no steps and is there all the same."""
        chat = dataclasses.replace(
            tool_span("c", 1),
            name="chat m",
            attributes={"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "c", "gen_ai.request.model": "m"},
        )
        assert untimed(analyzed([chat])) == (lane(counters=Counters(0, 0, 1)),)

    def test_the_outcome_is_what_the_host_says_last(self) -> None:
        """A run's outcome comes from any of its spans, the last one counts."""
        spans = [
            tool_span("c", 1, outcome="failure"),
            tool_span("c", 2, outcome="success"),
        ]
        assert [found.outcome for found in analyzed(spans).conversations] == ["success"]

    def test_spans_of_other_kinds_are_counted_and_no_more(self) -> None:
        """Traces without an agent give an empty analysis that says how many spans there were."""
        span = dataclasses.replace(tool_span("c", 1), name="GET /", attributes={"http.method": "GET"})
        found = analyzed([span])
        assert (found.conversations, found.spans) == ((), 1)

    def test_every_judgement_is_handed_out(self) -> None:
        """A caller sees each judgement with the end of its span, conversation by conversation."""
        seen: list[tuple[str, int, int]] = []
        spans = [*conversation("b", "bash", first=1), *conversation("a", "bash", "bash", first=2)]
        analyze(spans, each=lambda j, end: seen.append((j.conversation, j.verdict.step, end)), monitor=Scripted)
        assert seen == [("a", 1, 2 * SECOND + 1), ("a", 2, 3 * SECOND + 1), ("b", 1, SECOND + 1)]

    def test_compactions_are_cuts(self) -> None:
        """A compaction stands after the last step before it."""
        (found,) = analyze([*conversation("c", "bash", "bash"), compaction("c", 3), tool_span("c", 4)]).conversations
        assert (found.steps, found.compactions, found.cuts) == (3, 1, (Cut(2),))


class TestOnly:
    def test_some_conversations_alone_are_judged(self) -> None:
        """Lanes and summary are those of the chosen ones, and each lane is what it is among all."""
        asked: list[Sequence[str]] = []

        def only(ids: Sequence[str]) -> set[str]:
            asked.append(ids)
            return {"b", "unknown"}

        found = analyze(SPANS, only=only, monitor=Scripted)
        assert asked == [["a", "b", "c"]]
        assert found.conversations == tuple(one for one in analyzed(SPANS).conversations if one.conversation == "b")
        assert found.summary == summarize(found.conversations)
        assert found.spans == len(SPANS)

    def test_what_makes_no_lane_cannot_be_chosen(self) -> None:
        """A conversation of which only a run's outcome is known is none of those that are asked for."""
        span = dataclasses.replace(
            tool_span("d", 1), name="root", attributes={"gen_ai.conversation.id": "d", "stall.run.outcome": "success"}
        )
        asked: list[str] = []

        def only(ids: Sequence[str]) -> Sequence[str]:
            asked.extend(ids)
            return ids

        analyze([span, *SPANS], only=only, monitor=Scripted)
        assert asked == ["a", "b", "c"]


SPANS = [
    *conversation("a", "bash", "bash", "bash", "bash", "test", first=1),
    *conversation("b", "test", "bash", "bash", "bash", first=3),
    *conversation("c", "bash", first=2),
]


class TestOrder:
    @given(st.permutations(range(len(SPANS))), st.sets(st.integers(0, len(SPANS) - 1)))
    def test_shards_in_any_order_give_the_same(self, order: list[int], again: set[int]) -> None:
        """Neither the order of the input, nor spans that come twice, change anything."""
        shuffled = [SPANS[index] for index in [*order, *again]]
        assert analyzed(shuffled, details=True) == analyzed(SPANS, details=True)

    def test_lanes_come_in_the_order_in_which_they_began(self) -> None:
        """Conversations are listed by their first span."""
        assert [found.conversation for found in analyzed(SPANS[::-1]).conversations] == ["a", "c", "b"]

    def test_of_two_copies_the_fuller_one_stands(self) -> None:
        """A span exported twice, once before it ended, is one step: the later copy's."""
        early = dataclasses.replace(tool_span("c", 1, exit_code=1), end_ns=0)
        late = tool_span("c", 1)
        for views in ([early, late], [late, early]):
            assert [d.exit_code for d in analyzed(views, details=True).conversations[0].details] == [None]


class TestSummary:
    def test_totals(self) -> None:
        """Conversations count once whatever their lanes; kinds by conversation; steps once each."""
        lanes = [
            lane("a", steps=10, stalls=(stall(1, 2, 6), stall(2, 5, 8, kind=Kind.LOOP)), arguments=10, results=5),
            lane("a", steps=4, stalls=(stall(1, 1, 4),), commands=4, exit_codes=3),
            lane("b", steps=6, outcome="failure", milestones=(Milestone(2, "m", Evidence.OBSERVED, 2),)),
            lane("c", outcome="failure", milestones=(Milestone(2, "m", Evidence.DECLARED, 2),)),
            lane("d", stalls=(stall(1, 1, 4, input_tiers=InputTiers(repeat=3), ended=EndReason.GAIN),), compactions=1),
            lane("e", outcome="success", stalls=(stall(1, 1, 4),)),
        ]
        assert summarize(lanes) == Summary(
            conversations=5,
            stalled=3,
            by_kind=(("loop", 1), ("no_gradient", 3)),
            steps=20,
            stalled_steps=7 + 4 + 4 + 4,
            silent=2,
            unfinished=3,
            advanced=1,
            observable=Observable(arguments=0.5, results=0.25, exit_codes=0.75, compaction=0.1667),
        )

    def test_what_cannot_be_seen_is_none(self) -> None:
        """Without steps, commands or a compaction signal there is no share: not 0 %."""
        nothing = Observable(None, None, None, None)
        assert summarize([]).observable == summarize([lane()]).observable == nothing
        blind = summarize([lane(steps=4, commands=4)]).observable
        assert blind == Observable(arguments=0.0, results=0.0, exit_codes=None, compaction=None)
