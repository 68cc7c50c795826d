"""Who may ask: bearer tokens, compared in constant time."""

from __future__ import annotations

from hmac import compare_digest

__all__ = ["allowed"]

_SCHEME = "bearer "


def allowed(tokens: tuple[str, ...], authorization: str | None) -> bool:
    """Return whether an Authorization header carries one of the tokens; where there are none, anybody may ask."""
    if not tokens:
        return True
    given = authorization or ""
    if given[: len(_SCHEME)].lower() != _SCHEME:
        return False
    sent = given[len(_SCHEME) :].strip().encode("utf-8", "surrogatepass")
    # Every token is compared, so that the time taken tells nothing of which came close.
    return bool(sum(compare_digest(sent, token.encode()) for token in tokens))
