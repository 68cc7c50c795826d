"""What is late: a tool call that has not ended, an agent that makes no step, for longer than usual.

Only where spans start can this be seen: what comes after the SDK gets a span when it has ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from otel_stall.bounded import trim
from otel_stall.calls import Reading, ToolCall
from otel_stall.config import PressureConfig
from otel_stall.lineage import Running

__all__ = ["Pace", "Silence"]

_CONVERSATIONS: Final = 10_000
_LANES: Final = 64
_TOOLS: Final = 1_024


@dataclass(frozen=True, slots=True)
class Silence:
    """One thing that is late: whose, since when, and the seconds after which it counts as such.

    `reason` is `hung_call`, then `tool` says which, or `no_step`. `span_id` is that of the open span.
    """

    reason: str
    conversation: str
    lane: str
    agent: str
    tool: str
    trace_id: str
    span_id: str
    since_ns: int
    seconds: float
    usual_seconds: float


class _Lately(NamedTuple):
    last_ns: int
    longest_ns: int
    trace_id: str


class Pace:
    """How long tools and the pauses between steps took so far; bounded, not thread-safe.

    `dropped` counts what fell out.
    """

    def __init__(self, config: PressureConfig, dropped: Counter[str]) -> None:
        self.dropped = dropped
        self._config = config
        self._lanes: dict[str, dict[str, _Lately]] = {}
        self._tools: dict[str, int] = {}

    def saw(self, reading: Reading, conversation: str, lane: str) -> None:
        """Take note of a step. A pause between two traces is the user's, and says nothing of the agent."""
        if not isinstance(reading.record, ToolCall):
            return
        tool, took = reading.record.tool[:256], reading.end_ns - reading.start_ns
        longest = max(self._tools.pop(tool, 0), took)
        self._tools[tool] = longest
        lanes = self._lanes.pop(conversation, {})
        self._lanes[conversation] = lanes
        before = lanes.pop(lane, None)
        pause = before.longest_ns if before is not None else 0
        if before is not None and before.trace_id == reading.trace_id:
            pause = max(pause, reading.end_ns - before.last_ns)
        last = max(reading.end_ns, before.last_ns if before is not None else 0)
        lanes[lane] = _Lately(last, pause, reading.trace_id)
        trim(self._tools, _TOOLS, self.dropped, "paces")
        trim(lanes, _LANES, self.dropped, "paces")
        trim(self._lanes, _CONVERSATIONS, self.dropped, "paces")

    def late(self, running: Sequence[Running], now_ns: int) -> tuple[Silence, ...]:
        """Return what is late among the open spans, longest first."""
        busy: dict[str, set[str]] = {}
        for one in running:
            if one.tool:
                busy.setdefault(one.conversation, set()).add(one.lane)
        found = [self._hung(one, now_ns) for one in running if one.tool]
        found += [
            self._still(one, now_ns)
            for one in running
            if not one.tool and not _waits(one, busy.get(one.conversation, ()))
        ]
        late = [one for one in found if one.seconds > one.usual_seconds]
        return tuple(sorted(late, key=lambda one: one.since_ns))

    def _hung(self, one: Running, now_ns: int) -> Silence:
        """A call in which another agent makes steps does not hang."""
        since = max(one.start_ns, self._last(one, below=True))
        usual = max(self._config.hung_seconds, self._config.times_usual * self._tools.get(one.tool, 0) / 1e9)
        return _silence("hung_call", one, since, now_ns, usual)

    def _still(self, one: Running, now_ns: int) -> Silence:
        since = max(one.start_ns, self._last(one, below=False))
        lately = self._lanes.get(one.conversation, {}).get(one.lane)
        pause = lately.longest_ns if lately is not None else 0
        usual = max(self._config.silent_seconds, self._config.times_usual * pause / 1e9)
        return _silence("no_step", one, since, now_ns, usual)

    def _last(self, one: Running, *, below: bool) -> int:
        """Return the end of the last step in the agent's lane or one below it; `below`: in one below alone."""
        ends = (
            lately.last_ns
            for lane, lately in self._lanes.get(one.conversation, {}).items()
            if _within(lane, one.lane) and not (below and lane == one.lane)
        )
        return max(ends, default=0)


def _within(lane: str, above: str) -> bool:
    return lane == above or lane.startswith(f"{above}/")


def _waits(one: Running, busy: Iterable[str]) -> bool:
    """Return whether a call of this agent, or of one below it, is open."""
    return any(_within(lane, one.lane) for lane in busy)


def _silence(reason: str, one: Running, since_ns: int, now_ns: int, usual: float) -> Silence:
    return Silence(
        reason=reason,
        conversation=one.conversation,
        lane=one.lane,
        agent=one.agent,
        tool=one.tool,
        trace_id=one.trace_id,
        span_id=one.span_id,
        since_ns=since_ns,
        seconds=(now_ns - since_ns) / 1e9,
        usual_seconds=usual,
    )
