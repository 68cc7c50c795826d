"""Digests of calls and outcomes that are equal where a person would say "the same again".

All digests are 64-bit xxh3 integers: stable across processes and machines, so that a resumed process
and an offline replay agree. Equality of results: a result up to `MASKED_BYTES` is compared with its
volatile tokens masked, a larger one as it is, whole. Numbers are never masked as such: "12 failed" is
not "11 failed".
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence

from xxhash import xxh3_64_intdigest

from otel_stall.observations import Lines

__all__ = [
    "MASKED_BYTES",
    "canonical",
    "combine",
    "digest",
    "fold_error",
    "line_digests",
    "mask",
    "outcome",
    "outcome_digest",
    "trigrams",
    "unordered",
    "without_folders",
    "words",
]

MASKED_BYTES = 16_384
"""Results up to so many characters are masked and read line by line; larger ones are sampled."""

_SAMPLE = MASKED_BYTES // 2
_MAX_LINES = 2_000
_MAX_DEPTH = 48
_LONG_STRING = 16_384

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=repr)
_DESCRIPTIVE = frozenset(
    {"description", "explanation", "reason", "reasoning", "rationale", "intent", "purpose", "comment"}
    | {"thought_process", "justification", "activeform"}
)
"""Keys of free text beside the arguments proper, by which a model tells what it is about to do."""

# Every pattern starts with a literal or a digit and every quantifier is bounded: linear, and most of a text
# is skipped at the speed of a character search. A pattern with a literal runs only where it occurs.
_UNIT = r"(?:[numµ]s|s(?:ec(?:ond)?s?)?|min(?:ute)?s?|h(?:ou)?rs?)\b"
_KEYS = ("pid", "elapsed", "took", "duration", "attempt", "request", "req", "message", "msg", "timestamp", "ts")


def _keyed(key: str) -> re.Pattern[str]:
    """Return the pattern of a number or id that stands after a key."""
    return re.compile(
        rf"{key}(?<!\w{key})(?:[ _-]?(?:[Ii][Dd]|number|no))?[\"']?\s?[:=#]?\s?[\"']?#?"
        rf"[A-Za-z_-]{{0,12}}[0-9]{{1,20}}(?:\.[0-9]{{1,9}})?(?:\s?{_UNIT})?"
    )


_Pattern = tuple[str, re.Pattern[str]]
_VOLATILE: tuple[_Pattern, ...] = (
    ("\x1b", re.compile(r"\x1b\[[0-9;?]{0,16}[ -/]{0,2}[@-~]")),
    ("/tmp/tmp", re.compile(r"/tmp/tmp[\w.-]{1,40}")),
    ("/var/folders", re.compile(r"/var/folders/[\w/.+-]{1,80}")),
    ("pytest-", re.compile(r"pytest-(?<!\wpytest-)[0-9]{1,6}\b")),
)
_KEYED: tuple[tuple[str, tuple[_Pattern, ...]], ...] = tuple(
    (key, tuple((form, _keyed(form)) for form in (key, key.capitalize(), key.upper()))) for key in _KEYS
)
_UUID = re.compile(r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b")
_MAY_BE_UUID = re.compile(r"-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-")
# No two of the alternatives fit the same number, so that the most frequent one is tried first; and what follows a
# run of digits is never a digit, so that no quantifier over digits needs to give one back.
_NUMBERS = (
    r"[0-9](?<![\w.][0-9])(?:"
    rf"[0-9]{{0,8}}+(?:\.[0-9]{{1,9}}+)?+[\s\x1c-\x1f]?+{_UNIT}"
    r"|(?<!:[0-9])[0-9]?:[0-5][0-9](?::[0-6][0-9](?:[.,][0-9]{1,9})?)?(?![\w:])"
    r"|(?<=[12])[0-9]{3}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-5][0-9](?::[0-6][0-9](?:[.,][0-9]{1,9})?)?"
    r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
    r"|(?<=0)x[0-9a-fA-F]{1,16}\b"
    r"|(?<=1)[5-9][0-9]{8}(?:[0-9]{3}|\.[0-9]{1,9})?\b"
    r")"
)
_NUMBERS_IN_ASCII = re.compile(_NUMBERS, re.ASCII)
_NUMBERS_IN_ANY = re.compile(_NUMBERS)
_QUOTED = re.compile(r"'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`")
_NUMBER = re.compile(r"[0-9]+")
_FOLDERS = re.compile(r"(?:[\w.@~+-]{0,80}/){1,40}(?=[\w.])")
_WORD = re.compile(r"\w{1,64}")
_PREFIX = re.compile(
    r"\s{0,12}(?:[\w./~@+-]{0,200}\.\w{1,8}[:-](?:[0-9]{1,9}[:-])?(?:[0-9]{1,5}:)?|[0-9]{1,9}(?:→|->|[:|\t]|-(?=\s|\w)))\s?"
)


def digest(text: str | bytes) -> int:
    """Return the 64-bit digest of a text; lone surrogates are taken as they are."""
    if isinstance(text, str):
        return xxh3_64_intdigest(text.encode() if text.isascii() else text.encode("utf-8", "surrogatepass"))
    return xxh3_64_intdigest(text)


def combine(*parts: int | str | None) -> int:
    """Return one digest for a sequence of digests and names; order matters, None is a value of its own."""
    return digest("\x1f".join(["\x00" if part is None else str(part) for part in parts]))


def canonical(arguments: object) -> str:
    """Return the arguments in a form that is equal for calls a person would call the same.

    Keys are sorted; null, empty and false values and descriptive free text are dropped; runs of white
    space are one space, except in a text of several lines, where they mean something. Never raises.
    """
    try:
        return _ENCODER.encode(_canonical(arguments, 0))
    except (ValueError, TypeError, RecursionError):
        return f"{type(arguments).__name__}:{digest(_safe_repr(arguments))}"


def _canonical(value: object, depth: int) -> object:
    if isinstance(value, str):
        if len(value) > _LONG_STRING:
            return f"#{digest(value)}"
        return value.strip() if "\n" in value else " ".join(value.split())
    if isinstance(value, Mapping) and depth < _MAX_DEPTH:
        kept = ((str(key), _canonical(item, depth + 1)) for key, item in value.items())
        return {key: item for key, item in sorted(kept, key=_by_key) if _says_something(key, item)}
    if isinstance(value, Sequence) and not isinstance(value, bytes) and depth < _MAX_DEPTH:
        return [_canonical(item, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value if value is None or isinstance(value, bool | int | float) else f"#{digest(_safe_repr(value))}"


def _by_key(pair: tuple[str, object]) -> str:
    return pair[0]


def _says_something(key: str, value: object) -> bool:
    if key.lower() in _DESCRIPTIVE:
        return False
    return value is not None and value is not False and value != "" and value != [] and value != {}


def _safe_repr(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # a host's own type may raise anything here
        return type(value).__name__


def mask(text: str) -> str:
    """Return the text with volatile tokens (times, durations, ids, addresses, temporary paths) as `#`."""
    for word, pattern in _VOLATILE:
        if word in text:
            text = pattern.sub("#", text)
    low = text.lower()
    for key, forms in _KEYED:
        if key in low:
            for word, pattern in forms:
                if word in text:
                    text = pattern.sub("#", text)
    if text.count("-") >= 4 and _MAY_BE_UUID.search(text):
        text = _UUID.sub("#", text)
    return (_NUMBERS_IN_ASCII if text.isascii() else _NUMBERS_IN_ANY).sub("#", text)


def outcome_digest(text: str) -> int:
    """Return the digest by which two results are the same; white space around it does not count."""
    stripped = text.strip()
    return digest(mask(stripped) if len(stripped) <= MASKED_BYTES else stripped)


def line_digests(text: str) -> Lines:
    """Return the digests of the distinct lines of a result, masked, without blank ones."""
    return outcome(text)[1]


def outcome(text: str, exact: int | None = None) -> tuple[int, Lines]:
    """Return the digest by which two results are the same, and the digests of the result's lines.

    `exact` is the text's own digest where it is known.

    Lines are those of the masked text without a leading `path:12:`, `12|`, `12->` or the like: a line
    of a file is the same line whichever tool shows it. A long result is compared whole and unmasked,
    and its lines are read at both ends only (`sampled`).
    """
    stripped = text.strip()
    if len(stripped) <= MASKED_BYTES:
        masked = mask(stripped)
        return digest(masked), _lines(masked, sampled=False)
    ends = stripped[:_SAMPLE] + "\n" + stripped[-_SAMPLE:]
    whole = exact if exact is not None and len(stripped) == len(text) else digest(stripped)
    return whole, _lines(mask(ends), sampled=True)


def unordered(text: str) -> str:
    """Return what a search found without its order, which is no information: lines and their words sorted."""
    if len(text) > MASKED_BYTES:
        return text
    return "\n".join(sorted(" ".join(sorted(line.split())) for line in text.splitlines()))


def _lines(masked: str, *, sampled: bool) -> Lines:
    lines = [line for line in masked.splitlines() if line and not line.isspace()]
    match = _PREFIX.match
    bare = [
        (line[prefix.end() :] if (prefix := match(line)) is not None else line).strip() for line in lines[:_MAX_LINES]
    ]
    said = filter(None, bare)
    digests = map(xxh3_64_intdigest, map(str.encode, said)) if masked.isascii() else map(digest, said)
    return Lines(tuple(dict.fromkeys(digests)), len(lines), sampled)


def without_folders(line: str) -> str:
    """Return a line with its paths cut to the file's name: the same file, wherever it was called from."""
    return _FOLDERS.sub("", line) if "/" in line else line


def fold_error(line: str) -> int:
    """Return the class of an error line: quoted parts, folders and digits folded, case ignored."""
    bare = _QUOTED.sub("''", without_folders(mask(line[:400])))
    return digest(_NUMBER.sub("0", bare).lower().strip())


def words(text: str, limit: int = 400) -> list[str]:
    """Return the lower-case words of a text, at most `limit`."""
    found = []
    for match in _WORD.finditer(text[:MASKED_BYTES]):
        found.append(match.group().lower())
        if len(found) == limit:
            break
    return found


def trigrams(tokens: Iterable[str]) -> frozenset[int]:
    """Return digests of the word trigrams of a text; a text of fewer words gives its words."""
    listed = list(tokens)
    if len(listed) < 3:
        return frozenset(digest(word) for word in listed)
    return frozenset(digest(" ".join(listed[i : i + 3])) for i in range(len(listed) - 2))
