"""`Ladder`: what a host asks at each model turn, and tells of what it did; remembers which rungs acted."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Final, Protocol

from otel_stall.attachment import attached
from otel_stall.config import NO_KEY, PressureConfig, StallConfig
from otel_stall.emission import Event
from otel_stall.errors import UNREADABLE, SnapshotError
from otel_stall.forks import renew_in_children
from otel_stall.pressure.abandonment import Abandonment, abandonment_of
from otel_stall.pressure.rungs import Memory, acted, next_move
from otel_stall.pressure.texts import ENGLISH, Texts
from otel_stall.settings import validated
from otel_stall.status import Status
from otel_stall.verdicts import Level

__all__ = ["NONE", "Ladder", "Pressure", "Source"]

_LOG = logging.getLogger("otel_stall")

_LANES: Final = 10_000
_QUIET_SECONDS: Final = 60.0


class Source(Protocol):
    """Where a ladder asks: a `StallSpanProcessor`, or what an adapter judges by itself."""

    config: StallConfig

    def standing(self, conversation: str = "", *, lane: str = "", agent: str = "") -> Status | None:
        """Return where a lane stands, None where nothing is known; raises nothing."""

    def say(self, event: Event, body: str | None = None) -> None:
        """Log an event; raises nothing."""


@dataclass(frozen=True, slots=True)
class Pressure:
    """What a lane's stall calls for at this turn.

    `level` is the stall's, None outside any, `evidence` its sentences, `status` all counters and milestones, None
    where nothing is known of the conversation. `counter` is the line to show with this model turn and `action`
    the rung that is to act now, both None where that was not opted into or is not due.
    """

    status: Status | None = None
    counter: str | None = None
    action: Level | None = None
    texts: Texts = ENGLISH

    @property
    def level(self) -> Level | None:
        """The stall's level: the highest it reached."""
        stall = self.status.stall if self.status is not None else None
        return stall.level if stall is not None else None

    @property
    def evidence(self) -> tuple[str, ...]:
        """What speaks for the stall, as sentences a person can check."""
        stall = self.status.stall if self.status is not None else None
        return stall.evidence if stall is not None else ()

    def text(self, level: Level | None = None) -> str:
        """Return the text of a level, of the one that acts where none is given; "" outside a stall."""
        level = level or self.action or self.level
        if self.status is None or self.status.stall is None or level is None:
            return ""
        return self.texts.say(level, self.status)

    def question(self) -> dict[str, object]:
        """Return what a person is asked, as values of JSON: text, evidence, and where the lane stands."""
        return {
            "type": "stall",
            "level": Level.ASK_USER.value,
            "text": self.text(Level.ASK_USER),
            "evidence": list(self.evidence),
            "status": self.status.document() if self.status is not None else None,
        }

    def lines(self) -> list[str]:
        """Return what the model is shown at this turn: the counter, and the call for another plan where that acts."""
        listed = [self.counter] if self.counter is not None else []
        return [*listed, self.text()] if self.action is Level.REPLAN else listed


NONE: Final = Pressure()
"""No pressure: nothing is known, or there is no stall."""


