"""Numbers in words of a report."""

from __future__ import annotations

from otel_stall.intervals import Proportion

__all__ = ["brief", "counted", "part", "percent"]

_UNITS = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))


def percent(share: float) -> str:
    """Return a share in whole percent; a share that is not 0 is never shown as 0%."""
    return f"{share:.0%}" if share == 0 or share >= 0.01 else "less than 1%"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun in the right number."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def brief(count: int) -> str:
    """Return a count in at most six characters: as it is below 100,000, else in thousands, millions or billions."""
    if count < 100_000:
        return f"{count:,}" if count >= 10_000 else str(count)
    size, unit = next((size, unit) for size, unit in _UNITS if count >= size)
    tenths = count * 10 // size
    return f"{tenths / 10:.1f}{unit}" if tenths < 100 else f"{min(tenths // 10, 99_999)}{unit}"


def part(proportion: Proportion, noun: str, *, bare: bool = False) -> str:
    """Return "3 of 40 steps (8%, 3% to 20%)": counts, share and the bounds of its interval, `bare` the counts alone."""
    text = f"{proportion.count:,} of {counted(proportion.of, noun)}"
    if bare or proportion.share is None or proportion.low is None or proportion.high is None:
        return text
    return f"{text} ({percent(proportion.share)}, {percent(proportion.low)} to {percent(proportion.high)})"
