"""What a test, build, lint or type check reported: green or red, how many failures, which ones."""

from __future__ import annotations

import re

from otel_stall.fingerprints import combine, digest, mask, without_folders
from otel_stall.observations import CheckOutcome

__all__ = ["check_outcome"]

_TAIL = 6_000
_COUNT = re.compile(
    r"\b([0-9]{1,7}) (?:tests? |specs? |checks? |suites? )?(failed|failing|failures?|errors?|problems?|warnings?)\b"
    r"|\b(?:failures|errors|failed|fail|warnings)[=:] ?([0-9]{1,7})\b",
    re.IGNORECASE,
)
_FAILING = re.compile(
    r"\bfail(?:ed|ing|s|ure)?\b|\berror\b|\berror\[|✗|✖|✘|\bnot ok\b|\bpanicked\b|assertion|\bundefined\b|"
    r"\b\w{2,40}(?:error|exception)\b",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"\bpass(?:ed|ing|es)?\b|(?<!not )\bok\b|\bsuccess(?:ful(?:ly)?)?\b|\ball good\b|\bno (?:issues|errors|problems)\b|"
    r"\b0 (?:errors?|failures?|problems?|warnings?)\b|\bgreen\b|\bbuild succeeded\b|\bfinished\b|\bclean\b",
    re.IGNORECASE,
)
_LOCATION = re.compile(r":[0-9]{1,7}(?::[0-9]{1,5})?(?::|\b)")
_DIGITS = re.compile(r"[0-9]{1,12}")
_MAX_LINES = 60
_SILENT = frozenset({"gcc", "g++", "cc", "clang", "rustc", "javac", "tsc"})
"""Checks with no word for success: what they print without a failing word is the program they built."""


def check_outcome(identity: str, text: str, *, failed: bool, exit_code: int | None) -> CheckOutcome | None:
    """Return what a check reported, or None where its text and exit code do not tell green from red.

    The message is a digest of the failing lines. Counts in them are folded where the check counts its
    failures (the count is compared by itself), and kept where it does not: "assertion 3 of 12" moves. Line
    numbers after a path are left out: an edit above moves them.
    """
    tail = text[-_TAIL:]
    failing = _failing_count(tail)
    green = _is_green(tail, failing, failed=failed, exit_code=exit_code)
    if green is None and identity.split(" ", 1)[0] not in _SILENT:
        return None
    green = green is not False
    return CheckOutcome(digest(identity), green, 0 if green else failing, _message(tail, failing))


def _failing_count(tail: str) -> int | None:
    """Return the number of failures the check counts; the last line that counts decides."""
    for line in reversed(tail.splitlines()[-200:]):
        counts = [(int(a or c), (b or "fail").lower()) for a, b, c in _COUNT.findall(line[:400])]
        if hard := [count for count, what in counts if not what.startswith("warn")]:
            return sum(hard)
        if counts:
            return sum(count for count, _ in counts)
    return None


def _is_green(tail: str, failing: int | None, *, failed: bool, exit_code: int | None) -> bool | None:
    if failing:
        return False
    if exit_code is not None:
        return exit_code == 0
    if failed:
        return False
    if failing == 0 or _PASSING.search(tail):
        return True
    if _FAILING.search(tail):
        return False
    return None if tail.strip() else True


def _message(tail: str, failing: int | None) -> int:
    lines = [line.strip()[:400] for line in tail.splitlines() if _FAILING.search(line[:400])]
    lines = lines[-_MAX_LINES:] or [line.strip()[:400] for line in tail.splitlines() if line.strip()][-1:]
    masked = (_LOCATION.sub(":", without_folders(mask(line))) for line in lines)
    folded = sorted({_DIGITS.sub("0", line) if failing is not None else line for line in masked})
    return combine(*folded)
