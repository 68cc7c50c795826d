"""The state of a lane, the bounded store of lanes, and their snapshot."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from otel_stall.config import BoundsConfig
from otel_stall.counters import Counters
from otel_stall.errors import UNREADABLE, SnapshotError
from otel_stall.journal import Journal, LaneChange, LaneKey
from otel_stall.ledger import Ledger
from otel_stall.loops import InputSide, LoopRun
from otel_stall.milestones import PENDING, REACHED
from otel_stall.scenes import Entry
from otel_stall.stalls import ClosedStall, OpenStall, close_stall
from otel_stall.values import replace
from otel_stall.verdicts import Changed, Declaration, EndReason, Milestone, Stall

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["SNAPSHOT_VERSION", "UNTOLD", "Asked", "Corroboration", "Lane", "LaneKey", "Lanes", "Turn"]

SNAPSHOT_VERSION = 1
"""Written into every snapshot; a newer one is refused."""


UNTOLD = 32
"""Changes that wait for a lane's next verdict to be told; older ones never are."""


@dataclass(slots=True)
class Turn:
    """What the last model turn of a lane showed: its text, how often a person had spoken, whether compacted.

    `peak_tokens` is the largest input since the last compaction, `small` how many turns in a row read less
    than half of it. `compacted_by` is the signal of the last compaction, "" once a step followed it; `told`
    says that the host has signals of its own.
    """

    text: int | None = None
    user_messages: int | None = None
    input_tokens: int | None = None
    compacted: bool = False
    calls: dict[str, int] = field(default_factory=dict)
    stepped: bool = True
    peak_tokens: int = 0
    small: int = 0
    compacted_by: str = ""
    told: bool = False


@dataclass(slots=True)
class Asked:
    """Which call the model asked for: when the last turn that did began and ended, when the last call began."""

    began_ns: int = 0
    ended_ns: int = 0
    call_ns: int = 0


@dataclass(slots=True)
class Corroboration:
    """What the host itself says of a stall: its last sign with the step, and digests of the whole work."""

    sign: str = ""
    step: int = 0
    works: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Lane:
    """Everything the fold knows of one lane; bounded, serialisable, changed by `fold` alone."""

    agent: str = ""
    service: str = ""
    task_class: str = ""
    run_id: str = ""
    partial: bool = False
    last_end_ns: int = 0
    used_ns: int = 0
    late: int = 0
    tokens: int | None = None
    stall_count: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    counters: Counters = field(default_factory=Counters)
    loop: LoopRun = field(default_factory=LoopRun)
    inputs: InputSide = field(default_factory=InputSide)
    turn: Turn = field(default_factory=Turn)
    recent: list[Entry] = field(default_factory=list)
    open: OpenStall | None = None
    closed: ClosedStall | None = None
    spans: dict[str, None] = field(default_factory=dict)
    turns: list[str] = field(default_factory=list)
    asked: Asked = field(default_factory=Asked)
    host: Corroboration = field(default_factory=Corroboration)
    declared: list[Declaration] = field(default_factory=list)
    reached: list[Milestone] = field(default_factory=list)
    untold: list[Changed] = field(default_factory=list)

    def dump(self) -> str:
        """Return the lane as JSON: equal lanes give equal texts, and `load` gives back an equal lane."""
        return json.dumps(_plain(self), default=sorted)

    @staticmethod
    def load(data: bytes | str) -> Lane:
        """Return the lane of a dump; raises SnapshotError where it is damaged."""
        try:
            return _loaded(json.loads(data))
        except UNREADABLE as error:
            raise SnapshotError(f"the state of a lane cannot be read: {type(error).__name__}") from None


def _plain(lane: Lane) -> object:
    """Return a lane as values of JSON, but for its sets: `json` takes them sorted, and lone surrogates as they are."""
    return _adapter().dump_python(lane)


def _loaded(state: object) -> Lane:
    return _adapter().validate_python(state)


