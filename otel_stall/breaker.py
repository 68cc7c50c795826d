"""`Breaker`: lets hooks run until they have slowed the host too often, then none for a while."""

from __future__ import annotations

import logging
from collections import deque
from typing import Final

__all__ = ["OVERRUNS", "WINDOW_SECONDS", "Breaker"]

_LOG = logging.getLogger("otel_stall")

OVERRUNS: Final = 5
"""Hooks over their budget within the window that open the breaker: a pause of the garbage collector does not."""
WINDOW_SECONDS: Final = 60.0
"""Length of the window, and of the time for which the breaker then stays open."""


class Breaker:
    """Counts hooks that took longer than `budget_seconds`; 0 = it never opens.

    Times are given by the caller, in seconds of one monotonic clock. Threads may call it at the same
    time without a lock: the worst that can happen is that one overrun is counted twice or not at all.
    `trips` counts how often it opened, which is logged the first time. `open` may be looked at in place of
    `lets_pass`, which asks for the time: False says that no span is to pass.
    """

    def __init__(self, budget_seconds: float) -> None:
        self.budget = budget_seconds or float("inf")
        self.open = False
        self._overruns: deque[float] = deque(maxlen=OVERRUNS)
        self._open_until = float("-inf")
        self.trips = 0

    def lets_pass(self, now: float) -> bool:
        """Return whether a hook that begins now is to pass the span on untouched."""
        self.open = now < self._open_until
        return self.open

    def ran(self, began: float, ended: float) -> None:
        """Take note of a hook that ran."""
        if ended - began <= self.budget:
            return
        self._overruns.append(ended)
        if len(self._overruns) == OVERRUNS and ended - self._overruns[0] <= WINDOW_SECONDS:
            self._overruns.clear()
            self._open_until = ended + WINDOW_SECONDS
            self.open = True
            self.trips += 1
            if self.trips == 1:
                _LOG.warning(
                    "judging a span took longer than %g s for %d times within %g s; spans pass untouched for %g s, "
                    "now and whenever this happens again (hook_seconds sets the budget)",
                    self.budget,
                    OVERRUNS,
                    WINDOW_SECONDS,
                    WINDOW_SECONDS,
                )
