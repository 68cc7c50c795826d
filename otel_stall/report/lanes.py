"""A lane and its stalls in words, one line a thing; names are made safe, and nothing of a call is quoted."""

from __future__ import annotations

from collections.abc import Iterator

from otel_stall.findings import ConversationAnalysis
from otel_stall.report.numbers import counted
from otel_stall.report.printable import printable
from otel_stall.verdicts import InputTiers, Stall

__all__ = ["lane_name", "lane_title", "stall_body", "stall_title"]


def lane_name(lane: ConversationAnalysis) -> str:
    """Return what tells a lane from others of its conversation: its path of agents, or its agent; "" for none."""
    return lane.lane if _is_apart(lane) else lane.agent


def lane_title(lane: ConversationAnalysis) -> str:
    """Return a conversation with its lane, agent and service."""
    about = [f"lane {printable(lane.lane)}"] if _is_apart(lane) else []
    if lane.agent:
        about.append(f"agent {printable(lane.agent)}")
    if lane.service:
        about.append(f"service {printable(lane.service)}")
    return printable(lane.conversation) + (f" ({', '.join(about)})" if about else "")


def stall_title(lane: ConversationAnalysis, stall: Stall) -> str:
    """Return the kind of a stall and where it lies."""
    return f"{stall.kind.value}, steps {stall.first_step} to {stall.last_step} of {lane.steps}"


def stall_body(lane: ConversationAnalysis, stall: Stall) -> Iterator[str]:
    """Yield the levels and the end of a stall, its evidence, the milestone before it and the input-side rules."""
    levels = ", ".join(f"{level.value} at step {step}" for level, step in stall.levels)
    ended = f"ended by {stall.ended.value}" if stall.ended else "still open at the end"
    yield f"  {levels}; {ended}"
    yield from (f"  - {printable(entry)}" for entry in stall.evidence)
    yield f"  {_milestone(lane, stall)}"
    yield f"  input-side rules: {_tiers(stall.input_tiers)}"


def _is_apart(lane: ConversationAnalysis) -> bool:
    """Return whether the lane has to be told beside the conversation and the agent."""
    return lane.lane not in ("main", lane.agent)


def _milestone(lane: ConversationAnalysis, stall: Stall) -> str:
    before = [milestone for milestone in lane.verified if milestone.step <= stall.last_step]
    if not before:
        return "no verified milestone before it"
    last = before[-1]
    ago = counted(stall.last_step - last.step, "step")
    return f"last verified milestone: {printable(last.name)} at step {last.step}, {ago} before the last one"


def _tiers(tiers: InputTiers) -> str:
    fired = (("repeat", tiers.repeat), ("cycle", tiers.cycle), ("composite", tiers.composite))
    return ", ".join(f"{name} at step {step}" for name, step in fired if step is not None) or "silent"
