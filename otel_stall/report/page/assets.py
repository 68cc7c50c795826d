"""Texts of the page that are the same for every report, and the policy that lets a browser run these alone."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

__all__ = ["Assets", "load"]

_SCRIPTS: Final = (
    "values.js",
    "elements.js",
    "theme.js",
    "overview.js",
    "addresses.js",
    "table.js",
    "timeline.js",
    "inspector.js",
    "conversation.js",
    "main.js",
)
"""Parts of the page's program, in an order in which each needs only those before it."""


@dataclass(frozen=True, slots=True)
class Assets:
    """The style, the library that draws, the program, the body, and the content security policy of a page."""

    style: str
    library: str
    program: str
    body: str

    @property
    def policy(self) -> str:
        """Return the policy: the two scripts by their digests and nothing else; no address is ever opened."""
        scripts = " ".join(f"'sha256-{_digest(script)}'" for script in (self.library, self.program))
        return (
            f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:; "
            "base-uri 'none'; form-action 'none'"
        )


def load() -> Assets:
    """Return the assets that are part of the package."""
    folder = files(__package__)
    parts = "\n".join((folder / "assets" / name).read_text("utf-8") for name in _SCRIPTS)
    return Assets(
        style=(folder / "assets" / "page.css").read_text("utf-8"),
        library=(folder / "vendor" / "echarts.common.min.js").read_text("utf-8"),
        program=f'(() => {{\n"use strict";\n{parts}}})();\n',
        body=(folder / "assets" / "body.html").read_text("utf-8"),
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
