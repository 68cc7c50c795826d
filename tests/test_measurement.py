"""Which kind dominates: shares over lanes that are written down here."""

from __future__ import annotations

from dataclasses import replace

import analysed

from otel_stall.findings import ConversationAnalysis
from otel_stall.intervals import clustered, wilson
from otel_stall.measurement import FEW, KindShare, Measurement, measure
from otel_stall.report import measurement
from otel_stall.verdicts import EndReason, Evidence, InputTiers, Kind, Level, Milestone, Stall

PLAIN = replace(analysed.PLAIN, steps=20, arguments=20, results=20)


def stall(kind: Kind, first: int, last: int, *, seen: bool = False, tokens: int | None = None) -> Stall:
    tiers = InputTiers(repeat=first) if seen else InputTiers()
    levels = ((Level.NOTICE, first),)
    return Stall(1, kind, first, first, last, levels, ended=EndReason.GAIN, tokens=tokens, input_tiers=tiers)


def lane(number: int, *stalls: Stall, **fields: object) -> ConversationAnalysis:
    return replace(PLAIN, conversation=f"c{number}", stalls=stalls, **fields)  # type: ignore[arg-type]  # fields of mixed types


def share(found: Measurement, kind: Kind) -> KindShare:
    share = found.kinds[kind]
    assert share is not None
    return share


def body(loops: int, others: int, healthy: int) -> list[ConversationAnalysis]:
    kinds = [Kind.LOOP] * loops + [Kind.NO_GRADIENT] * others
    stalled = [lane(number, stall(kind, 1, 10)) for number, kind in enumerate(kinds)]
    return stalled + [lane(len(kinds) + number) for number in range(healthy)]


class TestShares:
    def test_of_conversations_steps_and_tokens(self) -> None:
        """Each kind has its conversations, its steps, its tokens and what input-side rules would have missed of it."""
        lanes = [
            lane(1, stall(Kind.LOOP, 1, 5, seen=True, tokens=30), stall(Kind.NO_GRADIENT, 4, 9, tokens=50), tokens=100),
            lane(2, stall(Kind.NO_GRADIENT, 11, 20, tokens=10), tokens=40),
            lane(3),
        ]

        found = measure(lanes)

        assert share(found, Kind.LOOP) == KindShare(
            conversations=wilson(1, 3),
            steps=clustered([(5, 20), (0, 20), (0, 20)]),
            tokens=clustered([(30, 100), (0, 40)]),
            silent=wilson(0, 1),
            of_stalled=clustered([(5, 9), (0, 10)]),
        )
        assert share(found, Kind.NO_GRADIENT) == KindShare(
            conversations=wilson(2, 3),
            steps=clustered([(4, 20), (10, 20), (0, 20)]),
            tokens=clustered([(50, 100), (10, 40)]),
            silent=wilson(2, 2),
            of_stalled=clustered([(4, 9), (10, 10)]),
        )
        assert found.any == KindShare(
            conversations=wilson(2, 3),
            steps=clustered([(9, 20), (10, 20), (0, 20)]),
            tokens=clustered([(80, 100), (10, 40)]),
            silent=wilson(1, 2),
        )
        assert (found.few, found.counted, found.dominant) == (True, 2, None)

    def test_lanes_of_a_conversation_count_once(self) -> None:
        """Two agents of one conversation are one conversation, with the steps of both."""
        lanes = [lane(1, stall(Kind.LOOP, 1, 4)), replace(lane(1, stall(Kind.LOOP, 1, 4)), lane="b")]

        found = measure(lanes)

        assert (found.conversations, share(found, Kind.LOOP).conversations) == (1, wilson(1, 1))
        assert share(found, Kind.LOOP).steps == clustered([(8, 40)])

    def test_amnesia_is_a_share_of_what_was_compacted(self) -> None:
        """Conversations without a compaction cannot show amnesia and are not in its share."""
        lanes = [lane(101, stall(Kind.AMNESIA, 1, 4), compactions=1), lane(102, compactions=2), *body(0, 0, 9)]

        found = share(measure(lanes), Kind.AMNESIA)

        assert (found.conversations, found.steps) == (wilson(1, 2), clustered([(4, 20), (0, 20)]))


