"""What is kept when a run is given up: its milestones, where to go back to, and why it ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from pydantic import SecretStr

from otel_stall import attributes as names
from otel_stall.config import NO_KEY
from otel_stall.emission import Event, Severity, Value, bounded_text, fingerprint, stall_attributes, whose_attributes
from otel_stall.errors import StallError
from otel_stall.status import Status
from otel_stall.verdicts import Evidence, Level, Milestone, Stall

__all__ = ["Abandoned", "Abandonment", "abandonment_of"]

_SCHEMA: Final = 1
_REASON: Final = "abandoned"


@dataclass(frozen=True, slots=True)
class Abandonment:
    """The record of a run that was given up; `document()` and `json()` hold the same as plain values.

    `milestones` are the verified ones that stand, `lost` those whose check is red again, `declared` what the
    model said and nothing verified. `actions` are the rungs that acted before, with their steps. `text` says
    it to a person. Of calls and results it holds fingerprints alone, keyed where a key is set.
    """

    conversation: str
    lane: str
    agent: str
    run_id: str
    step: int
    stall: Stall
    milestones: tuple[Milestone, ...]
    lost: tuple[Milestone, ...]
    declared: tuple[Milestone, ...]
    milestone_count: int
    steps_since_milestone: int
    state_changes: int
    actions: tuple[tuple[Level, int], ...]
    text: str
    fingerprint_key: SecretStr = NO_KEY

    @property
    def return_to(self) -> Milestone | None:
        """The last milestone that stands, whose step and trace are those to go back to; None where none does."""
        return self.milestones[-1] if self.milestones else None

    def document(self) -> dict[str, object]:
        """Return the record as values of JSON. `outcome` is never a success."""
        back = self.return_to
        return {
            "schema": _SCHEMA,
            "outcome": _REASON,
            "reason": self.text,
            "conversation": self.conversation,
            "lane": self.lane,
            "agent": self.agent,
            "run_id": self.run_id,
            "step": self.step,
            "stall": {
                "kind": self.stall.kind.value,
                "first_step": self.stall.first_step,
                "levels": {level.value: step for level, step in self.stall.levels},
                "evidence": list(self.stall.evidence),
                "tokens": self.stall.tokens,
            },
            "actions": {level.value: step for level, step in self.actions},
            "counters": {
                "milestones": self.milestone_count,
                "steps_since_milestone": self.steps_since_milestone,
                "state_changes": self.state_changes,
            },
            "milestones": [self._plain(one) for one in self.milestones],
            "lost": [{**self._plain(one), "lost_at": one.lost_at} for one in self.lost],
            "declared": [self._plain(one) for one in self.declared],
            "return_to": {"step": back.step, "trace_id": back.trace_id} if back is not None else None,
        }

    def json(self) -> str:
        """Return the record as one line of JSON."""
        return json.dumps(self.document())

    def event(self) -> Event:
        """Return the event `stall.abandoned`."""
        kept = [bounded_text(f"step {one.step}: {one.name} ({one.evidence.value})") for one in self.milestones]
        written: dict[str, Value] = {
            **whose_attributes(self.conversation, self.agent),
            names.STEP: self.step,
            **stall_attributes(self.stall),
            names.END_REASON: _REASON,
            names.MILESTONE_COUNT: self.milestone_count,
            names.KEPT_MILESTONES: kept,
        }
        if (back := self.return_to) is not None:
            written |= {names.RETURN_STEP: back.step, names.RETURN_TRACE: back.trace_id}
        return Event(names.EVENT_ABANDONED, Severity.WARN, written)

    def _plain(self, one: Milestone) -> dict[str, object]:
        digest, key = one.fingerprint, self.fingerprint_key.get_secret_value()
        return {
            "step": one.step,
            "name": one.name,
            "evidence": one.evidence.value,
            "fingerprint": fingerprint(digest, key) if digest is not None else None,
            "trace_id": one.trace_id,
        }


class Abandoned(StallError):  # noqa: N818 # it is no error of anybody's
    """The run was given up; raised by adapters that were told to, where a framework has no other way to end one."""

    def __init__(self, record: Abandonment) -> None:
        super().__init__(record.text)
        self.record = record


def abandonment_of(
    status: Status, stall: Stall, actions: tuple[tuple[Level, int], ...], text: str, key: SecretStr
) -> Abandonment:
    """Return the record of a lane that is given up now. Pure."""
    verified = [one for one in status.milestones if one.evidence is not Evidence.DECLARED]
    return Abandonment(
        conversation=status.conversation,
        lane=status.lane,
        agent=status.agent,
        run_id=status.run_id,
        step=status.step,
        stall=stall,
        milestones=tuple(one for one in verified if one.stands),
        lost=tuple(one for one in verified if not one.stands),
        declared=tuple(one for one in status.milestones if one.evidence is Evidence.DECLARED),
        milestone_count=status.milestone_count,
        steps_since_milestone=status.steps_since_milestone,
        state_changes=status.state_changes,
        actions=actions,
        text=text,
        fingerprint_key=key,
    )
