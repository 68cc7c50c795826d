"""What comes between a lane's observations: another run, another turn of the user, a call that nobody ran.

Told by times and ids of readings, which the fold does not see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from otel_stall.calls import Reading, ToolCall
from otel_stall.conversations import Asked, Lane
from otel_stall.observations import GhostCall, ModelTurn, Observation, RunBoundary, UserTurn

__all__ = ["with_boundaries"]

_TURNS: Final = 16
_CHARS: Final = 64


def with_boundaries(lane: Lane, reading: Reading, listed: Sequence[Observation]) -> Iterator[Observation]:
    """Yield what the fold is given for a reading: first what it shows to have happened before it.

    Changes what the lane remembers of runs, turns and calls asked for.
    """
    # Roots end last and start no run.
    if reading.run_id and not reading.is_agent and reading.run_id != lane.run_id:
        if lane.run_id:
            yield RunBoundary(reading.run_id)
        lane.run_id = reading.run_id
    if _begins_turn(lane, reading):
        lane.asked.ended_ns = 0
        yield UserTurn()
    if isinstance(reading.record, ToolCall):
        lane.asked.call_ns = max(lane.asked.call_ns, reading.start_ns)
    for one in listed:
        if isinstance(one, UserTurn):
            lane.asked.ended_ns = 0
        elif isinstance(one, ModelTurn) and _leaves_a_call(lane.asked, reading, one):
            yield GhostCall()
        yield one


def _begins_turn(lane: Lane, reading: Reading) -> bool:
    """Return whether the host counts this into a turn of the user that is new, after an earlier one."""
    turn = reading.turn[:_CHARS]
    if not turn or turn in lane.turns:
        return False
    lane.turns = [*lane.turns, turn][-_TURNS:]
    return len(lane.turns) > 1


def _leaves_a_call(asked: Asked, reading: Reading, turn: ModelTurn) -> bool:
    """Return whether a model turn follows one that asked for a tool, and no call began in between.

    Hosts run tools while the answer still streams in, so that a call may end before the turn that asked.
    """
    if reading.start_ns < asked.ended_ns:
        return False  # beside it, not after it: a sub-agent or a title
    ghost = bool(asked.ended_ns) and asked.call_ns < asked.began_ns
    if turn.expects_call:
        asked.began_ns, asked.ended_ns = reading.start_ns, reading.end_ns
    else:
        asked.ended_ns = 0
    return ghost
