"""`Summary`: how one invocation of an agent fares, as its span says while it is open."""

from __future__ import annotations

from dataclasses import dataclass

from otel_stall import attributes as names
from otel_stall.verdicts import Judged, Kind, Level

__all__ = ["Summary"]


@dataclass(frozen=True, slots=True)
class Summary:
    """Steps of one invocation, the verified milestones of its lane, and the worst stall it was in.

    `kind` is that of the last stall that reached `level`, the highest one; both are None where the
    invocation never stalled.
    """

    steps: int = 0
    milestones: int = 0
    kind: Kind | None = None
    level: Level | None = None

    def after(self, judged: Judged) -> Summary:
        """Return the summary after one more verdict."""
        verdict = judged.verdict
        steps, milestones = self.steps + int(verdict.counted), verdict.milestone_count
        stall = verdict.stall
        if stall is None or (self.level is not None and stall.level.rank < self.level.rank):
            return Summary(steps, milestones, self.kind, self.level)
        return Summary(steps, milestones, stall.kind, stall.level)

    def attributes(self) -> dict[str, str | int | bool]:
        """Return the attributes of the agent's span."""
        written: dict[str, str | int | bool] = {
            names.DETECTED: self.level is not None,
            names.MILESTONE_COUNT: self.milestones,
            names.STEPS: self.steps,
        }
        if self.kind is not None and self.level is not None:
            written |= {names.KIND: self.kind.value, names.LEVEL: self.level.value}
        return written
