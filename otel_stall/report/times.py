"""Times of traces as a report writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

__all__ = ["moment"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def moment(ns: int) -> str | None:
    """Return nanoseconds since 1970 as ISO 8601 in UTC with milliseconds, None for 0 and what no calendar has."""
    if ns <= 0:
        return None
    try:
        at = _EPOCH + timedelta(milliseconds=ns // 1_000_000)
    except OverflowError:
        return None
    return at.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
