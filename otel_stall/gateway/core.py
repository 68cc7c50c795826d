"""`Gateway`: one request in, one answer out, whatever the transport; it holds no rule of detection."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from otel_stall.errors import DecodeError
from otel_stall.gateway.admission import Admission
from otel_stall.gateway.annotator import Annotator, Said, entries_of
from otel_stall.gateway.answers import OK, Answer, Code, Request
from otel_stall.gateway.documents import Document, parsed
from otel_stall.gateway.events import Telling, copies_request, events_request
from otel_stall.gateway.forwarding import Forwarder
from otel_stall.gateway.keeper import StateKeeper
from otel_stall.gateway.rounds import Rounds
from otel_stall.gateway.settings import GatewayConfig
from otel_stall.gateway.telemetry import GatewayMetrics
from otel_stall.otlp import Signal

__all__ = ["Gateway"]

_LOG = logging.getLogger("otel_stall")

_NOTHING = Said()


class _Handled(NamedTuple):
    answer: Answer
    items: int = 0


class Gateway:
    """Judges requests and passes them on. `handle` may be called on any thread, blocks for the downstream and the
    state file, and raises nothing.

    What is added goes first, then the request itself, and the client is told of success after both: what was
    accepted is delivered, and a request that comes again changes nothing. `failed` is told of internal errors;
    the request they hit is forwarded untouched.
    """

    def __init__(
        self,
        config: GatewayConfig,
        annotator: Annotator,
        forwarder: Forwarder,
        metrics: GatewayMetrics,
        *,
        failed: Callable[[Exception], None],
        keeper: StateKeeper | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.admission = Admission(config.limits)
        self._config = config
        self._annotator = annotator
        self._rounds = Rounds(annotator.judge, config.settle_seconds)
        self._forwarder = forwarder
        self._metrics = metrics
        self._failed = failed
        self._keeper = keeper
        self._clock = clock
        self._inline = config.mode == "inline"
        self._untaken: set[Signal] = set()

    def handle(self, request: Request) -> Answer:
        """Return what the client of a request is to be told."""
        began = self._clock()
        try:
            with self.admission.enter(len(request.body)) as admitted:
                handled = self._handled(request) if admitted else _Handled(self.busy("too much at once"))
        except Exception as error:
            self._failed(error)
            handled = _Handled(self.busy("an internal error"))
        self._metrics.answered(request.signal, handled.answer, handled.items, self._clock() - began)
        return handled.answer

    def close(self, timeout: float) -> bool:
        """Admit nothing more and return whether all that was admitted is answered within `timeout` seconds."""
        self._rounds.close()
        return self.admission.close(timeout)

    def busy(self, why: str) -> Answer:
        """Return the answer that asks a client to come back."""
        return Answer(Code.UNAVAILABLE, why, retry_after=self._config.limits.retry_seconds)

    def _handled(self, request: Request) -> _Handled:
        if request.signal is Signal.METRICS:
            return _Handled(self._forwarder.send(request) if self._inline else OK)
        try:
            document = parsed(request)
        except DecodeError as error:
            return _Handled(Answer(Code.INVALID_ARGUMENT, str(error)))
        said = self._judged(document)
        refusal = self._told(said.tellings)
        if refusal is not None:
            return _Handled(refusal)
        if not self._inline:
            return _Handled(_with_rejected(OK, document), said.items)
        return _Handled(_with_rejected(self._forwarded(request, document, said), document), said.items)

    def _forwarded(self, request: Request, document: Document, said: Said) -> Answer:
        """Send a request on. One that is refused for what was written on it, its size perhaps, goes as it came."""
        body = self._body(document, said, request)
        answer = self._forwarder.send(replace(request, body=body))
        refused = answer.code is Code.INVALID_ARGUMENT and body != request.body and not document.rejected
        if not refused:
            return answer
        self._metrics.unsent(request.signal)
        return self._forwarder.send(request)

    def _judged(self, document: Document) -> Said:
        try:
            said = self._rounds.judged(entries_of(document))
        except Exception as error:
            self._failed(error)
            return _NOTHING
        if self._keeper is not None and self._config.state.sync and said.judged:
            self._keeper.settle(self._config.forward.timeout_seconds)
        return said

    def _body(self, document: Document, said: Said, request: Request) -> bytes:
        try:
            for item, addition in said.additions:
                document.annotate(item, addition)
            return document.dump()
        except Exception as error:
            self._failed(error)
            return request.body

    def _told(self, tellings: Sequence[Telling]) -> Answer | None:
        """Send events and copies that were not delivered yet; return why not, if the client is to come back."""
        if not tellings:
            return None
        wanted = (
            events_request(tellings) if self._config.events else None,
            copies_request(tellings) if self._config.copies and not self._inline else None,
        )
        for request in wanted:
            if request is None or request.signal in self._untaken:
                continue
            answer = self._forwarder.send(request)
            if answer.retryable:
                return answer
            if not answer.ok:
                self._refused(request, answer)
        self._annotator.told(tellings)
        return None

    def _refused(self, request: Request, answer: Answer) -> None:
        self._metrics.unsent(request.signal)
        if answer.code is Code.UNIMPLEMENTED:
            self._untaken.add(request.signal)
            _LOG.warning("the downstream takes no %s: events are not sent", request.signal.value)


def _with_rejected(answer: Answer, document: Document) -> Answer:
    """Return an answer that tells of the spans left out here, too."""
    if not answer.ok or not document.rejected:
        return answer
    said = f"{document.rejected} spans have no valid trace id and span id"
    message = f"{answer.message}; {said}" if answer.message else said
    return replace(answer, rejected=answer.rejected + document.rejected, message=message)
