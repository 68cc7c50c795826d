"""Laws of the whole fold, held over random agents: what must be true whatever an agent does."""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, is_dataclass

from acts import Act, NewRun, bash, call, edit, feed, numbered, read, readings, red, settings
from hypothesis import HealthCheck, event, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from strategies import SMALL, any_calls, lanes

from otel_stall.analysis import analyze
from otel_stall.calls import ModelCall, ToolCall
from otel_stall.config import StallConfig
from otel_stall.conversations import UNTOLD, Lane
from otel_stall.milestones import PENDING, REACHED
from otel_stall.monitor import Monitor
from otel_stall.processor import StallSpanProcessor
from otel_stall.scenes import RECENT
from otel_stall.spans import from_readable_span
from otel_stall.testing import RecordedProvider
from otel_stall.verdicts import Change, Judged, Verdict

STUCK: list[Act] = [read("a.py", "total = 1"), bash("grep -n total a.py", "1: total"), read("b.py", "x = 1")] * 12


def said_of(judged: Sequence[Judged]) -> list[Verdict]:
    return [one.verdict for one in judged]


def note_stalls(judged: Sequence[Judged]) -> None:
    """Tell Hypothesis which kinds of stall occurred, so that its statistics show that the law was tried on some."""
    kinds = {one.verdict.stall.kind.value for one in judged if one.verdict.stall is not None}
    event(f"stalls: {', '.join(sorted(kinds)) or 'none'}")


class TestStrategies:
    def test_random_agents_stall_in_every_way(self) -> None:
        """The laws below are tried on stalls of each kind, and on agents without any."""
        seen: set[str] = set()

        @hypothesis_settings(max_examples=150, database=None, derandomize=True, deadline=None)
        @given(lanes())
        def collect(acts: list[Act]) -> None:
            kinds = {v.stall.kind.value for v in said_of(feed(Monitor(), readings(acts))) if v.stall is not None}
            seen.update(kinds or {"none"})

        collect()

        assert seen == {"loop", "no_gradient", "amnesia", "none"}


class TestRepetition:
    @given(lanes(), st.data())
    def test_a_span_seen_twice_changes_nothing(self, acts: list[Act], data: st.DataObject) -> None:
        """A span delivered again gives no verdict, and leaves the state as it was."""
        given_readings = readings(acts)
        once, twice = Monitor(), Monitor()
        expected = feed(once, given_readings)
        note_stalls(expected)
        again = data.draw(st.sets(st.integers(0, max(len(given_readings) - 1, 0))))
        found = []
        for index, reading in enumerate(given_readings):
            found += feed(twice, [reading])
            if index in again:
                assert feed(twice, given_readings[: index + 1]) == []

        assert found == expected
        assert twice.snapshot() == once.snapshot()

    def test_a_span_seen_twice_does_not_make_its_lane_the_latest(self) -> None:
        """Nor does it move its lane in the order in which lanes fall out."""
        monitor = Monitor()
        first = readings(STUCK)
        feed(monitor, first, "one")
        feed(monitor, readings(STUCK, trace=2), "two")
        before = monitor.snapshot()
        feed(monitor, first, "one")

        assert monitor.snapshot() == before


class TestSnapshot:
    @given(lanes(), st.data())
    def test_restored_is_never_stopped(self, acts: list[Act], data: st.DataObject) -> None:
        """A state saved as text and read by another monitor goes on as if nothing had happened."""
        given_readings = readings(acts)
        cut = data.draw(st.integers(0, len(given_readings)))
        whole, first, second = Monitor(), Monitor(), Monitor()
        expected = feed(whole, given_readings)
        note_stalls(expected)
        found = feed(first, given_readings[:cut])
        second.restore(first.snapshot())
        found += feed(second, given_readings[cut:])

        assert found == expected
        assert second.snapshot() == whole.snapshot()

    @given(st.lists(any_calls(), max_size=12))
    def test_of_any_content(self, acts: list[Act]) -> None:
        """Whatever calls and results hold, the state is saved and read back."""
        monitor, other = Monitor(), Monitor()
        feed(monitor, readings(acts))
        other.restore(monitor.snapshot())

        assert other.snapshot() == monitor.snapshot()


