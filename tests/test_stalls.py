"""Rules of `stalls`: opening, kind, level and closing, from the scene after an observation."""

from __future__ import annotations

from dataclasses import replace

import pytest
from acts import (
    Act,
    Named,
    NewRun,
    bash,
    call,
    compacted,
    edit,
    green,
    numbered,
    read,
    red,
    said,
    search,
    settings,
    verdicts,
    write,
)
from hypothesis import given
from hypothesis import strategies as st

from otel_stall import stalls
from otel_stall.config import DetectionConfig
from otel_stall.counters import Counters
from otel_stall.loops import InputSide, LoopRun
from otel_stall.reasons import Reason
from otel_stall.scenes import Entry, Scene, Trigger
from otel_stall.stalls import ClosedStall, OpenStall, close_stall, decide
from otel_stall.verdicts import Change, EndReason, Kind, Level, Stall, Verdict

RULES = DetectionConfig()


def entry(step: int, **fields: object) -> Entry:
    plain = Entry(step, "read_file", Reason.SAME_OUTCOME, step, False, False, False, False, None)
    return replace(plain, **fields)  # type: ignore[arg-type]  # the fields of an entry


def scene(counters: Counters, *entries: Entry, **fields: object) -> Scene:
    plain = Scene(counters, LoopRun(), InputSide(), entries, 0, None, False, False, 0, 30)
    return replace(plain, **fields)  # type: ignore[arg-type]  # the fields of a scene


def opened(counters: Counters, *entries: Entry, **fields: object) -> Stall | None:
    """Return the stall that opens in this scene, None where none does."""
    found, _, _ = decide(scene(counters, *entries, **fields), None, None, RULES)
    return found.stall if found else None


class TestOpening:
    @pytest.mark.parametrize(
        ("count", "least"),
        [("dry", 6), ("flat", 6), ("thin", 3), ("waste", 5), ("after_done", 6), ("idle_compactions", 3)],
    )
    def test_at_its_threshold(self, count: str, least: int) -> None:
        """One below the threshold is no stall yet; the threshold is."""
        below, at = (Counters(step=40, **{count: value}) for value in (least - 1, least))  # type: ignore[arg-type]

        assert opened(below) is None
        assert opened(at) is not None

    def test_of_a_loop_needs_its_second_lap(self) -> None:
        """Three known steps over one pair, four over two, ten over five."""
        for pairs, length in ((1, 3), (2, 4), (5, 10)):
            run = LoopRun(length, tuple(range(pairs)), 30)

            assert opened(Counters(step=40), loop=run) is not None
            assert opened(Counters(step=40), loop=replace(run, length=length - 1)) is None

    def test_of_amnesia_needs_a_compaction(self) -> None:
        """What was known before counts only in a later epoch."""
        counters = Counters(step=40, reacquired=3, reacquired_since=38)

        assert opened(counters, epoch=0) is None
        assert opened(counters, epoch=1) is not None

    def test_where_outcomes_are_not_captured(self) -> None:
        """The same call in a row opens a loop that stays a notice."""
        stall = opened(Counters(step=40, dry=20), loop=LoopRun(blind=5, blind_since=36))
        alone = opened(Counters(step=40), loop=LoopRun(blind=9, blind_since=32))

        assert stall is not None
        assert alone is not None
        assert (alone.kind, alone.level) == (Kind.LOOP, Level.NOTICE)
        assert stall.level is Level.REPLAN

    def test_begins_where_the_first_count_began(self) -> None:
        """The stall is known at the present step and began with its streak."""
        stall = opened(Counters(step=40, dry=6, dry_since=35, waste=5, waste_since=31))

        assert stall is not None
        assert (stall.first_step, stall.detected_step, stall.last_step) == (31, 40, 40)

    def test_before_any_step(self) -> None:
        """Three compactions before the first call are a stall of the first step."""
        stall = opened(Counters(idle_compactions=3))

        assert stall is not None
        assert (stall.first_step, stall.kind) == (1, Kind.AMNESIA)


