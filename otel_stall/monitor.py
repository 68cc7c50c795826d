"""`Monitor`, the only orchestrator: readings in, verdicts out. It holds no rule."""

from __future__ import annotations

from collections.abc import Sequence

from otel_stall.calls import Reading
from otel_stall.config import StallConfig
from otel_stall.verdicts import Judged

__all__ = ["Monitor"]


class Monitor:
    """Folds readings into verdicts, conversation by conversation."""

    def __init__(self, config: StallConfig | None = None) -> None:
        self.config = config or StallConfig()

    def observe(self, reading: Reading, conversation: str, lane: str, agent: str) -> Sequence[Judged]:
        """Return what the fold says of each observation this reading holds, in order.

        Called in end-time order (ties: start time, span id). `conversation`, `lane` and `agent` are what
        `lineage` found. Never raises on content.
        """
        raise NotImplementedError

    def rename(self, old: str, new: str) -> None:
        """Let what was counted under the provisional conversation `old` (a trace id) go on under `new`.

        Called at most once per `old`, before the first observation under `new` that follows from it; where
        `new` has steps of its own already they stay, and `old` is forgotten.
        """
        raise NotImplementedError
