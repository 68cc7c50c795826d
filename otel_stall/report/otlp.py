"""The input written back as OTLP/JSON lines, the verdict of each step on its tool span.

`Verdicts` collects during the analysis; `lines` goes through the input a second time. Spans of other
tools, foreign attributes and unknown fields pass as they came; what an earlier run wrote is replaced.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from otel_stall import attributes as names
from otel_stall.emission import attributes_of, events_of
from otel_stall.otlp import Addition, annotate_span, spans
from otel_stall.spans import EventView
from otel_stall.verdicts import Judged

if TYPE_CHECKING:
    from otel_stall.readers import Record

__all__ = ["Verdicts", "lines"]

_OURS: Final = frozenset(name.key for use in ("written", "event") for name in names.names(use))
_STALE: Final = Addition({}, (), _OURS)

_Key = tuple[str, str]


class Verdicts:
    """What is to be written on each span, by trace id and span id."""

    def __init__(self, fingerprint_key: str = "") -> None:
        self._key = fingerprint_key
        self._additions: dict[_Key, Addition] = {}
        self._last_step: dict[tuple[str, str], _Key] = {}

    def take(self, judged: Judged, end_ns: int) -> None:
        """Note a judgement; events of what is no step go to the last step of its lane."""
        lane = (judged.conversation, judged.lane)
        events = tuple(EventView(event.name, end_ns, event.attributes) for event in events_of(judged))
        if judged.verdict.counted:
            key = self._last_step[lane] = (judged.trace_id, judged.span_id)
            self._additions[key] = Addition(attributes_of(judged, self._key), events, _OURS)
        elif events and (last := self._last_step.get(lane)):
            addition = self._additions[last]
            self._additions[last] = Addition(addition.attributes, addition.events + events, _OURS)

    def addition(self, trace_id: str, span_id: str) -> Addition | None:
        """Return what is to be written on a span, None for one that is no counted step."""
        return self._additions.get((trace_id, span_id))


def lines(records: Iterable[Record], verdicts: Verdicts) -> Iterator[str]:
    """Yield each trace request as one line of OTLP/JSON, in ASCII, annotated; log requests are left out."""
    for record in records:
        request = record.json()
        if request is None:
            continue
        for trace_id, span_id, span in spans(request):
            if addition := verdicts.addition(trace_id, span_id):
                annotate_span(span, addition)
            elif _was_judged(span):
                annotate_span(span, _STALE)
        yield json.dumps(request, separators=(",", ":")) + "\n"


def _was_judged(span: dict[str, object]) -> bool:
    pairs = span.get("attributes")
    if isinstance(pairs, dict):
        return names.STEP in pairs
    listed = pairs if isinstance(pairs, list) else []
    return any(isinstance(pair, dict) and pair.get("key") == names.STEP for pair in listed)
