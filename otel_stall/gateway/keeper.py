"""`StateKeeper`: saves what changed on a thread of its own; requests that wait for it share one save."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Final, Self

from otel_stall.gateway.annotator import SavedRemark, SpanKey
from otel_stall.gateway.state import StateFile, Unsaved, unsaved
from otel_stall.judge import Changes

__all__ = ["Changed", "StateKeeper"]

_LOG = logging.getLogger("otel_stall")

_MOST: Final = 10_000
"""Changes that wait to be saved from which on it is looked whether all of them have to be."""

Changed = tuple[Changes | None, Mapping[SpanKey, SavedRemark | None]]


class StateKeeper:
    """Saves changes as often as asked and at least every `seconds`; `collect` gives what changed since it was called.

    A save that fails is counted in `failures`, logged once until one succeeds again, and holds nobody up:
    what it was to write is written with the next. What waits is no more than what is kept and what the file holds.
    """

    def __init__(self, file: StateFile, collect: Callable[[], Changed], *, seconds: float) -> None:
        self.failures = 0
        self._file = file
        self._collect = collect
        self._seconds = seconds
        self._turn = threading.Condition()
        self._asked = self._done = 0
        self._stopping = self._failing = False
        self._unsaved = Unsaved({}, {})
        self._most = _MOST
        self._thread = threading.Thread(target=self._run, name="otel-stall state", daemon=True)

    def start(self) -> Self:
        """Begin to note changes, and to save them."""
        self._collect()
        self._thread.start()
        return self

    def settle(self, timeout: float) -> None:
        """Return when all that was judged before is saved, saving failed, or `timeout` seconds are over."""
        with self._turn:
            self._asked += 1
            ticket = self._asked
            self._turn.notify_all()
            self._turn.wait_for(lambda: self._done >= ticket, timeout)

    def stop(self) -> None:
        """Save what is left and close the file."""
        with self._turn:
            self._stopping = True
            self._turn.notify_all()
        self._thread.join()
        self._save()
        self._file.close()

    def _run(self) -> None:
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._asked > self._done or self._stopping, self._seconds)
                if self._stopping:
                    return
                asked = self._asked
            self._save()
            with self._turn:
                self._done = asked
                self._turn.notify_all()

    def _save(self) -> None:
        try:
            changes, remarks = self._collect()
            if changes is not None:
                self._unsaved = self._unsaved.then(unsaved(changes, remarks))
            if self._unsaved:
                self._file.save(self._unsaved)
                self._unsaved = Unsaved({}, {})
            self._failing, self._most = False, _MOST
        except Exception as error:
            self.failures += 1
            self._shorten()
            if not self._failing:
                _LOG.error("the state cannot be saved (%s); spans go on, and it is tried again", type(error).__name__)
            self._failing = True

    def _shorten(self) -> None:
        if self._waiting() > self._most:
            self._unsaved = self._file.needed(self._unsaved)
            self._most = max(2 * self._waiting(), _MOST)

    def _waiting(self) -> int:
        return len(self._unsaved.entries) + len(self._unsaved.lanes)