def _go_on(later: Lane, earlier: Lane, bounds: BoundsConfig) -> None:
    """Give a lane that began under a provisional name what its conversation had seen and reached before."""
    later.ledger.recall(earlier.ledger, bounds)
    before, after = earlier.counters, later.counters
    later.counters = replace(
        after,
        distance=after.distance if after.milestones else before.distance + after.distance,
        milestones=before.milestones + after.milestones,
        state_changes=before.state_changes + after.state_changes,
    )
    later.reached = [*earlier.reached, *later.reached][-REACHED:]
    later.declared = [*earlier.declared, *later.declared][-PENDING:]
    later.late += earlier.late
    later.ledger.evicted += earlier.ledger.evicted
    later.untold = [*earlier.untold, *later.untold]
    _spend_on(later, earlier.tokens)
    _stall_on(later, earlier)


def _spend_on(later: Lane, spent: int | None) -> None:
    """Count the tokens of a lane from those on that were spent before it."""
    if not spent:
        return
    later.tokens = spent + (later.tokens or 0)
    later.recent = [
        replace(entry, tokens=entry.tokens + spent) if entry.tokens is not None else entry for entry in later.recent
    ]
    if later.open is not None:
        later.open = replace(later.open, tokens_before=(later.open.tokens_before or 0) + spent)
    if later.closed is not None:
        later.closed = replace(later.closed, tokens_before=(later.closed.tokens_before or 0) + spent)


def _stall_on(later: Lane, earlier: Lane) -> None:
    """Let the stall that was open go on, or where the later lane has one of its own tell that it ended."""
    if later.open is not None:
        later.open = replace(later.open, stall=_counted_on(later.open.stall, earlier.stall_count))
    if later.closed is not None:
        later.closed = replace(later.closed, stall=_counted_on(later.closed.stall, earlier.stall_count))
    later.stall_count += earlier.stall_count
    if earlier.open is None:
        return
    if later.open is None:
        later.open = replace(earlier.open, stall=_begun_before(earlier.open.stall, later.counters.step))
    else:
        later.untold += close_stall(earlier.open, EndReason.RENAMED, earlier.counters.step)[1]
        later.untold = later.untold[-UNTOLD:]


def _counted_on(stall: Stall, count: int) -> Stall:
    return replace(stall, number=stall.number + count)


def _begun_before(stall: Stall, step: int) -> Stall:
    """Return a stall in the numbers of a lane that begins inside it and now stands at that step."""
    return replace(
        stall, first_step=1, detected_step=1, last_step=max(step, 1), levels=tuple((one, 1) for one, _ in stall.levels)
    )


def _used(lane: Lane) -> int:
    """Return when a lane was used last; one that an earlier release saved knows the end of its last span alone."""
    return lane.used_ns or lane.last_end_ns


@cache
def _adapter() -> TypeAdapter[Lane]:
    from pydantic import TypeAdapter

    return TypeAdapter(Lane)


