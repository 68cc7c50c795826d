"""`RecordAllSampler`: every span is judged, and only those that a sampler chose are exported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, SpanKind, TraceState
    from opentelemetry.util.types import AnyValue

__all__ = ["RecordAllSampler"]


class RecordAllSampler(Sampler):
    """Records what another sampler drops, without exporting it, so that processors see every step.

    The SDK's own `AlwaysRecordSampler` (1.45) does the same but for one thing: of spans that are dropped
    it loses the attributes given at their start, by which many tool calls are known.
    """

    def __init__(self, root: Sampler) -> None:
        self._root = root

    def should_sample(
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Mapping[str, AnyValue] | None = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        """Return the other sampler's decision, "record only" in place of "drop"."""
        chosen = self._root.should_sample(parent_context, trace_id, name, kind, attributes, links, trace_state)
        if chosen.decision is not Decision.DROP:
            return chosen
        return SamplingResult(Decision.RECORD_ONLY, attributes, chosen.trace_state)

    def get_description(self) -> str:
        """Return what the SDK shows of this sampler."""
        return f"RecordAllSampler{{{self._root.get_description()}}}"
