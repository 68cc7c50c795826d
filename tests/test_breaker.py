"""Rules of `breaker`: hooks that slow the host too often stop for a while."""

from __future__ import annotations

import logging

import pytest

from otel_stall.breaker import OVERRUNS, WINDOW_SECONDS, Breaker


def overrun(breaker: Breaker, *ended: float, seconds: float = 1.5) -> None:
    for at in ended:
        breaker.ran(at - seconds, at)


def test_opens_after_so_many_overruns() -> None:
    """The fifth overrun within a minute opens it for a minute; the fourth does not."""
    breaker = Breaker(1.0)
    overrun(breaker, 10, 11, 12, 13)
    assert not breaker.lets_pass(13)
    overrun(breaker, 14)
    assert [breaker.lets_pass(at) for at in (14, 14 + WINDOW_SECONDS - 1, 14 + WINDOW_SECONDS)] == [True, True, False]
    assert breaker.trips == 1


def test_overruns_far_apart() -> None:
    """Pauses that come now and then, as of the garbage collector, never open it."""
    breaker = Breaker(1.0)
    overrun(breaker, *(at * (WINDOW_SECONDS / (OVERRUNS - 2)) for at in range(1, 50)))
    assert breaker.trips == 0


@pytest.mark.parametrize(("budget", "seconds"), [(1.0, 1.0), (0.0, 1e9)])
def test_within_the_budget(budget: float, seconds: float) -> None:
    """A hook that takes exactly its budget is none too slow; without a budget none is."""
    breaker = Breaker(budget)
    overrun(breaker, *range(100), seconds=seconds)
    assert breaker.trips == 0


def test_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """It opens as often as it must, and says so the first time."""
    breaker = Breaker(0.25)
    with caplog.at_level(logging.WARNING):
        overrun(breaker, *range(20), *range(100, 105))
    assert (breaker.trips, len(caplog.messages)) == (5, 1)
    assert "longer than 0.25 s for 5 times" in caplog.text
