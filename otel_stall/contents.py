"""`ContentWatch`: says once, with the switch to set, that an instrumentation records no results."""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import Final

from otel_stall.calls import Capture
from otel_stall.dialects import content_switch
from otel_stall.observations import Step
from otel_stall.verdicts import Judged

__all__ = ["ContentWatch"]

_LOG = logging.getLogger("otel_stall")

_CONVERSATIONS: Final = 1_024
_SCOPES: Final = 64


class ContentWatch:
    """Watches whether the first `steps` tool calls of a conversation carry a result; 0 = never watches.

    What is not recorded cannot be compared, and most instrumentations leave it out by default. Bounded;
    the caller holds a lock or does without: the worst that can happen is that a line is logged twice.
    """

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._without: OrderedDict[str, int] = OrderedDict()
        self._said: set[str] = set()

    def saw(self, judged: Judged, scope: str) -> None:
        """Take note of one step that the instrumentation of this scope recorded."""
        step = judged.observation
        if not self._steps or not isinstance(step, Step) or not judged.verdict.counted or scope in self._said:
            return
        count = self._without.pop(judged.conversation, 0)
        first = judged.verdict.step <= self._steps
        # From its first result on a conversation is not watched any more; -1 says so.
        count = -1 if count < 0 or not first or step.result is not Capture.ABSENT else count + 1
        self._without[judged.conversation] = count
        if len(self._without) > _CONVERSATIONS:
            self._without.popitem(last=False)
        if count >= self._steps and len(self._said) < _SCOPES:
            self._said.add(scope)
            _LOG.warning("%s", _advice(scope, count, step.arguments is Capture.ABSENT))


def _advice(scope: str, count: int, no_arguments: bool) -> str:
    missing = "neither arguments nor results" if no_arguments else "no results"
    switch = content_switch(scope)
    todo = f"to record it: {switch}" if switch else "see its documentation for the option that records content"
    return (
        f"the first {count} tool calls of a conversation carry {missing}, so that nothing can be said of what they "
        f"gained; {scope or 'their instrumentation'} leaves content out: {todo}"
    )
