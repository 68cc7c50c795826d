"""`milestone`: by which a host says that one was reached now."""

from __future__ import annotations

import logging
import time
from typing import Final, Literal

from opentelemetry import trace

from otel_stall import attributes as names
from otel_stall import sdk
from otel_stall.attachment import attached
from otel_stall.dialects.hosts import MARK, mark_of
from otel_stall.emission import CONVERSATION
from otel_stall.spans import EventView
from otel_stall.verdicts import Evidence

__all__ = ["milestone"]

_LOG = logging.getLogger("otel_stall")

_said: set[str] = set()


def milestone(
    name: str,
    *,
    evidence: Literal["observed", "irreversible", "declared"] = "observed",
    conversation: str | None = None,
    timestamp: int | None = None,
) -> None:
    """Say that the host saw a milestone reached now; it counts at once, and a name counts once per run.

    The current span gets an event `stall.milestone`, from which a replay of the trace counts the same at the
    same time. Whose milestone it is tells the current span, or `conversation`; without a span that records,
    the baggage. `observed` sets every count back, `irreversible` the distance alone, `declared` is recorded
    and waits for the next check that turns green after a change. `timestamp` is now where it is not
    given, in ns. Callable from any thread; raises nothing, and without a processor nothing is counted.
    """
    try:
        _mark(name, evidence, conversation or "", timestamp or time.time_ns())
    except Exception as error:
        # Near the recursion limit nothing can be said, either, and `suppress` would be a call.
        try:  # noqa: SIM105
            _say(f"a milestone could not be counted: {type(error).__name__}")
        except RecursionError:
            pass


def _mark(name: str, evidence: str, conversation: str, time_ns: int) -> None:
    if not isinstance(name, str) or not name.strip():
        _say("a milestone without a name, or whose name is no text, is not counted", logging.WARNING)
        return
    if evidence not in tuple(Evidence):
        _say("the evidence of a milestone is observed, irreversible or declared; else it is declared", logging.WARNING)
        evidence = Evidence.DECLARED.value
    written = {names.MILESTONE_NAME: name, names.MILESTONE_EVIDENCE: str(evidence)}
    if conversation:
        written[CONVERSATION] = conversation
    mark = mark_of(EventView(MARK, time_ns, written))
    current = trace.get_current_span()
    processor = attached(current)
    if processor is not None and processor.closed:
        return
    if current.is_recording():
        current.add_event(MARK, written, timestamp=time_ns)
    if processor is None:
        _say("no processor is attached: milestones are events on spans, and count when the traces are analysed")
    elif mark is not None:
        span = sdk.recording(current)
        if span is None and not conversation and current.is_recording():
            _say("a milestone on a span that is not the SDK's is counted when the span ends")
        else:
            processor.mark(mark, span)


_SILENT: Final = 16


def _say(what: str, level: int = logging.DEBUG) -> None:
    if what not in _said and len(_said) < _SILENT:
        _said.add(what)
        _LOG.log(level, "%s", what)
