"""Text from traces made safe for a terminal: names and ids are the emitter's, and may hold anything."""

from __future__ import annotations

import unicodedata

__all__ = ["printable"]

LIMIT = 200
"""Characters of one piece of text that are shown."""

_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def printable(text: str, limit: int = LIMIT) -> str:
    """Return text on one line without control, format, surrogate and unassigned characters, cut at `limit`.

    Blanks of all kinds become spaces, so that no name can move the cursor, reorder or hide text.
    """
    cut = text[: limit + 1]
    safe = cut if cut.isascii() and cut.isprintable() else "".join(map(_safe, cut))
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"


def _safe(character: str) -> str:
    if character.isspace():
        return " "
    return "\N{REPLACEMENT CHARACTER}" if unicodedata.category(character) in _UNSAFE else character
