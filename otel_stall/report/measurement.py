"""The measurement in words, and as plain values for the JSON document."""

from __future__ import annotations

from collections.abc import Iterator

from otel_stall.intervals import Proportion
from otel_stall.measurement import FEW, KindShare, Measurement
from otel_stall.report.numbers import counted, part, percent
from otel_stall.verdicts import Kind

__all__ = ["HEADING", "document", "lines", "verdict"]

HEADING = "Which kind dominates?"


def lines(found: Measurement) -> Iterator[str]:
    """Yield the section's lines; nothing where there is no conversation, and shares only where they say something."""
    if not found.conversations:
        return
    for kind, share in found.kinds.items():
        if share is None:
            yield f"{kind.value}: not measurable, {found.unmeasurable[kind.value]}"
        elif share.conversations.count:
            yield f"{kind.value}: {_share(share, bare=found.few)}"
        else:
            where = " with a compaction" if kind is Kind.AMNESIA else ""
            yield f"{kind.value}: {_none(share.conversations, where, bare=found.few)}"
    if 0 < found.counted < found.conversations:
        conversations = counted(found.conversations, "conversation")
        yield f"tokens: counted in {found.counted} of {conversations}, shares are those of them"
    yield from _silence(found)
    yield from _progress(found)
    if found.few:
        yield (
            f"{counted(found.conversations, 'conversation')}: too few for shares that say anything, "
            f"they are shown from {FEW} on"
        )
    else:
        yield f"{verdict(found)}; brackets: share, 95% interval"


def _share(share: KindShare, *, bare: bool) -> str:
    parts = [part(share.conversations, "conversation", bare=bare), part(share.steps, "step", bare=bare)]
    if share.tokens is not None and share.tokens.of:
        parts.append(part(share.tokens, "token", bare=bare))
    return ", ".join(parts)


def _none(conversations: Proportion, where: str, *, bare: bool) -> str:
    bound = "" if bare or conversations.high is None else f" (95% bound: {percent(conversations.high)})"
    return f"none in {counted(conversations.of, 'conversation')}{where}{bound}"


def _silence(found: Measurement) -> Iterator[str]:
    silent = found.any.silent
    if silent is None:
        yield f"what input-side rules would have seen: not measurable, {found.unmeasurable['input_tiers']}"
    elif silent.of and not found.few:
        yield f"no input-side rule would have seen {part(silent, 'stalled conversation', bare=found.few)}"


def _progress(found: Measurement) -> Iterator[str]:
    if found.advanced is None:
        yield f"partial progress: not measurable, {found.unmeasurable['partial_progress']}"
    elif found.advanced.of:
        yield f"a verified milestone was reached by {part(found.advanced, 'unfinished run', bare=found.few)}"


def verdict(found: Measurement) -> str:
    """Return the answer to the heading: the kind that surely dominates, or why none can be named."""
    if found.any.conversations.count < FEW:
        stalled = counted(found.any.conversations.count, "stalled conversation")
        return f"{stalled}: too few to say which kind dominates, {FEW} are needed"
    share = found.kinds[found.dominant] if found.dominant else None
    if found.dominant is None or share is None or share.of_stalled is None:
        return "no kind has surely more than half of the stalled steps"
    return f"{found.dominant.value} dominates: {part(share.of_stalled, 'stalled step')}"


def document(found: Measurement) -> dict[str, object]:
    """Return the measurement as plain values; null is what these traces cannot tell, with its reason."""
    return {
        "conversations": found.conversations,
        "few": found.few,
        "with_tokens": found.counted,
        "dominant": found.dominant.value if found.dominant else None,
        "any": _kind(found.any),
        "kinds": {kind.value: None if share is None else _kind(share) for kind, share in found.kinds.items()},
        "partial_progress": _proportion(found.advanced),
        "not_measurable": dict(found.unmeasurable),
    }


def _kind(share: KindShare) -> dict[str, object]:
    return {
        "conversations": _proportion(share.conversations),
        "steps": _proportion(share.steps),
        "tokens": _proportion(share.tokens),
        "input_tiers_silent": _proportion(share.silent),
        **({} if share.of_stalled is None else {"of_stalled_steps": _proportion(share.of_stalled)}),
    }


def _proportion(proportion: Proportion | None) -> dict[str, object] | None:
    if proportion is None:
        return None
    return {
        "count": proportion.count,
        "of": proportion.of,
        "share": _rounded(proportion.share),
        "low": _rounded(proportion.low),
        "high": _rounded(proportion.high),
    }


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 4)