class TestShards:
    @given(st.lists(lanes(40), min_size=2, max_size=4), st.randoms(use_true_random=False))
    def test_joined_are_the_whole(self, agents: list[list[Act]], random: object) -> None:
        """Conversations mixed in one monitor are judged as if each had one of its own."""
        apart = [(f"c{n}", reading) for n, acts in enumerate(agents, start=1) for reading in readings(acts, trace=n)]
        apart.sort(key=lambda pair: (pair[1].end_ns, pair[0]))
        shared = Monitor()
        found: dict[str, list[Judged]] = {}
        for conversation, reading in apart:
            found.setdefault(conversation, []).extend(feed(shared, [reading], conversation))

        for number, acts in enumerate(agents, start=1):
            expected = feed(Monitor(), readings(acts, trace=number), f"c{number}")
            note_stalls(expected)
            assert found.get(f"c{number}", []) == expected


def stalled_steps(acts: list[Act], config: StallConfig) -> set[int]:
    """Return the observations at which a stall is open."""
    given_readings = readings(acts)
    monitor = Monitor(config)
    return {
        index
        for index, reading in enumerate(given_readings)
        for judged in feed(monitor, [reading])
        if judged.verdict.stall is not None
    }


class TestThresholds:
    NAMES = st.sampled_from(
        [
            "dry_notice",
            "flat_notice",
            "loop_notice",
            "amnesia_steps",
            "waste_notice",
            "thin_notice",
            "after_done_notice",
        ]
    )

    @given(lanes(), NAMES, st.integers(1, 12))
    def test_raised_never_add_a_stall(self, acts: list[Act], name: str, more: int) -> None:
        """The steps inside a stall under a higher threshold are among those under the lower one."""
        default = getattr(StallConfig().detection, name)
        lower, higher = (stalled_steps(acts, settings(**{name: value})) for value in (default, default + more))
        event(f"fewer stalled steps: {lower > higher}")

        assert lower >= higher

    def test_raised_take_stalls_away(self) -> None:
        """A threshold does something: the same stuck agent stalls later, or not at all."""
        early = stalled_steps(STUCK, settings(waste_notice=99, loop_notice=99))
        late = stalled_steps(STUCK, settings(waste_notice=99, loop_notice=99, dry_notice=12))

        assert early > late > set()


def play(acts: Sequence[Act], recorded: RecordedProvider) -> None:
    """Let an agent do this under a tracer provider."""
    with recorded.agent("coder", conversation="c-1"):
        for act in acts:
            if isinstance(act, ToolCall):
                extra = {} if act.exit_code is None else {"process.exit.code": act.exit_code}
                hints = {"stall.infra": True} if act.hints.infra else {}
                if act.hints.state_after:
                    hints["stall.state.after"] = act.hints.state_after  # type: ignore[assignment]  # mixed values
                recorded.tool(
                    act.tool,
                    act.arguments.value,
                    act.result.value,
                    error="tool_error" if act.failed else "",
                    attributes={**extra, **hints},
                )
            elif isinstance(act, ModelCall) and act.text:
                recorded.chat(act.text)


