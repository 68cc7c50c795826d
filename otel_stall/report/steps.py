"""The steps of a lane one by one: what was called, with which outcome, what it gained and why; no contents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from otel_stall.findings import StepDetail
from otel_stall.observations import Effect
from otel_stall.reasons import SENTENCES
from otel_stall.report.cells import Screen, left, right, wrapped
from otel_stall.report.json import token
from otel_stall.report.printable import printable

__all__ = ["sentence", "step_lines"]

_TOOL: Final = 24
_EFFECT: Final = max(len(effect) for effect in Effect)
_OUTCOME: Final = 8
_FINGERPRINT: Final = 16
_FIXED: Final = _EFFECT + _OUTCOME + 2 * _FINGERPRINT + 5
_ONE_LINE: Final = 150
"""Columns from which the reason stands beside the step, not below it."""


def sentence(reason: str) -> str:
    """Return a reason in words."""
    return SENTENCES.get(reason, reason)


def step_lines(details: Sequence[StepDetail], screen: Screen, key: str = "") -> Iterator[str]:
    """Yield a heading and the steps; `key` keys the fingerprints, so that they are those written on spans.

    A fingerprint that is not known, because the content is not, is "-".
    """
    number = max((len(str(detail.step)) for detail in details), default=0)
    number = max(number, len("step"))
    tool = min(_TOOL, max((len("tool"), *(len(printable(detail.tool, _TOOL)) for detail in details))))
    if screen.width is not None:
        tool = max(min(tool, screen.width - _FIXED - number), 4)
    one_line = screen.width is None or screen.width >= _ONE_LINE
    names = _columns(("step", "tool", "effect", "outcome", "call", "result"), number, tool)
    heading = f"{names}  gain and reason" if one_line else names
    yield from (screen.styled(line, "bold") for line in wrapped(heading.rstrip(), screen.width))
    for detail in details:
        about = _columns(_cells(detail, key), number, tool)
        why = f"{detail.gain.value}: {sentence(detail.reason)}"
        if one_line:
            yield f"{about}  {why}"
            continue
        yield from wrapped(about.rstrip(), screen.width, number + 1)
        yield from wrapped(" " * (number + 1) + why, screen.width, number + 1)


def _cells(detail: StepDetail, key: str) -> tuple[str, ...]:
    prints = (detail.call_fingerprint, detail.outcome_fingerprint)
    shown = (token(digest, key) or "-" for digest in prints)
    return str(detail.step), printable(detail.tool, _TOOL), detail.effect.value, _outcome(detail), *shown


def _outcome(detail: StepDetail) -> str:
    if detail.exit_code is not None:
        return f"exit {detail.exit_code}"
    return "failed" if detail.failed else "ok"


def _columns(cells: Sequence[str], number: int, tool: int) -> str:
    first, *rest = cells
    widths = (tool, _EFFECT, _OUTCOME, _FINGERPRINT, _FINGERPRINT)
    return " ".join([right(first, number), *(left(text, width) for text, width in zip(rest, widths, strict=True))])