class TestKind:
    DRY = Counters(step=40, dry=6, dry_since=35)

    @pytest.mark.parametrize(
        ("entries", "fields", "kind"),
        [
            ([entry(n) for n in range(35, 41)], {}, Kind.NO_GRADIENT),
            ([entry(n, call=n % 2, repeated=True) for n in range(35, 41)], {}, Kind.LOOP),
            ([entry(n, call=n, repeated=True) for n in range(35, 41)], {}, Kind.NO_GRADIENT),
            ([entry(n, call=n % 2, repeated=True, mutates=True) for n in range(35, 41)], {}, Kind.NO_GRADIENT),
            ([entry(n, call=1, repeated=True, waits=n > 38) for n in range(35, 41)], {}, Kind.NO_GRADIENT),
            ([entry(n, reacquired=n % 2 == 0) for n in range(35, 41)], {"epoch": 1}, Kind.AMNESIA),
            ([entry(n, reacquired=n == 40) for n in range(35, 41)], {"epoch": 1}, Kind.NO_GRADIENT),
            ([entry(40)], {"loop": LoopRun(12, (1, 2, 3), 29)}, Kind.LOOP),
            ([entry(40)], {"loop": LoopRun(12, (1, 2, 3, 4, 5, 6), 29)}, Kind.NO_GRADIENT),
        ],
    )
    def test_from_the_steps_inside(self, entries: list[Entry], fields: dict[str, object], kind: Kind) -> None:
        """Small rounds of calls are loops, unless they change things or wait; what was known before is amnesia."""
        stall = opened(self.DRY, *entries, **fields)

        assert stall is not None
        assert stall.kind is kind

    def test_only_sharpens(self) -> None:
        """A stall that was a loop stays one, and may become amnesia."""
        first, _, _ = decide(scene(self.DRY, loop=LoopRun(12, (1,), 29)), None, None, RULES)
        second, _, _ = decide(scene(replace(self.DRY, step=41, dry=7)), first, None, RULES)
        third, _, _ = decide(scene(replace(self.DRY, step=42, dry=8, reacquired=3), epoch=1), second, None, RULES)

        assert [found.stall.kind for found in (first, second, third) if found] == [Kind.LOOP, Kind.LOOP, Kind.AMNESIA]


class TestLevel:
    @pytest.mark.parametrize(
        ("counters", "level"),
        [
            (Counters(step=40, dry=6), Level.NOTICE),
            (Counters(step=40, dry=12), Level.REPLAN),
            (Counters(step=40, flat=9), Level.REPLAN),
            (Counters(step=40, waste=12), Level.REPLAN),
            (Counters(step=40, dry=18, distance=30), Level.REPLAN),
            (Counters(step=40, dry=18, distance=31), Level.ASK_USER),
            (Counters(step=40, waste=18, distance=31), Level.ASK_USER),
            (Counters(step=40, dry=30, distance=30), Level.REPLAN),
            (Counters(step=40, dry=30, distance=31), Level.ABANDON),
            (Counters(step=400, distance=400), None),
            (Counters(step=40, after_done=50, distance=31), Level.NOTICE),
        ],
    )
    def test_of_each_count(self, counters: Counters, level: Level | None) -> None:
        """The distance alone is never a reason; the two upper levels need it; after-done stays a notice."""
        stall = opened(counters)

        assert (stall.level if stall else None) is level

    def test_of_a_loop(self) -> None:
        """The third lap, and at least six steps, is time to plan anew."""
        for length, level in ((6, Level.REPLAN), (5, Level.NOTICE)):
            stall = opened(Counters(step=40), loop=LoopRun(length, (1, 2), 30))
            assert stall is not None
            assert stall.level is level

    def test_of_a_lane_seen_in_part(self) -> None:
        """Where traces are sampled, counts are lower bounds and levels stay at a notice."""
        stall = opened(Counters(step=40, dry=30, distance=31), partial=True)

        assert stall is not None
        assert stall.level is Level.NOTICE

    def test_each_is_reached_once(self) -> None:
        """Levels in the order reached, with their steps; those passed over at the same step."""
        first, _, one = decide(scene(Counters(step=40, dry=6)), None, None, RULES)
        second, _, two = decide(scene(Counters(step=60, dry=18, distance=31)), first, None, RULES)
        third, _, three = decide(scene(Counters(step=61, dry=19, distance=32)), second, None, RULES)

        assert third is not None
        assert third.stall.levels == ((Level.NOTICE, 40), (Level.REPLAN, 60), (Level.ASK_USER, 60))
        assert [[change.change for change in changes] for changes in (one, two, three)] == [
            [Change.STARTED],
            [Change.ESCALATED],
            [],
        ]


