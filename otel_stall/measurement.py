"""Which kind of stall dominates a body of traces: shares of runs, steps and tokens, with intervals.

What these traces cannot show is no figure at all, and its reason is told instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from otel_stall.findings import ConversationAnalysis
from otel_stall.intervals import Proportion, clustered, wilson
from otel_stall.verdicts import Kind, Stall

__all__ = ["FEW", "KindShare", "Measurement", "measure"]

FEW: Final = 20
"""Conversations below which an interval says little: Wilson's reaches a fifth to either side of one half."""

_Group = Sequence[ConversationAnalysis]


@dataclass(frozen=True, slots=True)
class KindShare:
    """How much of the traces lies in stalls, of one kind or of any.

    `conversations` have such a stall, `steps` and `tokens` lie inside one; a step inside two stalls counts
    for the earlier. `silent`: conversations with such stalls in which no input-side rule would have fired
    in any of them. `of_stalled`: stalled steps that are of this kind. None is what these traces cannot tell.
    """

    conversations: Proportion
    steps: Proportion
    tokens: Proportion | None
    silent: Proportion | None
    of_stalled: Proportion | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """The measurement over one body of traces; a conversation counts once, whatever lanes and runs it has.

    `kinds` holds None for a kind these traces cannot show; amnesia is a share of the conversations with a
    compaction. `dominant` has surely more than half of the stalled steps, None where no kind has. `few`: too few
    conversations for intervals that say much. `unfinished` are those that failed or ended inside a stall,
    of which `advanced` had reached a verified milestone. `counted` conversations carry token counts, and shares of
    tokens are those of them. `unmeasurable` says why, figure by figure.
    """

    conversations: int
    few: bool
    any: KindShare
    kinds: Mapping[Kind, KindShare | None]
    dominant: Kind | None
    counted: int
    advanced: Proportion | None
    unmeasurable: Mapping[str, str]


def measure(lanes: Sequence[ConversationAnalysis]) -> Measurement:
    """Return the measurement over these lanes. Pure: their order makes no difference."""
    by_conversation: dict[str, list[ConversationAnalysis]] = {}
    for lane in lanes:
        by_conversation.setdefault(lane.conversation, []).append(lane)
    groups = list(by_conversation.values())
    reasons = dict(_unmeasurable(lanes))
    kinds = {kind: None if kind.value in reasons else _kind(kind, groups, reasons) for kind in Kind}
    stalled = sum(_has(group, _of_any) for group in groups)
    return Measurement(
        conversations=len(groups),
        few=len(groups) < FEW,
        any=_share(groups, _of_any, reasons),
        kinds=kinds,
        dominant=_dominant(kinds) if stalled >= FEW else None,
        counted=sum(any(lane.tokens is not None for lane in group) for group in groups),
        advanced=None if "partial_progress" in reasons else _advanced(groups),
        unmeasurable=reasons,
    )


def _unmeasurable(lanes: Sequence[ConversationAnalysis]) -> Iterator[tuple[str, str]]:
    """Yield each figure that these traces cannot show, and why."""
    steps = sum(lane.steps for lane in lanes)
    results = sum(lane.results for lane in lanes)
    arguments = sum(lane.arguments for lane in lanes)
    if not any(lane.compactions for lane in lanes):
        yield Kind.AMNESIA.value, "no compaction signal in these traces"
    if steps and not results:
        yield Kind.NO_GRADIENT.value, "no result was captured"
    if steps and not arguments:
        yield Kind.LOOP.value, "no arguments were captured"
        yield "input_tiers", "no arguments were captured"
    if all(lane.tokens is None for lane in lanes):
        yield "tokens", "no token counts in these traces"
    if steps and not results and not any(lane.verified for lane in lanes):
        yield "partial_progress", "no result was captured and the host names no milestone"


def _of_any(stall: Stall) -> bool:
    return stall.kind in Kind


def _has(group: _Group, belongs: Callable[[Stall], bool]) -> bool:
    return any(belongs(stall) for lane in group for stall in lane.stalls)


def _kind(kind: Kind, groups: Sequence[_Group], reasons: Mapping[str, str]) -> KindShare:
    def belongs(stall: Stall) -> bool:
        return stall.kind is kind

    compacted = [group for group in groups if any(lane.compactions for lane in group)]
    share = _share(compacted if kind is Kind.AMNESIA else groups, belongs, reasons)
    stalled = [(_inside(group, belongs), sum(lane.stalled_steps for lane in group)) for group in groups]
    return replace(share, of_stalled=clustered(stalled))


def _share(groups: Sequence[_Group], belongs: Callable[[Stall], bool], reasons: Mapping[str, str]) -> KindShare:
    having = [group for group in groups if _has(group, belongs)]
    steps = [(_inside(group, belongs), sum(lane.steps for lane in group)) for group in groups]
    unseen = sum(_all_silent(group, belongs) for group in having)
    return KindShare(
        conversations=wilson(len(having), len(groups)),
        steps=clustered(steps),
        tokens=None if "tokens" in reasons else clustered([_tokens(group, belongs) for group in groups]),
        silent=None if "input_tiers" in reasons else wilson(unseen, len(having)),
    )


def _inside(group: _Group, belongs: Callable[[Stall], bool]) -> int:
    """Return the steps inside the stalls that belong, each step given to the first stall around it."""
    given: dict[tuple[str, int], Stall] = {}
    for lane in group:
        for stall in lane.stalls:
            for step in range(stall.first_step, stall.last_step + 1):
                given.setdefault((lane.lane, step), stall)
    return sum(belongs(stall) for stall in given.values())


def _tokens(group: _Group, belongs: Callable[[Stall], bool]) -> tuple[int, int]:
    counted = [lane for lane in group if lane.tokens is not None]
    inside = sum(stall.tokens or 0 for lane in counted for stall in lane.stalls if belongs(stall))
    whole = sum(lane.tokens or 0 for lane in counted)
    return min(inside, whole), whole


def _all_silent(group: _Group, belongs: Callable[[Stall], bool]) -> bool:
    return all(stall.input_tiers.silent for lane in group for stall in lane.stalls if belongs(stall))


def _advanced(groups: Sequence[_Group]) -> Proportion:
    unfinished = [group for group in groups if any(lane.unfinished for lane in group)]
    return wilson(sum(any(lane.verified for lane in group) for group in unfinished), len(unfinished))


def _dominant(kinds: Mapping[Kind, KindShare | None]) -> Kind | None:
    for kind, share in kinds.items():
        part = share.of_stalled if share is not None else None
        if part is not None and part.low is not None and part.low > 0.5:
            return kind
    return None