class Ladder:
    """Says at each turn what is due, and remembers what was done; on any thread, raises nothing after its making.

    `acts` are the levels that may act, those of the settings (`pressure.acts`, none by default) where not given;
    ConfigError where one is unknown. `source` is the processor that is attached where not given. `on_abandon` is
    called with the record when a run is given up, on the thread that gives it up, to save what the agent made;
    what it raises is logged. `forgotten` counts the lanes, beyond 10,000, of which it is no longer known what was done,
    `errors` the turns at which something of the host's or ours raised, logged once a minute.
    """

    def __init__(
        self,
        acts: Collection[str] | None = None,
        *,
        texts: Texts = ENGLISH,
        source: Source | None = None,
        on_abandon: Callable[[Abandonment], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.texts = texts
        self._acts = _levels(acts) if acts is not None else None
        self.source = source
        self.forgotten = 0
        self.errors = 0
        self._clock = clock
        self._quiet_until = float("-inf")
        self._on_abandon = on_abandon
        self._memories: OrderedDict[tuple[str, str], Memory] = OrderedDict()
        self._lock = threading.Lock()
        renew_in_children(self._renew_lock)

    def look(self, conversation: str = "", *, lane: str = "", agent: str = "") -> Pressure:
        """Return what is due at this turn; asked again before the next step, and before `did`, it says the same.

        Without `conversation` it is that of the current span. `lane` or `agent` choose among its lanes, else it is
        the one used last.
        """
        source = self.source or attached()
        try:
            status = source.standing(conversation, lane=lane, agent=agent) if source is not None else None
            if source is None or status is None:
                return NONE
            if status.stall is None:
                return Pressure(status, texts=self.texts)
            acts = self._acts if self._acts is not None else _levels(source.config.pressure.acts)
            key = (status.conversation, status.lane)
            with self._lock:
                memory, move = next_move(self._memories.get(key, Memory()), status, acts)
                self._keep(key, memory)
            counter = self.texts.counter_line(status) if move.counter else None
            return Pressure(status, counter, move.level, self.texts)
        except Exception as error:
            self._failed(error)
            return NONE

    def _failed(self, error: Exception) -> None:
        self.errors += 1
        if (now := self._clock()) >= self._quiet_until:
            self._quiet_until = now + _QUIET_SECONDS
            _LOG.warning("the pressure is not known: %s (%d so far)", type(error).__name__, self.errors)

    def did(self, pressure: Pressure, *, answered: bool = False) -> None:
        """Take note that the rung of this pressure acted: it will not again, as `look` says.

        `answered`: a person was asked and said to go on, which gives the agent room before it is given up.
        """
        status, level = pressure.status, pressure.action
        if status is None or level is None:
            return
        key = (status.conversation, status.lane)
        with self._lock:
            memory = self._memories.get(key, Memory())
            self._keep(key, acted(memory, level, status.step, answered=answered))

    def abandon(self, pressure: Pressure) -> Abandonment | None:
        """Return the record of a run that the host stops now; it is logged and given to `on_abandon`, once.

        That is where giving up is due, or a person who was asked said to stop; None anywhere else.
        """
        status = pressure.status
        if status is None or status.stall is None or pressure.action not in (Level.ASK_USER, Level.ABANDON):
            return None
        source = self.source or attached()
        key = source.config.fingerprint_key if source is not None else NO_KEY
        with self._lock:
            memory = self._memories.get((status.conversation, status.lane), Memory())
        record = abandonment_of(status, status.stall, memory.acted, pressure.text(Level.ABANDON), key)
        if Level.ABANDON in {level for level, _ in memory.acted}:
            return record
        self.did(replace(pressure, action=Level.ABANDON))
        if source is not None:
            source.say(record.event(), record.json())
        if self._on_abandon is not None:
            try:
                self._on_abandon(record)
            except Exception as error:
                _LOG.warning("on_abandon failed: %s", type(error).__name__)
        return record

    def snapshot(self) -> str:
        """Return what was done so far as JSON, for a host that keeps its state over a restart."""
        with self._lock:
            lanes = [
                [*key, one.stall, one.acted, one.spared, one.milestone, one.answered]
                for key, one in self._memories.items()
            ]
        return json.dumps({"version": 1, "lanes": lanes})

    def restore(self, snapshot: str) -> None:
        """Go on where a snapshot ended; raises SnapshotError and changes nothing where it cannot be read."""
        try:
            read = json.loads(snapshot)
            memories = OrderedDict(((str(c), str(lane)), _memory(*rest)) for c, lane, *rest in read["lanes"])
        except UNREADABLE as error:
            raise SnapshotError(f"the snapshot cannot be read: {type(error).__name__}") from None
        with self._lock:
            self._memories = memories

    def _keep(self, key: tuple[str, str], memory: Memory) -> None:
        self._memories[key] = memory
        self._memories.move_to_end(key)
        if len(self._memories) > _LANES:
            self._memories.popitem(last=False)
            self.forgotten += 1

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()


def _levels(acts: Collection[str]) -> frozenset[Level]:
    listed = acts if isinstance(acts, str) else [str(one) for one in acts]
    return frozenset(map(Level, validated(PressureConfig, {"acts": listed}, "pressure").acts))


def _memory(
    stall: int,
    did: list[list[object]],
    spared: list[list[object]],
    milestone: list[object] | None,
    answered: int | None,
) -> Memory:
    reached = (int(str(milestone[0])), str(milestone[1])) if milestone is not None else None
    return Memory(int(stall), _pairs(did), _pairs(spared), reached, None if answered is None else int(answered))


def _pairs(listed: list[list[object]]) -> tuple[tuple[Level, int], ...]:
    return tuple((Level(str(level)), int(str(step))) for level, step in listed)