class TestClosing:
    def test_when_the_count_is_back_at_zero(self) -> None:
        """A stall opened by one count lasts while that count lasts, below its threshold as well."""
        first, _, _ = decide(scene(Counters(step=40, waste=5)), None, None, RULES)
        second, _, _ = decide(scene(Counters(step=41, waste=0.5)), first, None, RULES)
        third, closed, changes = decide(scene(Counters(step=42)), second, None, RULES)

        assert second is not None
        assert third is None
        assert closed is not None
        assert closed.stall.ended is EndReason.GAIN
        assert [(change.change, change.step) for change in changes] == [(Change.ENDED, 42)]

    def test_with_a_milestone(self) -> None:
        """The reason says what ended it."""
        first, _, _ = decide(scene(Counters(step=40, dry=6)), None, None, RULES)
        _, closed, _ = decide(scene(Counters(step=41), milestone=True), first, None, RULES)

        assert closed is not None
        assert closed.stall.ended is EndReason.MILESTONE

    def test_by_another_hand(self) -> None:
        """A user turn or a new run ends it with that reason."""
        first, _, _ = decide(scene(Counters(step=40, dry=6)), None, None, RULES)
        assert first is not None
        closed, changes = close_stall(first, EndReason.USER_TURN, 41)

        assert closed.stall == replace(first.stall, ended=EndReason.USER_TURN)
        assert changes[0].stall == closed.stall

    def test_nothing_open_and_nothing_reached(self) -> None:
        """No stall, no change; the last one is still remembered."""
        closed = ClosedStall(Stall(1, Kind.LOOP, 1, 2, 3, ()), frozenset(), None)

        assert decide(scene(Counters(step=40)), None, closed, RULES) == (None, closed, ())


class TestRelapse:
    CLOSED = ClosedStall(
        Stall(3, Kind.LOOP, 20, 25, 30, ((Level.NOTICE, 25), (Level.REPLAN, 30)), ended=EndReason.GAIN),
        frozenset({1, 2}),
        None,
    )

    def again(self, step: int, *calls: int) -> OpenStall:
        entries = [entry(step - 5 + n, call=call) for n, call in enumerate(calls)]
        counters = Counters(step=step, dry=6, dry_since=step - 5)
        found, _, _ = decide(scene(counters, *entries, stall_count=3), None, self.CLOSED, RULES)
        assert found is not None
        return found

    def test_on_the_same_calls_is_the_same_stall(self) -> None:
        """Soon, and with half of its calls in common, it keeps its number and its levels."""
        found = self.again(45, 1, 2, 9)

        assert (found.stall.number, found.stall.first_step, found.stall.ended) == (3, 20, None)
        assert found.stall.level is Level.REPLAN

    def test_on_other_calls_or_later_is_a_new_one(self) -> None:
        """Other calls, or more than twenty steps later."""
        assert self.again(45, 7, 8, 9).stall.number == 4
        assert self.again(51, 1, 2).stall.number == 4
        assert self.again(50, 1, 2).stall.number == 3


def kinds(found: list[Verdict]) -> list[tuple[int, str, str]]:
    """Return what changed: step, change and kind of stall."""
    return [
        (change.step, change.change.value, change.stall.kind.value)
        for verdict in found
        for change in verdict.changes
        if change.stall is not None
    ]


QUIET = settings(waste_notice=999, loop_notice=999)
DRY: list[Act] = [read("a.py", "total = 1"), *[bash(f"cat ./a{n}.py", "total = 1") for n in range(8)]]


