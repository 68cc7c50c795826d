"""The runs of a lane: how each ended, how far it went without a milestone, and the segments it closed.

A run lasts until `stall.run.id` changes. Calibration and credit are made from these values alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from otel_stall.calls import Reading
from otel_stall.observations import RunBoundary
from otel_stall.verdicts import Judged

__all__ = ["Run", "RunCount", "Said"]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one lane; "" where the host says nothing.

    `distance` is the largest milestone distance it reached, `segments` the lengths of the segments that a
    verified milestone closed, in order, and `tail` the steps after the last one. Steps that wait and
    faults of the infrastructure count in `steps` alone. `partial`: spans are missing, counts are lower bounds.
    """

    conversation: str
    lane: str
    agent: str
    run_id: str = ""
    outcome: str = ""
    task_id: str = ""
    task_class: str = ""
    steps: int = 0
    distance: int = 0
    segments: tuple[int, ...] = ()
    tail: int = 0
    partial: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether the host says that the run succeeded."""
        return self.outcome == "success"


@dataclass(slots=True)
class RunCount:
    """A run while it is counted."""

    run_id: str = ""
    steps: int = 0
    distance: int = 0
    segments: list[int] = field(default_factory=list)
    tail: int = 0

    def take(self, judged: Judged) -> None:
        """Count what the fold says of one observation."""
        if isinstance(judged.observation, RunBoundary):
            return  # Its verdict ends a stall of the run before.
        verdict = judged.verdict
        self.steps += verdict.counted
        self.tail = verdict.steps_since_milestone
        self.distance = max(self.distance, self.tail)
        reached = [changed.milestone for changed in verdict.changes if changed.milestone is not None]
        self.segments += [one.segment for one in reached if one.evidence.verified and one.segment > 0]


@dataclass(slots=True)
class Said:
    """What a conversation says of its runs: outcome, task and class of task, on whatever span."""

    outcome: str = ""
    _by_run: dict[str, dict[str, str]] = field(default_factory=dict)

    def take(self, reading: Reading) -> None:
        """Note what one span says; of two words for one run the later stands."""
        self.outcome = reading.run_outcome or self.outcome
        told = {"outcome": reading.run_outcome, "task_id": reading.task_id, "task_class": reading.task_class}
        self._by_run.setdefault(reading.run_id, {}).update({name: text for name, text in told.items() if text})

    def of(self, run_id: str) -> dict[str, str]:
        """Return the fields said of a run: by its own spans, else by those that name no run.

        A run without an id takes what any span said.
        """
        others = list(self._by_run.values()) if not run_id else []
        return {
            name: text
            for told in (*others, self._by_run.get("", {}), self._by_run.get(run_id, {}))
            for name, text in told.items()
        }
