"""Times as products export them, to nanoseconds since the epoch."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from otel_stall.otlp.values import number

__all__ = ["duration_ns", "iso_ns", "time_ns"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_NS = (1 << 64) - 1  # what OTLP can hold
# A number of seconds below 1e11 is before the year 5138; the same in milliseconds, and so on.
_SCALES = ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3))
_DURATION = re.compile(
    r"P(?:(\d{1,6}(?:\.\d{1,9})?)D)?(?:T(?:(\d{1,9}(?:\.\d{1,9})?)H)?(?:(\d{1,9}(?:\.\d{1,9})?)M)?"
    r"(?:(\d{1,12}(?:\.\d{1,9})?)S)?)?\Z"
)
_UNITS = (86_400, 3_600, 60, 1)


def iso_ns(value: object) -> int:
    """Return an ISO 8601 time, UTC where it names no zone; 0 where it is none."""
    try:
        time = datetime.fromisoformat(value.strip())  # type: ignore[attr-defined]  # anything else raises
        since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
    except (AttributeError, TypeError, ValueError, OverflowError):
        return 0
    return max(((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1_000, 0)


def time_ns(value: object) -> int:
    """Return a time given as ISO 8601 or as a number of seconds, ms, µs or ns, told by its size; 0 for none."""
    if isinstance(value, bool) or (isinstance(value, str) and not value.strip().isdigit()):
        return iso_ns(value)
    count = number(value)
    for below, scale in _SCALES:
        if 0 < count < below:
            exact = isinstance(value, float) and not value.is_integer()
            return int(value * scale) if exact and isinstance(value, float) else count * scale
    return min(max(count, 0), _MAX_NS)


def duration_ns(value: object) -> int:
    """Return an ISO 8601 duration such as PT1M2.5S, or a number of ns; 0 where it is none."""
    if not isinstance(value, str):
        return min(max(number(value), 0), _MAX_NS)
    found = _DURATION.match(value.strip())
    parts = found.groups() if found else ()
    return sum(round(float(part) * 1_000_000) * 1_000 * unit for part, unit in zip(parts, _UNITS, strict=False) if part)
