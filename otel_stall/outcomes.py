"""What a result says: its text, whether it is a failure, an exit code, nothing at all, or "still running".

Telemetry often calls a failed edit a success and a failed command a result; the text decides where the
span does not. Only the first and last few hundred characters are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice

from otel_stall.fingerprints import canonical

__all__ = [
    "error_line",
    "exit_code_in",
    "is_acknowledgement",
    "is_empty",
    "is_missing",
    "is_refusal",
    "is_unchanged",
    "result_text",
    "says_absent",
    "says_failed",
    "says_running",
]

_HEAD = 400
_TAIL = 600
_RECEIPT = 60
_FEW = 3
"""Lines of a result that can be nothing but a failure."""
_MAX_DEPTH = 16
_TEXT_KEYS = ("stdout", "output", "stderr", "text", "content", "result", "message", "error")
_FIELDS = frozenset({*_TEXT_KEYS, "exit_code", "returncode", "status"})


class _Phrases:
    """A pattern that is tried only where one of its words occurs: most texts hold none of them."""

    def __init__(self, words: str, pattern: str) -> None:
        self._words = tuple(words.split("|"))
        self._pattern = re.compile(pattern, re.IGNORECASE)

    def search(self, text: str) -> re.Match[str] | None:
        low = text.lower()
        for word in self._words:
            if word in low:
                return self._pattern.search(text)
        return None


_EXIT_CODE = _Phrases(
    "exit|returncode",
    r"(?:\[?exit code:? ?|exited with (?:code |status )|<returncode>|returned non-zero exit status |"
    r"exit status:? ?|\(exit code |Process exited with code )(-?[0-9]{1,10})",
)
_FAILED_HEAD = re.compile(
    r"\s{0,20}(?:<[a-z_]{1,30}>\s{0,4})?[\"'\[{(]{0,3}"
    r"(?:\w{0,40}error\b(?![.\w-]{0,40}\.\w)|errors?:|<[a-z_]{0,30}error>|err:|traceback \(most|exception\b|"
    r"fatal:|panic:|failed\b|failure\b|unable to|cannot |can't |could not |invalid\b|no such |unknown tool|"
    r"unauthori[sz]ed|forbidden|access denied|permission denied|not found|404\b|403\b|401\b|500\b|502\b|503\b|"
    r"504\b|http (?:error )?[45][0-9]{2}|request failed|rejected|denied|refused|timed? ?out\b|"
    r"inputvalidationerror|usage error)",
    re.IGNORECASE,
)
_FAILED_ANYWHERE = _Phrases(
    "replacement|verbatim|not found|exist|no changes|been read|is not a valid|find the|unique|"
    "multiple occ|not apply|hunk|patch failed|no match",
    r"no replacement was performed|did not appear verbatim|string to replace not found|file does not exist|"
    r"no changes were made|has not been read yet|old_string not found|no match(?:es)? found for the search block|"
    r"is not a valid|does not exist|could not find the (?:text|string)|text not found|search text not found|"
    r"must be unique|multiple occurrences|patch does not apply|hunk #?[0-9]{0,4} ?failed|patch failed",
)
_FAILED_LAST = re.compile(
    r"command not found|no such file or directory|permission denied|syntax error|modulenotfounderror|"
    r"not recognized as an internal|is a directory$|unexpected eof|: unmatched |segmentation fault|"
    r"^\w{2,40}(?:error|exception)\b|^error\b|^fatal:",
    re.IGNORECASE,
)
_REFUSAL = _Phrases(
    "exactly one|inputvalidation|always provide|format error|invalid tool|unexpected eof|"
    "unexpected token|missing required",
    r"exactly one action|inputvalidationerror|please always provide|format error|invalid tool call|"
    r"unexpected eof while looking for|syntax error near unexpected token|missing required (?:argument|parameter)",
)
_ABSENT = _Phrases(
    "tool|function",
    r"no such tool|unknown tool|tool (?:\S{1,80} )?(?:not found|does not exist|is not available|not registered)|"
    r"unknown function|no tool named",
)
_MISSING = _Phrases(
    "not found|no such file|no module|modulenotfound|not installed|not recognized",
    r"command not found|no such file or directory|no module named|modulenotfounderror|not installed|"
    r"is not recognized as an internal|executable file not found",
)
_UNCHANGED = _Phrases(
    "unchanged|no change|nothing to|already|up-to-date|up to date|newly installed|not modified|"
    "identical|same content|no effect",
    r"unchanged|no changes?\b|nothing to (?:do|apply|commit|change|update)|"
    r"already (?:exists|satisfied|up[ -]to[ -]date|installed|applied)|everything up-to-date|up to date|"
    r"0 newly installed|not modified|identical|same content|no effect\b",
)
_DONE_BEFORE = _Phrases(
    "nothing to|already|up-to-date|up to date|newly installed",
    r"nothing to (?:do|apply|commit|change|update)|already (?:satisfied|up[ -]to[ -]date|installed|applied)|"
    r"everything up-to-date|is up to date|0 newly installed",
)
_RUNNING = re.compile(
    r"\b(?:running|in[ _-]progress|pending|queued|not ready|waiting|still |building|processing|starting|scheduled)",
    re.IGNORECASE,
)
_EMPTY = re.compile(
    r"(?:\[\]|\{\}|null|none|"
    r"\(?no (?:\w{1,20} ){0,2}(?:match(?:es)?|results?|files?|output|content|data|entries|items|hits)"
    r"(?: (?:were )?found| for .{0,120})?\)?|(?:\w{1,20} ){0,3}not found(?: \w{1,20}){0,2}|"
    r"\(\w{1,20} completed with no output\)|0 (?:results?|matches|files|hits|items|rows)(?: found)?|"
    r"nothing found|found 0 (?:results?|matches|files)|empty(?: (?:set|list|result))?|"
    r"<output>\s{0,8}</output>|tool ran without output or errors|\(?no output\)?|\(?empty\)?)[.!]?",
    re.IGNORECASE,
)
_ACKNOWLEDGED = re.compile(
    r"(?:ok(?:ay)?|done|success(?:ful(?:ly)?)?|true|saved|updated|created|sent|noted|received|acknowledged|"
    r"command executed successfully)[.!]?",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[^\W_]")
_WRAPPING = re.compile(r"</?(?:output|stdout|stderr|result|returncode|output_head|output_tail)>|\[stdout\]|\[stderr\]")


def result_text(value: object, depth: int = 0) -> str:
    """Return a result as one text: a string as it is, a mapping by its usual text fields, else as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, Mapping) and depth < _MAX_DEPTH and _FIELDS.issuperset(map(str, value)):
        return "\n".join(result_text(value[key], depth + 1) for key in _TEXT_KEYS if _says(value.get(key)))
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=0, default=repr)
    except Exception:  # a host's own type may raise anything when it is shown
        return canonical(value)


