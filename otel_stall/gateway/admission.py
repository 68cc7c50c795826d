"""`Admission`: how much is worked on at a time; what is beyond is asked to come back, not dropped."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from otel_stall.gateway.settings import LimitsConfig

__all__ = ["Admission"]


class Admission:
    """Counts requests and their bytes while they are worked on; may be used on any thread."""

    def __init__(self, limits: LimitsConfig) -> None:
        self._limits = limits
        self._turn = threading.Condition()
        self._requests = 0
        self._bytes = 0
        self._closed = False

    @contextmanager
    def enter(self, size: int) -> Iterator[bool]:
        """Give whether a request of so many bytes may be worked on now; one alone may always."""
        with self._turn:
            full = self._requests >= self._limits.requests or self._bytes + size > self._limits.bytes
            admitted = not self._closed and (not full or not self._requests)
            if admitted:
                self._requests += 1
                self._bytes += size
        try:
            yield admitted
        finally:
            if admitted:
                with self._turn:
                    self._requests -= 1
                    self._bytes -= size
                    self._turn.notify_all()

    def close(self, timeout: float) -> bool:
        """Admit nothing more and return whether all that was admitted ended within `timeout` seconds."""
        with self._turn:
            self._closed = True
            return self._turn.wait_for(lambda: not self._requests, timeout)
