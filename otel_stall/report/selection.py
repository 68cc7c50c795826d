"""Which conversation is meant: ids are shown shortened, and what is shown, or any unique beginning, finds one."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Final

from rich.cells import cell_len

from otel_stall.errors import SelectionError
from otel_stall.report.cells import fitted
from otel_stall.report.printable import printable

__all__ = ["LEAST", "chosen", "one_of", "shortened"]

LEAST: Final = 8
"""Characters of an id that are shown however few tell it from the others."""

_NAMED: Final = 10
_COMPARED: Final = 2_000
_GAP: Final = "…"


def one_of(text: str) -> Callable[[Sequence[str]], set[str]]:
    """Return what picks the one conversation that `text` means out of their ids; it may raise `SelectionError`."""
    return lambda ids: {chosen(text, ids)}


def chosen(text: str, ids: Sequence[str]) -> str:
    """Return the id that a text means: the whole of it, a beginning that no other has, or what a report shows.

    Ids count as they are and as a report prints them; "…" inside of the text stands for anything. Raises
    SelectionError, which names those that could be meant, where it is none or several.
    """
    for means in (_is_whole, _begins, _encloses):
        if found := [id_ for id_ in ids if means(text, id_) or means(text, printable(id_))]:
            if len(found) == 1:
                return found[0]
            raise SelectionError(f"{printable(text)!r} means {len(found)} conversations: {_named(found)}")
    if not ids:
        raise SelectionError(f"no conversation {printable(text)!r}: these traces have none")
    raise SelectionError(f"no conversation {printable(text)!r}; there is {_named(_like(text, ids))}")


def _is_whole(text: str, id_: str) -> bool:
    return text == id_


def _begins(text: str, id_: str) -> bool:
    return id_.startswith(text)


def _encloses(text: str, id_: str) -> bool:
    head, gap, tail = text.partition(_GAP)
    return bool(gap) and len(id_) >= len(head) + len(tail) and id_.startswith(head) and id_.endswith(tail)


def _like(text: str, ids: Sequence[str]) -> list[str]:
    """Return the ids, those first that resemble the text."""
    inside = [id_ for id_ in ids if text in id_]
    close = difflib.get_close_matches(text, ids[:_COMPARED], n=_NAMED, cutoff=0.5)
    return list(dict.fromkeys([*inside, *close, *ids]))


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _NAMED:,} more" if len(ids) > _NAMED else ""
    return ", ".join(printable(id_) for id_ in islice(ids, _NAMED)) + more


def shortened(ids: Iterable[str], width: int) -> dict[str, str]:
    """Return each id as it is shown in `width` columns; `chosen` finds it by that wherever the width allows.

    The whole where all fit, else a beginning of at least `LEAST` characters that no other id has, or where
    that is too long both ends of it.
    """
    shown = {id_: printable(id_) for id_ in ids}
    if all(cell_len(text) <= width for text in shown.values()):
        return shown
    beginnings = dict(_beginnings(sorted(set(shown.values()))))
    return {id_: _within(beginnings[text], text, width) for id_, text in shown.items()}


def _beginnings(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each text with the beginning that tells it from its neighbours in order, and so from all."""
    common = [0, *(_common(*pair) for pair in pairwise(texts)), 0]
    for text, (before, after) in zip(texts, pairwise(common), strict=True):
        yield text, text[: max(LEAST, before + 1, after + 1)]


def _common(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    differing = (index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))


def _within(beginning: str, text: str, width: int) -> str:
    for whole in (text, beginning):
        if cell_len(whole) <= width:
            return whole
    head = fitted(text, max(width // 3, 1))
    tail = text[len(text) - max(width - cell_len(head), 0) :]
    while tail and cell_len(head + tail) > width:
        tail = tail[1:]
    return head + tail
