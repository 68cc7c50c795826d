"""Where conversations stand, as a running gateway tells it, for a person or as its JSON."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, urlopen

from otel_stall.errors import UNREADABLE, NoAnswerError
from otel_stall.report.numbers import counted
from otel_stall.report.printable import printable

__all__ = ["Answer", "asked"]

_SECONDS: Final = 5.0
_WIDTH: Final = 36
_MOST_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Answer:
    """What the gateway said."""

    document: Mapping[str, Any]

    def json(self) -> str:
        """Return it as it came."""
        return json.dumps(self.document, indent=2) + "\n"

    def text(self) -> str:
        """Return a line for each lane, and below one that stalls the evidence and what to do.

        Raises NoAnswerError where the document is none of a gateway's.
        """
        try:
            lanes = self.document.get("conversations") or []
            lines = [line for lane in lanes for line in _lane(lane)]
            if more := self.document.get("more"):
                lines.append(f"and {int(more)} more")
        except UNREADABLE:
            raise NoAnswerError("what answered is no gateway, or one of another release") from None
        return "\n".join(lines or ["no conversation"]) + "\n"


def asked(admin: str, conversation: str | None, *, stalled: bool = False, token_file: Path | None = None) -> Answer:
    """Return what the admin endpoint says of a conversation, or of the latest ones.

    Raises NoAnswerError where it cannot be reached, refuses, or knows no such conversation.
    """
    if urlsplit(admin).scheme not in ("http", "https"):
        raise NoAnswerError("the admin endpoint is a URL, http://host:port")
    query = f"?{urlencode({'stalled': 'true'})}" if stalled else ""
    path = f"/{quote(conversation, safe='')}" if conversation is not None else query
    try:
        headers = _authorization(token_file)
        with urlopen(Request(f"{admin.rstrip('/')}/conversations{path}", headers=headers), timeout=_SECONDS) as answer:
            return Answer(_document(answer.read(_MOST_BYTES + 1)))
    except HTTPError as error:
        with error:
            raise NoAnswerError(_refusal(error)) from None
    except (URLError, OSError, HTTPException, ValueError, RecursionError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise NoAnswerError(f"{admin} does not answer: {reason}") from None


def _document(body: bytes) -> Mapping[str, Any]:
    if len(body) > _MOST_BYTES:
        raise ValueError
    document = json.loads(body)
    if not isinstance(document, dict):
        raise ValueError
    return document


def _authorization(token_file: Path | None) -> dict[str, str]:
    tokens = token_file.read_text(encoding="utf-8").split() if token_file is not None else []
    return {"authorization": f"Bearer {tokens[0]}"} if tokens else {}


def _refusal(error: HTTPError) -> str:
    try:
        return printable(str(json.load(error)["error"]))
    except (ValueError, KeyError, TypeError, ssl.SSLError):
        return f"the gateway answered {error.code}"


def _lane(lane: Mapping[str, Any]) -> Iterator[str]:
    counters, stall = lane["counters"], lane["stall"]
    name = printable(f"{lane['id']} {lane['lane']}" if lane["lane"] != "main" else str(lane["id"]), _WIDTH)
    gain, milestone = int(counters["steps_since_gain"]), int(counters["steps_since_milestone"])
    since = f"{gain} since a gain, {milestone} since a milestone"
    state = printable(f"{stall['kind']} at {stall['level']}") if stall is not None else "going on"
    yield f"{name:{_WIDTH}}  {state:24}  {counted(int(lane['steps']), 'step')}, {since}"
    if stall is None:
        return
    yield f"    since step {int(stall['first_step'])}, noticed at step {int(stall['detected_step'])}"
    yield from (f"    {printable(str(entry))}" for entry in stall["evidence"])
    yield f"    {printable(str(stall['advice']))}"
