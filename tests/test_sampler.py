"""Rules of `sampler`: what another sampler drops is recorded, and not exported."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    ALWAYS_ON,
    Decision,
    ParentBased,
    Sampler,
    SamplingResult,
    StaticSampler,
)

from otel_stall.sampler import RecordAllSampler

GIVEN = {"gen_ai.operation.name": "execute_tool"}


def sampled(root: Sampler) -> SamplingResult:
    return RecordAllSampler(root).should_sample(None, 1, "execute_tool", attributes=GIVEN)


def test_dropped_spans_are_recorded() -> None:
    """With all they said at their start, by which a tool call is known."""
    result = sampled(ParentBased(ALWAYS_OFF))
    assert (result.decision, dict(result.attributes)) == (Decision.RECORD_ONLY, GIVEN)


@pytest.mark.parametrize("root", [ALWAYS_ON, StaticSampler(Decision.RECORD_ONLY)])
def test_others_are_left_alone(root: Sampler) -> None:
    """What the other sampler keeps is kept as it says."""
    own = root.should_sample(None, 1, "execute_tool", attributes=GIVEN)
    result = sampled(root)
    assert (result.decision, result.attributes) == (own.decision, own.attributes)


def test_description() -> None:
    """The SDK shows both."""
    assert RecordAllSampler(ALWAYS_OFF).get_description() == "RecordAllSampler{AlwaysOffSampler}"
