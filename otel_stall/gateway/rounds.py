"""`Rounds`: requests that are judged together, since each may hold a part of one call.

Coding agents export spans and log records apart, and each of the two knows what the other leaves out: the
arguments, the result, the refusal. A request with such a call waits for the others of its round; it is in
flight all the while, so nothing is kept that was acknowledged. Every other request is judged at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from otel_stall import dialects
from otel_stall.gateway.annotator import Entries, Said

__all__ = ["Rounds"]

_Part = tuple[Entries, "Future[Said]"]


class Rounds:
    """Lets requests wait for each other for `seconds`, counted from the first; may be used on any thread.

    `judge` is called once a round, on the thread of its first request; what it raises comes through to all.
    """

    def __init__(self, judge: Callable[[Sequence[Entries]], list[Said]], seconds: float) -> None:
        self._judge = judge
        self._seconds = seconds
        self._turn = threading.Condition()
        self._round: list[_Part] | None = None
        self._closed = False

    def judged(self, entries: Entries) -> Said:
        """Return what is to be said of one request's items, after the round where it has to wait."""
        if not self._seconds or not any(reading.dialect in dialects.TOLD_TWICE for _, reading, _ in entries):
            return self._judge([entries])[0]
        future: Future[Said] = Future()
        with self._turn:
            first = self._round is None
            parts = self._round = self._round or []
            parts.append((entries, future))
            if first:
                self._turn.wait_for(lambda: self._closed, self._seconds)
                self._round = None
        if first:
            self._end(parts)
        return future.result()

    def close(self) -> None:
        """End the round that waits, and let no other wait."""
        with self._turn:
            self._closed = True
            self._turn.notify_all()

    def _end(self, parts: Sequence[_Part]) -> None:
        try:
            said = self._judge([entries for entries, _ in parts])
        except Exception as error:
            for _, future in parts:
                future.set_exception(error)
            return
        for (_, future), one in zip(parts, said, strict=True):
            future.set_result(one)