def _says(field: object) -> bool:
    return field is not None and not (isinstance(field, str) and not field)


def exit_code_in(text: str) -> int | None:
    """Return the exit code that a result's text names at either end, None where it names none."""
    match = _EXIT_CODE.search(text[:_HEAD]) or _EXIT_CODE.search(text[-_TAIL:])
    return int(match.group(1)) if match else None


def says_failed(text: str, *, writes: bool) -> bool:
    """Return whether a result reads as a failure; of a write, a phrase of refusal anywhere near its start."""
    head = text[:_HEAD]
    if _FAILED_HEAD.match(head) or _REFUSAL.search(head) or _ABSENT.search(head):
        return True
    if writes and _FAILED_ANYWHERE.search(head):
        return True
    lines = list(islice(_speaking(text[-_TAIL:]), _FEW + 1))
    return len(lines) <= _FEW and bool(lines) and _FAILED_LAST.search(lines[-1][:_HEAD]) is not None


def error_line(text: str) -> str:
    """Return the line that names a failure: the last one that says something."""
    lines = _spoken(text[-_TAIL:])
    named = [line for line in lines if _FAILED_LAST.search(line[:_HEAD])]
    return (named or lines or [""])[-1]


def _spoken(text: str) -> list[str]:
    return list(_speaking(text))


def _speaking(text: str) -> Iterator[str]:
    """Yield the lines that hold a letter or a digit, without the tags that hosts put around output."""
    wrapped = "<" in text or "[std" in text
    for line in text.splitlines():
        bare = (_WRAPPING.sub("", line) if wrapped else line).strip()
        if _LETTER.search(bare):
            yield bare


def is_refusal(text: str) -> bool:
    """Return whether the host refused the call as malformed, or the shell could not parse it."""
    return _REFUSAL.search(text[:_HEAD]) is not None


def says_absent(text: str) -> bool:
    """Return whether the result says that the tool itself does not exist."""
    return len(text) < _HEAD and _ABSENT.search(text) is not None


def is_missing(text: str) -> bool:
    """Return whether a failure is that something is not there: a command, a module, a file."""
    return _MISSING.search(error_line(text)[:_HEAD]) is not None


def is_unchanged(text: str, *, shell: bool = False) -> bool:
    """Return whether the answer to a write says that nothing was written.

    What a shell prints is as much the output of what ran: there the last lines alone are read, for the few
    phrases with which tools say it.
    """
    if shell:
        tail = text[-_TAIL:]
        if "<" not in tail and "[std" not in tail and not _DONE_BEFORE.search(tail):
            return False  # no line says what the whole does not
        return any(_DONE_BEFORE.search(line) for line in _spoken(tail)[-2:])
    return len(text) < 2 * _HEAD and _UNCHANGED.search(text) is not None


def says_running(text: str) -> bool:
    """Return whether the answer to a wait or poll says that the awaited thing goes on."""
    return _RUNNING.search(text[:_HEAD]) is not None


def is_empty(text: str) -> bool:
    """Return whether the result says that there is nothing: no text, an empty list, "no matches"."""
    bare = _WRAPPING.sub("", text[:_HEAD]).strip() if len(text) < _HEAD else text
    return len(bare) < 160 and (not bare or _EMPTY.fullmatch(bare) is not None)


def is_acknowledgement(text: str) -> bool:
    """Return whether the result only says that the call was received."""
    if len(text) >= _HEAD and not (text[:_RECEIPT].isspace() or text[-_RECEIPT:].isspace()):
        return False  # a long text, before whatever is around it is taken off by a copy
    bare = text.strip()
    return len(bare) < _RECEIPT and _ACKNOWLEDGED.fullmatch(bare) is not None
