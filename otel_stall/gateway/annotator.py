"""`Annotator`: what is said of each span of a request, the same again when the span is delivered again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from otel_stall import dialects
from otel_stall.bounded import trim
from otel_stall.calls import Reading
from otel_stall.emission import events_of, whose_attributes
from otel_stall.emitter import Emitter
from otel_stall.gateway.documents import Document, Item
from otel_stall.gateway.events import Remark, Telling
from otel_stall.judge import Changes, Judge, Judgement
from otel_stall.otlp import Addition
from otel_stall.spans import EventView

__all__ = ["Annotator", "Entries", "Said", "SavedRemark", "SpanKey", "entries_of"]

SpanKey = tuple[str, str]
"""Trace id and span id, of a log record the id made of what it holds."""

Entries = Sequence[tuple[Item, Reading, Mapping[str, object]]]
"""Items of a document, each with its reading and its resource."""


class SavedRemark(NamedTuple):
    """A remark as it is remembered; `told`: its events have been delivered."""

    remark: Remark
    told: bool = False


class Said(NamedTuple):
    """What is to be written on the items of a document, and what has not been told yet.

    `items` is how many there are; `judged` whether there was anything in them to judge, seen before or not.
    """

    additions: Sequence[tuple[Item, Addition]] = ()
    tellings: Sequence[Telling] = ()
    items: int = 0
    judged: bool = False


class Annotator:
    """Judges documents, on any thread. Of the last `limit` spans with a verdict it remembers what was said.

    A span that comes again, because its request was not acknowledged or by a second way, gets what it got and
    changes no verdict. What the judge raises comes through.
    """

    def __init__(self, judge: Judge, emitter: Emitter, *, limit: int, annotates: bool) -> None:
        self._judge = judge
        self._emitter = emitter
        self._limit = limit
        self._annotates = annotates
        self._lock = threading.Lock()
        self._remarks: OrderedDict[SpanKey, SavedRemark] = OrderedDict()
        self._touched: set[SpanKey] | None = None

    def judge(self, parts: Sequence[Entries]) -> list[Said]:
        """Return what is to be said of the items of documents that are judged together, in the order of their ends.

        Where a host tells of its calls twice, what is among these items of one call counts as one.
        """
        readings = sorted((reading for entries in parts for _, reading, _ in entries), key=_order)
        twice = any(reading.dialect in dialects.TOLD_TWICE for reading in readings)
        once = dialects.merge(readings) if twice else None
        # What is saved of the lanes and of the remarks must be of one moment.
        with self._lock:
            for judgement in self._judge.ended(readings, once):
                if judgement.judged:
                    self._remember(judgement)
            return [self._said(entries) for entries in parts]

    def told(self, tellings: Sequence[Telling]) -> None:
        """Take note that the events of these remarks, and copies where they are wanted, have been delivered."""
        with self._lock:
            for telling in tellings:
                key = _key(telling.reading)
                if (saved := self._remarks.get(key)) is not None:
                    self._keep(key, saved._replace(told=True))

    def changed(self) -> tuple[Changes | None, dict[SpanKey, SavedRemark | None]]:
        """Return what the judge and the remarks changed since this was last asked, None for what fell out.

        None for the judge's where it was too busy; the remarks are then kept for the next time.
        """
        with self._lock:
            if (changes := self._judge.changed()) is None:
                return None, {}
            touched, self._touched = self._touched or (), set()
            return changes, {key: self._remarks.get(key) for key in touched}

    def adopt(self, remarks: Mapping[SpanKey, SavedRemark]) -> None:
        """Take in remarks that were saved; called before the first document."""
        self._remarks = OrderedDict(remarks)

    def _remember(self, judgement: Judgement) -> None:
        attributes, events = self._emitter.on_span(judgement)
        self._emitter.recorded(judgement)
        every = tuple(event for judged in judgement.judged for event in events_of(judged))
        last = judgement.judged[-1]
        remark = Remark(attributes, every, tuple(events), whose_attributes(last.conversation, last.agent))
        if attributes or every:
            self._keep(_key(judgement.reading), SavedRemark(remark))

    def _keep(self, key: SpanKey, saved: SavedRemark) -> None:
        self._remarks[key] = saved
        self._remarks.move_to_end(key)
        gone = trim(self._remarks, self._limit, self._judge.dropped, "remarks")
        if self._touched is not None:
            self._touched.update((key, *(old for old, _ in gone)))

    def _said(self, entries: Entries) -> Said:
        additions: list[tuple[Item, Addition]] = []
        tellings = []
        for item, reading, resource in entries:
            if (saved := self._remarks.get(_key(reading))) is None:
                continue
            if self._annotates:
                additions.append((item, _addition(reading, saved.remark)))
            if not saved.told:
                tellings.append(Telling(reading, resource, saved.remark))
        judged = any(reading.record is not None or reading.marks for _, reading, _ in entries)
        return Said(additions, tellings, len(entries), judged)


def entries_of(document: Document) -> Entries:
    """Return the items of a document, each with its reading and the resource it came with."""
    return [(item, dialects.read(view), view.resource) for item, view in document.items()]


def _order(reading: Reading) -> tuple[int, int, str]:
    return reading.end_ns, reading.start_ns, reading.span_id


def _key(reading: Reading) -> SpanKey:
    return reading.trace_id, reading.span_id


def _addition(reading: Reading, remark: Remark) -> Addition:
    mirrored = tuple(EventView(event.name, reading.end_ns, event.attributes) for event in remark.mirrored)
    return Addition(remark.attributes, mirrored)
