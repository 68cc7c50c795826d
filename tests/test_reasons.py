"""Rules of `reasons`: one table, complete, in words a person understands."""

from __future__ import annotations

import pytest

from otel_stall.reasons import CLEAR, RELIEVE, TABLE, Reason
from otel_stall.verdicts import Gain


class TestTable:
    def test_every_reason_has_its_entry(self) -> None:
        """The list of reasons is closed."""
        assert set(TABLE) == set(Reason)

    @pytest.mark.parametrize("reason", Reason)
    def test_weights(self, reason: Reason) -> None:
        """A weight clears, relieves, or adds at most two; verified gain and changes never add."""
        entry = TABLE[reason]

        assert entry.waste in (CLEAR, RELIEVE) or 0 <= entry.waste <= 2
        if entry.gain in (Gain.MILESTONE, Gain.VERIFICATION, Gain.STATE):
            assert entry.waste in (CLEAR, 0)
        if entry.gain is Gain.NONE:
            assert entry.waste >= 0

    @pytest.mark.parametrize("reason", Reason)
    def test_sentences(self, reason: Reason) -> None:
        """A sentence fits into one entry of evidence and starts in lower case, to be led in by a count."""
        sentence = TABLE[reason].sentence

        assert sentence
        assert len(sentence) <= 90
        assert sentence[0].islower()
        assert not sentence.endswith(".")

    def test_values_are_fit_for_an_attribute(self) -> None:
        """`stall.gain.reason` is a short word in snake case."""
        assert all(reason.value.replace("_", "").isalpha() and reason.value.islower() for reason in Reason)
