"""Bodies of HTTP requests: size limits before and after decompression (OTLP specification 1.11, "Request size")."""

from __future__ import annotations

import zlib
from typing import Final

from otel_stall.errors import DecodeError

__all__ = ["ENCODINGS", "TooLargeError", "inflated"]

ENCODINGS: Final = ("", "identity", "gzip")
"""Content encodings that are taken."""
_PIECE: Final = 4_096
_GZIP: Final = 31  # zlib's word for a gzip header with the largest window


class TooLargeError(Exception):
    """A body is larger than the limit."""


def inflated(body: bytes, encoding: str, limit: int) -> bytes:
    """Return a body without its compression, of at most `limit` bytes.

    Raises TooLargeError beyond the limit, before more than that was unpacked, and DecodeError where the body is
    damaged or cut.
    """
    if len(body) > limit:
        raise TooLargeError
    return _gunzipped(body, limit) if encoding == "gzip" else body


def _gunzipped(body: bytes, limit: int) -> bytes:
    if not body:
        raise DecodeError("the gzip body is empty")
    # In pieces: zlib copies all that it was given and did not take at the end of each member, and there may be many.
    pieces = (body[at : at + _PIECE] for at in range(0, len(body), _PIECE))
    parts, room, member = [], limit, zlib.decompressobj(_GZIP)
    for piece in pieces:
        rest = piece
        while rest:
            if member.eof:
                member = zlib.decompressobj(_GZIP)
            try:
                part = member.decompress(rest, room + 1)
            except zlib.error:
                raise DecodeError("the body is no gzip") from None
            if len(part) > room:
                raise TooLargeError
            parts.append(part)
            room -= len(part)
            rest = member.unused_data
    if not member.eof:
        raise DecodeError("the gzip body is cut")
    return b"".join(parts)
