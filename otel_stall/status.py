"""`Status`: where one lane stands now, for whoever asks: a host that reacts, an admin endpoint, a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from otel_stall.conversations import Lane, LaneKey
from otel_stall.verdicts import Level, Milestone, Stall

__all__ = ["ADVICE", "Status", "status_of"]

ADVICE: Mapping[Level, str] = MappingProxyType(
    {
        Level.NOTICE: "Show the count to the agent; nothing else yet.",
        Level.REPLAN: "Ask the agent for another plan: what it tries brings nothing new.",
        Level.ASK_USER: "Ask a person: the agent is far from its last milestone and gains nothing.",
        Level.ABANDON: "Stop the run and keep its milestones.",
    }
)
"""What each level asks of a host, for a person to read."""


@dataclass(frozen=True, slots=True)
class Status:
    """Counters, milestones and the open stall of one lane after its last observation.

    Steps are counted as in the verdicts; `last_end_ns` is the end of the last span, in epoch ns. `milestones`
    are the last verified ones and those declared since. `stall` is None outside any.
    """

    conversation: str
    lane: str
    agent: str
    service: str
    task_class: str
    run_id: str
    step: int
    epoch: int
    steps_since_milestone: int
    steps_since_gain: int
    state_changes: int
    milestone_count: int
    waste: float
    milestones: tuple[Milestone, ...]
    stall: Stall | None
    partial: bool
    last_end_ns: int

    def document(self) -> dict[str, object]:
        """Return the same as values of JSON; names are those of `analyze --format json` where it has them."""
        return {
            "id": self.conversation,
            "lane": self.lane,
            "agent": self.agent,
            "service": self.service,
            "task_class": self.task_class,
            "run_id": self.run_id,
            "steps": self.step,
            "compactions": self.epoch,
            "partial": self.partial,
            "last_end_ns": str(self.last_end_ns),
            "milestones": [_milestone(one) for one in self.milestones],
            "counters": {
                "steps_since_milestone": self.steps_since_milestone,
                "steps_since_gain": self.steps_since_gain,
                "state_changes": self.state_changes,
                "milestones": self.milestone_count,
                "waste": self.waste,
            },
            "stall": _stall(self.stall) if self.stall is not None else None,
        }


def status_of(key: LaneKey, lane: Lane) -> Status:
    """Return where a lane stands."""
    counters = lane.counters
    return Status(
        conversation=key[0],
        lane=key[1],
        agent=lane.agent,
        service=lane.service,
        task_class=lane.task_class,
        run_id=lane.run_id,
        step=counters.step,
        epoch=lane.ledger.epoch,
        steps_since_milestone=counters.distance,
        steps_since_gain=counters.dry,
        state_changes=counters.state_changes,
        milestone_count=counters.milestones,
        waste=counters.waste,
        milestones=tuple(lane.reached),
        stall=lane.open.stall if lane.open is not None else None,
        partial=lane.partial,
        last_end_ns=lane.last_end_ns,
    )


def _milestone(milestone: Milestone) -> Mapping[str, object]:
    return {
        "step": milestone.step,
        "name": milestone.name,
        "evidence": milestone.evidence.value,
        "verified": milestone.evidence.verified,
    }


def _stall(stall: Stall) -> Mapping[str, object]:
    return {
        "kind": stall.kind.value,
        "level": stall.level.value,
        "levels": {level.value: step for level, step in stall.levels},
        "first_step": stall.first_step,
        "detected_step": stall.detected_step,
        "last_step": stall.last_step,
        "evidence": list(stall.evidence),
        "tokens": stall.tokens,
        "advice": ADVICE[stall.level],
    }
