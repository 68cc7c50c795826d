"""`Advisor`: what a host is to do at this turn, for hooks that ask over the admin endpoint."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import Final

from otel_stall.calls import Reading
from otel_stall.config import StallConfig
from otel_stall.emission import Event
from otel_stall.gateway.answers import Answer, Request
from otel_stall.gateway.events import Remark, Telling, events_request
from otel_stall.gateway.telemetry import SERVICE
from otel_stall.judge import Judge
from otel_stall.pressure import Ladder, Pressure
from otel_stall.status import Status
from otel_stall.verdicts import Level

__all__ = ["Advisor"]

_RESOURCE: Final = {"service.name": SERVICE}


class Advisor:
    """Answers hooks, on any thread; levels that act are those of the setting `pressure.acts`, none by default.

    What was done about a stall is remembered in this process: a rung acts once, and after a restart of the gateway
    perhaps once more.
    """

    def __init__(self, config: StallConfig, judge: Judge, send: Callable[[Request], Answer]) -> None:
        self.config = config
        self._judge = judge
        self._send = send
        self._ladder = Ladder(source=self)

    def standing(self, conversation: str = "", *, lane: str = "", agent: str = "") -> Status | None:
        """Return where a lane stands, as the ladder asks."""
        return self._judge.standing(conversation, lane=lane, agent=agent)

    def say(self, event: Event, body: str | None = None) -> None:
        """Send an event of the host's reaction downstream; one that is not taken is lost."""
        now = time.time_ns()
        alone = Reading("", "", "", "", start_ns=now, end_ns=now)
        request = events_request([Telling(alone, _RESOURCE, Remark({}, (event,), (), {}))], body=body)
        if request is not None:
            self._send(request)

    def advise(self, conversation: str, can: Collection[str]) -> Mapping[str, object]:
        """Return what the host is to do now, of the rungs that it `can` carry out at this moment, and take note of it.

        `counter` is a line for the model and `action` a level with its `text`, each None where nothing is due.
        """
        pressure = self._ladder.look(conversation)
        if pressure.action is None or pressure.action.value not in can:
            return {"counter": pressure.counter, "action": None, "text": None}
        return {"counter": pressure.counter, "action": pressure.action.value, "text": self._carried_out(pressure)}

    def _carried_out(self, pressure: Pressure) -> str:
        if pressure.action is Level.ABANDON and (record := self._ladder.abandon(pressure)) is not None:
            return record.text
        self._ladder.did(pressure)
        return pressure.text()
