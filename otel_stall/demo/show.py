"""Shows the demo's run in the terminal, one line a step, and where each level was reached."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from opentelemetry.sdk.trace import ReadableSpan
from rich.console import Console
from rich.text import Text

from otel_stall.demo.agent import Seen

__all__ = ["Stage"]

_STYLES: Final[Mapping[str, str]] = {
    "milestone": "bold green",
    "verification": "green",
    "state": "cyan",
    "information": "blue",
    "none": "red",
    "neutral": "dim",
}
_LEVELS: Final[Mapping[str, str]] = {
    "notice": "bold black on yellow",
    "replan": "bold black on bright_yellow",
    "ask_user": "bold white on red",
    "abandon": "bold white on magenta",
}


class Stage:
    """Prints what it is told, slowly enough to follow unless `pause` is 0."""

    def __init__(self, console: Console, pause: float) -> None:
        self._console = console
        self._pause = pause

    def tell(self, seen: Seen) -> None:
        """Print a scene's heading, or one step with what it gained."""
        if seen.scene is not None:
            self._console.print(f"\n{seen.scene.heading}", style="bold")
            if seen.scene.compacted:
                self._console.print("     -- context compacted --", style="magenta")
        if seen.call is not None and seen.span is not None:
            self._step(seen.call.shown, seen.span)
            time.sleep(self._pause)

    def _step(self, shown: str, span: ReadableSpan) -> None:
        attributes = span.attributes or {}
        gain = str(attributes.get("stall.gain.type", "neutral"))
        line = Text(f"{attributes.get('stall.step', 0)!s:>4}  ")
        line.append(_cut(shown, 32).ljust(33))
        line.append(gain.ljust(13), style=_STYLES[gain])
        line.append(str(attributes.get("stall.gain.reason", "")).ljust(19), style="dim")
        line.append(f"{attributes.get('stall.steps_since_gain', 0):>3} dry", style="dim")
        self._console.print(line, no_wrap=True, overflow="ellipsis", crop=True)
        for event in span.events:
            self._event(event.name, event.attributes or {})

    def _event(self, name: str, attributes: Mapping[str, object]) -> None:
        if name in ("stall.started", "stall.escalated"):
            level = str(attributes.get("stall.level", ""))
            line = Text("      ")
            line.append(f" {attributes.get('stall.kind')}: {level} ", style=_LEVELS.get(level, "bold"))
            evidence = attributes.get("stall.evidence")
            if isinstance(evidence, tuple | list) and evidence:
                line.append(f"  {evidence[0]}")
            self._console.print(line)
        elif name == "stall.ended":
            self._console.print(f"       stall ended: {attributes.get('stall.end.reason')}", style="green")
        elif name == "stall.milestone_reached":
            self._console.print(f"       milestone: {attributes.get('stall.milestone.name')}", style="bold green")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
