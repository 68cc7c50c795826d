"""Rules that published agents and detectors use, re-stated in a few lines each from their description.

These are the rules, not the products: without their masks, reminders and reactions. Each takes the steps
of a run and returns the intervals it calls stalled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from recorded import Alarm, Seen

__all__ = ["RULES", "step_count"]

Rule = Callable[[Sequence[Seen]], list[Alarm]]
Firing = tuple[int, int]
"""Step at which a rule fires, and the first step of what it fires on."""


def step_count(steps: int, limit: int) -> list[Alarm]:
    """Return the alarm of a plain limit on the number of steps."""
    return [Alarm(limit + 1, limit + 1, steps)] if steps > limit else []


def _merged(firings: Iterable[Firing]) -> list[Alarm]:
    """Return firings as intervals: what overlaps or follows at once is one."""
    alarms: list[Alarm] = []
    for step, first in firings:
        if alarms and first <= alarms[-1].last + 1:
            last = alarms.pop()
            alarms.append(Alarm(min(first, last.first), last.detected, step))
        else:
            alarms.append(Alarm(first, step, step))
    return alarms


def _in_a_row(keys: Sequence[object], times: int) -> Iterator[Firing]:
    length = 0
    for step, key in enumerate(keys, 1):
        length = length + 1 if step > 1 and key == keys[step - 2] else 1
        if length >= times:
            yield step, step - length + 1


def _cycles(keys: Sequence[object], periods: Iterable[int], laps: int) -> Iterator[Firing]:
    for step in range(1, len(keys) + 1):
        for period in periods:
            size = period * laps
            tail = keys[step - size : step] if step >= size else ()
            if tail and all(tail[index] == tail[index % period] for index in range(size)):
                yield step, step - size + 1
                break


def _among(keys: Sequence[object], window: int, times: int) -> Iterator[Firing]:
    """Yield where a key occurs so many times among the last steps of the window, the step itself included."""
    for step in range(1, len(keys) + 1):
        start = max(0, step - window)
        counts = Counter(keys[start:step])
        if counts[keys[step - 1]] >= times:
            yield step, start + 1 + keys[start:step].index(keys[step - 1])


def _streak(dry: Iterable[bool], least: int) -> Iterator[Firing]:
    length = 0
    for step, barren in enumerate(dry, 1):
        length = length + 1 if barren else 0
        if length >= least:
            yield step, step - length + 1


def identical_raw(steps: Sequence[Seen]) -> list[Alarm]:
    """The last three calls have equal raw arguments."""
    return _merged(_in_a_row([(s.tool, s.raw) for s in steps], 3))


def identical_sorted(steps: Sequence[Seen]) -> list[Alarm]:
    """The last four calls have equal arguments, keys sorted."""
    return _merged(_in_a_row([(s.tool, s.sorted) for s in steps], 4))


def cycles(steps: Sequence[Seen]) -> list[Alarm]:
    """Calls in a cycle of one to five, five times."""
    return _merged(_cycles([(s.tool, s.raw) for s in steps], range(1, 6), 5))


def action_and_result(steps: Sequence[Seen]) -> list[Alarm]:
    """The same action and result four times, the same failing action three times, or two in turn three times."""
    pairs = [(s.tool, s.raw, s.result) for s in steps]
    failing = [(s.tool, s.raw) if s.failed else index for index, s in enumerate(steps)]
    firings = {*_in_a_row(pairs, 4), *_in_a_row(failing, 3), *_cycles(pairs, (2,), 3)}
    return _merged(sorted(firings))


def call_and_result_among_ten(steps: Sequence[Seen]) -> list[Alarm]:
    """More than five of the last ten steps have one call and result."""
    return _merged(firing for firing in _among([(s.tool, s.raw, s.result) for s in steps], 10, 6) if firing[0] >= 10)


def arguments_among_thirty(steps: Sequence[Seen]) -> list[Alarm]:
    """Ten of the last thirty calls have equal arguments."""
    return _merged(_among([(s.tool, s.sorted) for s in steps], 30, 10))


def plain_novelty(steps: Sequence[Seen]) -> list[Alarm]:
    """Ten steps in a row whose result was seen before."""
    known: set[str] = set()
    dry = []
    for s in steps:
        result = s.result.strip()
        dry.append(result in known)
        known.add(result)
    return _merged(_streak(dry, 10))


def evidence_gain(steps: Sequence[Seen]) -> list[Alarm]:
    """Six rounds without evidence; new calls alone count as evidence for six rounds after a change."""
    calls: set[tuple[str, str]] = set()
    failures: set[tuple[str, str]] = set()
    looked, dry = 0, []
    for s in steps:
        call, failure = (s.tool, s.sorted), (s.tool, s.result)
        looked = 0 if s.mutates else looked + 1
        new = failure not in failures if s.failed else call not in calls
        dry.append(not (s.mutates or (new and looked <= 6)))
        calls.add(call)
        failures |= {failure} if s.failed else set()
    return _merged(_streak(dry, 6))


def result_aware(steps: Sequence[Seen]) -> list[Alarm]:
    """A call with the same result three times among twenty, cycles of two to four three times, or six known results.

    As far as the rungs are described: the sweep rung is left out.
    """
    pairs = [(s.tool, s.sorted, s.result) for s in steps]
    known: set[tuple[str, str]] = set()
    stale = []
    for s in steps:
        stale.append((s.tool, s.result) in known)
        known.add((s.tool, s.result))
    firings = {*_among(pairs, 20, 3), *_cycles(pairs, range(2, 5), 3), *_streak(stale, 6)}
    return _merged(sorted(firings))


RULES: dict[str, Rule] = {
    "identical x3, raw arguments": identical_raw,
    "identical x4, sorted arguments": identical_sorted,
    "cycles of 1-5, x5": cycles,
    "action + result x4, ABAB x3": action_and_result,
    "call + result > 5 of 10": call_and_result_among_ten,
    "same arguments >= 10 of 30": arguments_among_thirty,
    "result-aware rungs": result_aware,
    "evidence gain, 6 dry rounds": evidence_gain,
    "plain novelty, 10 dry steps": plain_novelty,
}
"""The rules by the name they have in the tables."""
