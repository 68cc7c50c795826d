"""`TraceLink`: where a person finds the trace of a step, as a template for its address."""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from otel_stall.errors import ConfigError

__all__ = ["FIELDS", "TraceLink"]

FIELDS: Final = ("trace_id", "span_id", "conversation", "start_ms", "end_ms")
"""What stands in braces in a template. Times are those of the conversation, in milliseconds since 1970."""


@dataclass(frozen=True, slots=True)
class TraceLink:
    """A checked template, `http://localhost:16686/trace/{trace_id}?uiFind={span_id}` for Jaeger.

    Each value is percent-encoded when it is filled in. A literal brace is written twice.
    """

    template: str

    def __post_init__(self) -> None:
        """Raise `ConfigError` where the template gives no web address, or asks for what is not known."""
        try:
            fields = [field for _, field, *_ in string.Formatter().parse(self.template) if field is not None]
            address = urlsplit(self.template)
        except ValueError as error:
            raise ConfigError("trace-url", str(error)) from None
        if address.scheme not in ("http", "https") or not address.netloc:
            raise ConfigError("trace-url", "an address with http:// or https:// is needed")
        if unknown := sorted(set(fields) - set(FIELDS)):
            known = ", ".join(f"{{{field}}}" for field in FIELDS)
            raise ConfigError("trace-url", f"{{{unknown[0]}}} is not known; known are {known}")
        if "trace_id" not in fields:
            raise ConfigError("trace-url", "{trace_id} is missing")
        if "{" in address.netloc:
            raise ConfigError("trace-url", "the host must not hold a field")

    def parts(self) -> list[list[str]]:
        """Return the template as pairs of literal text and the field after it, "" after the last."""
        return [[literal, field or ""] for literal, field, *_ in string.Formatter().parse(self.template)]
