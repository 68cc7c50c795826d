"""Opens a report in a headless Chromium, and listens to all that it says."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

__all__ = ["Heard", "browser", "opened"]

_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass
class Heard:
    """What a page complained of, and the addresses that it asked for beside its own."""

    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def browser() -> Iterator[Browser]:
    """Give a Chromium: the one of `OTEL_STALL_CHROMIUM` or of the PATH, else the one that playwright installed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("OTEL_STALL_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(_QUIET))
        yield started
        started.close()


@contextmanager
def opened(
    started: Browser, path: Path, fragment: str = "", *, width: int = 1280, height: int = 900, scheme: str = "light"
) -> Iterator[tuple[Page, Heard]]:
    """Give the page once its timeline is drawn, or where it has none its table."""
    dark = scheme == "dark"
    context = started.new_context(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
    page, heard = context.new_page(), Heard()
    page.on("console", lambda said: heard.complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: heard.complaints.append(str(error)))
    page.on("request", lambda request: heard.requests.append(request.url))
    page.goto(f"{path.resolve().as_uri()}{fragment}")
    page.wait_for_selector("#rows table")
    page.wait_for_selector("#conversation .timeline canvas, #conversation p")
    yield page, heard
    heard.requests = [url for url in heard.requests if not url.startswith(path.resolve().as_uri())]
    context.close()
