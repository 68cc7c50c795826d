"""`Status`: where one lane stands now, for whoever asks: a host that reacts, an admin endpoint, a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from otel_stall.conversations import Lane, LaneKey
from otel_stall.observations import Effect
from otel_stall.reasons import TABLE, Reason
from otel_stall.verdicts import Gain, Level, Milestone, Stall

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
    are the last 32, with those that no longer stand. `stall` is None outside any. Inside one, `pressing` is the
    level that the counters speak for now (the stall's own never falls), `tried` the effects of its last 64 steps
    and `fruitless` the reasons why steps among them gained nothing, each with its number, most first. `changed_step`
    is the last step that changed something new, 0 where none is remembered.
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
    pressing: Level | None = None
    tried: tuple[tuple[Effect, int], ...] = ()
    fruitless: tuple[tuple[Reason, int], ...] = ()
    changed_step: int = 0

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
    counters, stall = lane.counters, lane.open.stall if lane.open is not None else None
    inside = [entry for entry in lane.recent if stall is not None and entry.step >= stall.first_step]
    barren = [entry.reason for entry in inside if TABLE[entry.reason].gain is Gain.NONE]
    changed = [entry.step for entry in lane.recent if TABLE[entry.reason].gain is Gain.STATE]
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
        stall=stall,
        partial=lane.partial,
        last_end_ns=lane.last_end_ns,
        pressing=lane.open.pressing if lane.open is not None else None,
        tried=tuple(Counter(entry.effect for entry in inside).most_common()),
        fruitless=tuple(Counter(barren).most_common()),
        changed_step=max(changed, default=0),
    )


def _milestone(milestone: Milestone) -> Mapping[str, object]:
    return {
        "step": milestone.step,
        "name": milestone.name,
        "evidence": milestone.evidence.value,
        "verified": milestone.evidence.verified,
        "stands": milestone.stands,
        "trace_id": milestone.trace_id,
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