class Lanes:
    """The lanes of all conversations, bounded by number and idle time; what falls out is counted.

    Not thread-safe: the monitor's owner holds one lock around it.
    """

    def __init__(self, bounds: BoundsConfig | None = None) -> None:
        self._bounds = bounds or BoundsConfig()
        self._lanes: OrderedDict[LaneKey, Lane] = OrderedDict()
        self.journal: Journal | None = None
        self.evicted = 0
        self._dropped = 0
        self._late = 0

    @property
    def dropped(self) -> int:
        """Digests that fell out of the ledgers so far, also of lanes that are gone since."""
        return self._dropped + sum(lane.ledger.evicted for lane in self._lanes.values())

    @property
    def late(self) -> int:
        """Steps that came late so far, also in lanes that are gone since."""
        return self._late + sum(lane.late for lane in self._lanes.values())

    def __len__(self) -> int:
        return len(self._lanes)

    def __iter__(self) -> Iterator[tuple[LaneKey, Lane]]:
        return iter(self._lanes.items())

    def __reversed__(self) -> Iterator[tuple[LaneKey, Lane]]:
        return iter(reversed(self._lanes.items()))

    def get(self, key: LaneKey) -> Lane | None:
        """Return a lane without counting it as used, None where it is not known."""
        return self._lanes.get(key)

    def use(self, key: LaneKey, now_ns: int = 0) -> Lane:
        """Return the lane of a key, new where it was not known or idle for too long, as the one used last.

        `now_ns` is the time by the clock that idleness is measured with, the same at every call; 0 = nothing is idle.
        """
        lane = self._lanes.get(key)
        if lane is not None and _used(lane) < self._limit(now_ns):
            self._evict(key)
            lane = None
        if lane is None:
            lane = self._lanes[key] = Lane()
            if len(self._lanes) > self._bounds.conversations:
                self._evict(next(iter(self._lanes)))
        else:
            self._lanes.move_to_end(key)
        lane.used_ns = max(lane.used_ns, now_ns)
        return lane

    def latest(self, conversation: str) -> str:
        """Return the lane of a conversation that was used last, "" where it has none."""
        return next((lane for known, lane in reversed(self._lanes) if known == conversation), "")

    def expire(self, now_ns: int) -> None:
        """Drop the lanes whose last step is longer ago than `idle_seconds`, oldest first."""
        limit = self._limit(now_ns)
        while self._lanes:
            key, lane = next(iter(self._lanes.items()))
            if _used(lane) >= limit:
                return
            self._evict(key)

    def _evict(self, key: LaneKey) -> None:
        gone = self._lanes.pop(key)
        self._dropped += gone.ledger.evicted
        self._late += gone.late
        self.evicted += 1
        if self.journal is not None:
            self.journal.anew(key)

    def put(self, key: LaneKey, lane: Lane) -> None:
        """Take in a lane that was saved; where there are too many the oldest falls out, and is counted."""
        self._lanes[key] = lane
        if len(self._lanes) > self._bounds.conversations:
            self._evict(min(self._lanes, key=lambda known: _used(self._lanes[known])))

    def collect(self) -> dict[LaneKey, LaneChange]:
        """Return what changed since this was last asked; the first time nothing, from then on it is taken down."""
        if self.journal is None:
            self.journal = Journal()
        return self.journal.collect(lambda key: lane.dump() if (lane := self._lanes.get(key)) is not None else None)

    def _limit(self, now_ns: int) -> int:
        return now_ns - int(self._bounds.idle_seconds * 1e9)

    def rename(self, old: str, new: str) -> None:
        """Move the lanes of a provisional conversation to its real one.

        Where the real one has that lane already, the provisional one goes on in its place, being the later,
        with what the earlier had seen and reached.
        """
        for conversation, lane in [key for key in self._lanes if key[0] == old]:
            if self.journal is not None:
                self.journal.anew((conversation, lane))
                self.journal.anew((new, lane))
            moved = self._lanes.pop((conversation, lane))
            earlier = self._lanes.pop((new, lane), None)
            if earlier is not None:
                _go_on(moved, earlier, self._bounds)
            self._lanes[(new, lane)] = moved

    def snapshot(self) -> str:
        """Return all lanes as one JSON text."""
        lanes = [[*key, _plain(lane)] for key, lane in self._lanes.items()]
        counts = {"evicted": self.evicted, "dropped": self._dropped, "late": self._late}
        return json.dumps({"version": SNAPSHOT_VERSION, "lanes": lanes, **counts}, default=sorted)

    def restore(self, snapshot: str) -> None:
        """Replace all lanes by those of a snapshot; raises SnapshotError and changes nothing where it cannot."""
        try:
            content = json.loads(snapshot)
            version, listed = content["version"], content["lanes"]
            if version > SNAPSHOT_VERSION:
                raise SnapshotError(f"the snapshot is of version {version}, this release reads {SNAPSHOT_VERSION}")
            lanes = OrderedDict(((str(c), str(name)), _loaded(state)) for c, name, state in listed)
            evicted, dropped, late = (int(content.get(name, 0)) for name in ("evicted", "dropped", "late"))
        except UNREADABLE as error:
            if isinstance(error, SnapshotError):
                raise
            raise SnapshotError(f"the snapshot cannot be read: {type(error).__name__}") from None
        self._lanes, self.evicted, self._dropped, self._late = lanes, evicted, dropped, late
        while len(self._lanes) > self._bounds.conversations:
            self._evict(next(iter(self._lanes)))