class TestDominance:
    def test_a_kind_that_surely_has_more_than_half(self) -> None:
        """With enough stalled conversations the kind of nearly all their steps dominates."""
        assert measure(body(2, 28, 10)).dominant is Kind.NO_GRADIENT

    def test_an_even_split_is_none(self) -> None:
        """Where the interval reaches below one half, nothing dominates."""
        assert measure(body(13, 17, 10)).dominant is None

    def test_few_stalled_conversations_decide_nothing(self) -> None:
        """However clear it looks, below twenty stalled conversations nothing is said to dominate."""
        assert [measure(body(0, count, 60)).dominant for count in (FEW - 1, FEW)] == [None, Kind.NO_GRADIENT]


class TestUnmeasurable:
    def test_without_compactions_there_is_no_amnesia_figure(self) -> None:
        """No figure at all, never 0."""
        found = measure(body(1, 1, 1))

        assert found.kinds[Kind.AMNESIA] is None
        assert found.unmeasurable == {
            "amnesia": "no compaction signal in these traces",
            "tokens": "no token counts in these traces",
        }
        assert measurement.document(found)["kinds"]["amnesia"] is None  # type: ignore[index]  # the document is plain values

    def test_without_contents_there_is_no_figure_that_needs_them(self) -> None:
        """Without results no gradient can be seen, without arguments no repetition, without either no milestone."""
        found = measure([lane(1, results=0, arguments=0)])

        assert found.kinds == dict.fromkeys(Kind)
        assert (found.any.silent, found.advanced) == (None, None)
        assert sorted(found.unmeasurable) == [
            "amnesia",
            "input_tiers",
            "loop",
            "no_gradient",
            "partial_progress",
            "tokens",
        ]


def test_partial_progress_is_of_unfinished_runs() -> None:
    """A failed run that verified something is partial progress; a declared milestone and a success are not."""
    verified, declared = (Milestone(3, "tests", evidence, 3) for evidence in (Evidence.OBSERVED, Evidence.DECLARED))
    lanes = [
        lane(1, outcome="failure", milestones=(verified,)),
        lane(2, outcome="failure", milestones=(declared,)),
        lane(3, outcome="success", milestones=(verified,)),
    ]

    assert measure(lanes).advanced == wilson(1, 2)


class TestText:
    def test_of_many(self) -> None:
        """With enough conversations shares and intervals are told, and which kind dominates."""
        assert list(measurement.lines(measure(body(2, 28, 10)))) == [
            "loop: 2 of 40 conversations (5%, 1% to 17%), 20 of 800 steps (2%, less than 1% to 9%)",
            "no_gradient: 28 of 40 conversations (70%, 55% to 82%), 280 of 800 steps (35%, 28% to 42%)",
            "amnesia: not measurable, no compaction signal in these traces",
            "no input-side rule would have seen 30 of 30 stalled conversations (100%, 89% to 100%)",
            "no_gradient dominates: 280 of 300 stalled steps (93%, 78% to 98%); brackets: share, 95% interval",
        ]

    def test_of_few(self) -> None:
        """With few there are counts, and the word that they are too few."""
        lanes = [lane(1, stall(Kind.LOOP, 1, 4), compactions=1, tokens=9), lane(2, outcome="failure")]

        assert list(measurement.lines(measure(lanes))) == [
            "loop: 1 of 2 conversations, 4 of 40 steps, 0 of 9 tokens",
            "no_gradient: none in 2 conversations",
            "amnesia: none in 1 conversation with a compaction",
            "tokens: counted in 1 of 2 conversations, shares are those of them",
            "a verified milestone was reached by 0 of 1 unfinished run",
            "2 conversations: too few for shares that say anything, they are shown from 20 on",
        ]

    def test_of_none(self) -> None:
        """Without any conversation nothing is said."""
        assert list(measurement.lines(measure([]))) == []
