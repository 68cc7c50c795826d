"""What the decision about a stall is made from: recent steps, counters, and the triggers over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from otel_stall.counters import Counters
from otel_stall.loops import InputSide, LoopRun
from otel_stall.observations import Effect
from otel_stall.reasons import Reason
from otel_stall.values import unguarded

__all__ = ["RECENT", "Entry", "Scene", "Trigger"]

RECENT = 64
"""Steps whose entries are kept: the longest streak that kind and evidence are read from."""


class Trigger(StrEnum):
    """Why a stall is open."""

    DRY = "dry"
    FLAT = "flat"
    THIN = "thin"
    LOOP = "loop"
    BLIND = "blind"
    AMNESIA = "amnesia"
    COMPACTIONS = "compactions"
    WASTE = "waste"
    AFTER_DONE = "after_done"


@unguarded
@dataclass(frozen=True, slots=True)
class Entry:
    """What kind and evidence need of a recent step."""

    step: int
    command: str
    reason: Reason
    call: int | None
    repeated: bool
    mutates: bool
    waits: bool
    reacquired: bool
    tokens: int | None
    effect: Effect = Effect.OTHER


@unguarded
@dataclass(frozen=True, slots=True)
class Scene:
    """All that the decision about a stall is made from, after one observation."""

    counters: Counters
    loop: LoopRun
    inputs: InputSide
    recent: Sequence[Entry]
    epoch: int
    tokens: int | None
    partial: bool
    milestone: bool
    stall_count: int
    distance_limit: int
    host_sign: str = ""