class TestWholeRuns:
    def test_a_loop(self) -> None:
        """A call that always brings the same: known from the second time, a stall at the third known one."""
        assert kinds(verdicts([bash("ls", "a")] * 5)) == [(4, "started", "loop")]

    def test_a_streak_without_gain_and_its_end(self) -> None:
        """Six steps without gain; a new file ends it."""
        found = verdicts([*DRY, bash("ls", numbered("new"))], QUIET)

        assert [(step, change) for step, change, _ in kinds(found)] == [(7, "started"), (10, "ended")]

    def test_back_and_forth_between_two_states(self) -> None:
        """Writes that undo one another are no loop of one call: two different changes go on, without gain."""
        acts: list[Act] = [write("a.py", "1"), write("a.py", "2")] * 8
        stall = verdicts(acts)[-1].stall

        assert stall is not None
        assert stall.kind is Kind.NO_GRADIENT

    def test_checks_that_stay_the_same(self) -> None:
        """Edits between checks that fail alike do not end the streak of checks."""
        acts: list[Act] = [act for n in range(8) for act in (edit("a.py", f"{n}", f"{n + 1}"), red())]
        found = verdicts(acts, QUIET)

        assert kinds(found) == [(14, "started", "no_gradient")]
        assert kinds(verdicts([*acts, green()], QUIET))[-1] == (17, "ended", "no_gradient")

    def test_thin_searches(self) -> None:
        """Three reworded searches that bring the same text."""
        text = "The river floods every spring and the lower town has built walls along its banks since the last war."
        asked = ["river flood walls town", "town river flood walls", "walls town river flood", "flood walls town river"]
        acts: list[Act] = [search(query, f"{text} {n}") for n, query in enumerate(asked)]

        assert kinds(verdicts(acts, QUIET)) == [(4, "started", "no_gradient")]

    def test_amnesia(self) -> None:
        """After a compaction the agent reads again what it knew."""
        known: list[Act] = [read(f"{n}.py", f"text {n}") for n in range(4)]

        assert kinds(verdicts([*known, compacted(), *known], QUIET)) == [(7, "started", "amnesia")]
        assert kinds(verdicts([*known, *known], QUIET)) == []

    def test_compactions_alone(self) -> None:
        """Three compactions with no call between."""
        found = verdicts([bash("ls", "a"), compacted(), compacted(), compacted()])

        assert kinds(found) == [(1, "started", "amnesia")]

    def test_after_the_work_was_done(self) -> None:
        """Looking around after the commit is a notice, and never more."""
        acts: list[Act] = [edit("a.py", "1", "2"), bash("git commit -am x", "[main 1a2b] x")]
        acts += [bash(f"cat {n}.py", numbered(f"file {n}")) for n in range(40)]
        found = verdicts(acts)

        assert kinds(found) == [(8, "started", "no_gradient")]
        assert found[-1].stall is not None
        assert found[-1].stall.level is Level.NOTICE

    @pytest.mark.parametrize(
        ("act", "reason"),
        [
            (said("go on", 2), EndReason.USER_TURN),
            (NewRun(), EndReason.RUN_BOUNDARY),
            (Named("paid"), EndReason.MILESTONE),
        ],
    )
    def test_ended_from_outside(self, act: Act, reason: EndReason) -> None:
        """A person speaks, a new run begins, or the host verifies a milestone."""
        found = verdicts([said("I look", 1), *DRY, act, bash("ls", "new")], QUIET)
        ended = [change.stall for verdict in found for change in verdict.changes if change.change is Change.ENDED]

        assert [stall.ended for stall in ended if stall is not None] == [reason]

    def test_an_irreversible_effect_ends_no_dry_streak(self) -> None:
        """A push is a milestone, and no progress of its own."""
        found = verdicts([*DRY, bash("git push origin main", "To example:repo a..b")], QUIET)

        assert found[-1].milestone_count == 1
        assert found[-1].stall is not None

    def test_neutral_steps_neither_open_nor_close(self) -> None:
        """Waiting and faults of the infrastructure are no part of a streak."""
        waits: list[Act] = [call("wait_for_job", {"id": 1}, "running")] * 10

        assert kinds(verdicts(waits)) == []
        assert verdicts([*DRY, *waits], QUIET)[-1].stall is not None

    def test_names_of_triggers(self) -> None:
        """Each trigger has a name of its own."""
        assert len({trigger.value for trigger in Trigger}) == len(Trigger)


_COUNT = st.sampled_from([0, 0, 0, 1, 7])


@given(st.lists(_COUNT, min_size=9, max_size=9), st.sampled_from([0, 1]), st.sampled_from([0.0, 0.5, 9.0]))
def test_where_nothing_counts_no_trigger_does(counts: list[int], epoch: int, waste: float) -> None:
    """No stall opens without a look at the triggers only where every one of them stands at 0."""
    dry, flat, thin, reacquired, compactions, after_done, length, blind, step = counts
    counters = Counters(
        step=step,
        dry=dry,
        flat=flat,
        thin=thin,
        reacquired=reacquired,
        waste=waste,
        after_done=after_done,
        idle_compactions=compactions,
    )
    run = LoopRun(length=length, pairs=(1,) if length else (), blind=blind)
    seen = replace(scene(counters), epoch=epoch, loop=run)

    if not stalls._counting(seen):
        assert {value for value, _, _ in stalls._triggers(seen, RULES).values()} == {0}
        assert decide(seen, None, None, RULES) == (None, None, ())