class TestReplay:
    @hypothesis_settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
    @given(lanes(40))
    def test_live_and_offline_agree(self, acts: list[Act]) -> None:
        """The verdicts written on spans as they end are those of the exported spans analysed later."""
        recorded = RecordedProvider(StallSpanProcessor(StallConfig()))
        play(acts, recorded)
        live = [
            (
                written["stall.step"],
                written["stall.gain.type"],
                written["stall.gain.reason"],
                written["stall.detected"],
                written.get("stall.kind"),
                written.get("stall.level"),
                written.get("stall.first_step"),
            )
            for written in recorded.verdicts()
            if written
        ]
        replayed: list[Judged] = []
        analyze(
            map(from_readable_span, recorded.spans()), StallConfig(), each=lambda judged, _: replayed.append(judged)
        )
        note_stalls(replayed)
        offline = [
            (
                v.step,
                v.gain.value,
                v.reason,
                v.stall is not None,
                v.stall.kind.value if v.stall else None,
                v.stall.level.value if v.stall else None,
                v.stall.first_step if v.stall else None,
            )
            for v in said_of(replayed)
            if v.counted
        ]

        assert live == offline

    def test_of_a_stuck_agent(self) -> None:
        """The law is tried on a stall that escalates."""
        recorded = RecordedProvider(StallSpanProcessor(StallConfig()))
        play(STUCK, recorded)

        assert recorded.verdicts()[-1]["stall.level"] == "abandon"


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from acts import bash, call, edit, feed, readings, red, search
from otel_stall.milestones import PENDING
from otel_stall.monitor import Monitor
monitor = Monitor()
acts = [bash("ls", "a"), red(), edit("a", "1", "2"), search("flood walls river", "The flood walls of the river " * 9)]
feed(monitor, readings([*acts * 9, *[call("find_user", {"q": f"anna {n}"}, "[]") for n in range(9)]]))
sys.stdout.write(monitor.snapshot())
"""


class TestDeterminism:
    @given(lanes())
    def test_same_input_same_state(self, acts: list[Act]) -> None:
        """Two monitors that see the same have the same state and say the same."""
        one, other = Monitor(), Monitor()

        assert feed(one, readings(acts)) == feed(other, readings(acts))
        assert one.snapshot() == other.snapshot()

    def test_no_state_depends_on_the_hash_seed(self) -> None:
        """A process that resumes a snapshot of another continues it."""
        folder = __file__.rsplit("/", 1)[0]
        texts = {
            subprocess.run(
                [sys.executable, "-c", SCRIPT, folder],
                env={"PYTHONHASHSEED": seed, "PYTHONPATH": folder.rsplit("/", 1)[0]},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for seed in ("1", "2")
        }

        assert len(texts) == 1


def largest(value: object, path: str = "lane") -> dict[str, int]:
    """Return the size of each collection inside a value, by its path; of entries of collections the largest."""
    found: dict[str, int] = {}
    inner: list[tuple[str, object]] = []
    if is_dataclass(value):
        inner = [(f"{path}.{field.name}", getattr(value, field.name)) for field in fields(value)]
    elif isinstance(value, dict | list | tuple | set | frozenset):
        found[path] = len(value)
        items = value.values() if isinstance(value, dict) else value
        inner = [(f"{path}[]", item) for item in items]
    for name, item in inner:
        for key, size in largest(item, name).items():
            found[key] = max(found.get(key, 0), size)
    return found


LIMITS = {
    "lane.ledger.lines": SMALL.bounds.lines,
    "lane.spans": 4_096,
    "lane.declared": PENDING,
    "lane.reached": REACHED,
    "lane.untold": UNTOLD,
    "lane.turn.calls": 256,
    "lane.recent": RECENT,
    "lane.open.calls": RECENT,
    "lane.closed.calls": RECENT,
    "lane.ledger.searches": 20,
    "lane.ledger.searches[]": 2,
    "lane.ledger.searches[][]": 400,
    "lane.ledger.empties": 12,
    "lane.ledger.empties[]": 80,
    "lane.ledger.checks[].messages": 64,
    "lane.ledger.resources[].windows": 64,
    "lane.ledger.resources[].windows[]": 2,
    "lane.ledger.lengths[]": 2,
    "lane.loop.pairs": 64,
    "lane.inputs.recent": 15,
    "lane.open.triggers": 9,
    "lane.open.stall.levels": 4,
    "lane.open.stall.levels[]": 2,
    "lane.open.stall.evidence": 8,
    "lane.closed.stall.levels": 4,
    "lane.closed.stall.levels[]": 2,
    "lane.closed.stall.evidence": 8,
}


def over_bounds(lane: Lane) -> dict[str, int]:
    """Return the collections of a lane that are larger than they may be."""
    return {path: size for path, size in largest(lane).items() if size > LIMITS.get(path, SMALL.bounds.calls)}


def varied(count: int, offset: int = 0) -> list[Act]:
    """Return so many acts in which everything is new now and then: files, lines, errors, queries, states."""
    acts: list[Act] = []
    for n in range(offset, offset + count // 8):
        acts += [
            read(f"{n}.py", numbered(f"file {n}", count=12), offset=n % 9 + 1, limit=12),
            bash(f"python solve{n}.py", f"answer {n * n}"),
            edit(f"{n}.py", f"{n}", f"{n + 1}"),
            red(f"E KeyError: {n:b}\nfailing line {n}"),
            call("get_user", {"id": n}, f"Error: {n:b}x is gone", failed=True),
            call("find_user", {"query": f"somebody {n}"}, "[]"),
            call(
                "web_search", {"query": f"flood {n} walls"}, f"walls {n} of the river town number {n * n} are new now"
            ),
            bash(f"cat {n % 3}.py", "the same"),
        ]
    return acts


class TestBounds:
    def test_of_every_collection(self) -> None:
        """Nothing that a lane keeps grows beyond its bound, however long the agent works."""
        monitor = Monitor(SMALL)
        relapses: list[Act] = [
            act
            for n in range(120)
            for act in [*[read(f"{n + m}.py", "same") for m in range(4)] * 3, bash(f"python new{n}.py", f"new {n}")]
        ]
        feed(monitor, readings([*varied(4_000), *relapses, NewRun(), *varied(400)]))
        lane = monitor.lanes.get(("c", "main"))

        assert lane is not None
        assert over_bounds(lane) == {}
        assert lane.ledger.evicted > 0

    @hypothesis_settings(max_examples=30, deadline=None)
    @given(st.lists(lanes(60), min_size=1, max_size=4))
    def test_of_random_agents(self, agents: list[list[Act]]) -> None:
        """The same holds for every random agent, and for how many there are."""
        monitor = Monitor(SMALL)
        for number, acts in enumerate(agents * 4):
            feed(monitor, readings(acts, trace=number + 1), f"c{number}")

        assert len(monitor.lanes) <= SMALL.bounds.conversations
        assert [over_bounds(lane) for _, lane in monitor.lanes if over_bounds(lane)] == []

    def test_calls_of_a_stall_that_comes_back(self) -> None:
        """A stall that resumes again and again keeps so many of its calls."""
        acts: list[Act] = []
        for n in range(0, 200, 2):
            window = [read(f"{m}.py", "same") for m in range(n, n + 4)]
            acts += [*window * 3, edit("w.py", str(n), str(n + 1))]
        monitor = Monitor(SMALL)
        found = feed(monitor, readings(acts))
        lane = monitor.lanes.get(("c", "main"))

        assert Counter(change.change for v in said_of(found) for change in v.changes)[Change.STARTED] == 100
        assert max(v.stall.number for v in said_of(found) if v.stall is not None) == 1
        assert lane is not None
        assert over_bounds(lane) == {}

    def test_of_many_conversations(self) -> None:
        """Memory depends on the bounds, not on how many agents there were or how long they worked."""
        feed(Monitor(SMALL), readings(varied(80)))
        gc.collect()
        tracemalloc.start()
        monitor = Monitor(SMALL)
        sizes = []
        for part in range(3):
            for number in range(12):
                feed(monitor, readings(varied(160, part), trace=part * 100 + number + 1), f"{part}-{number}")
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()

        assert len(monitor.lanes) == SMALL.bounds.conversations
        assert sizes[2] < 1.1 * sizes[0] + 50_000
        assert sizes[2] < 3_000_000


class TestOrder:
    def test_a_late_step_is_counted_and_judged(self) -> None:
        """A step that ends before one already folded changes no verdict that was given."""
        first, second = readings(STUCK[:2])
        monitor = Monitor()
        found = feed(monitor, [second, first])

        assert [one.verdict.step for one in found] == [1, 2]
        assert monitor.late_steps == 1
