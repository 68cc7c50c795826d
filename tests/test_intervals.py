"""Shares and their intervals, against published values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_stall.intervals import Proportion, clustered, wilson

CLUSTERS = st.lists(
    st.integers(0, 50).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))), min_size=1, max_size=12
)


def bounds(found: Proportion) -> tuple[float, float]:
    assert found.low is not None
    assert found.high is not None
    return round(found.low, 4), round(found.high, 4)


class TestWilson:
    @pytest.mark.parametrize(
        ("count", "of", "low", "high"),
        [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
    )
    def test_published_values(self, count: int, of: int, low: float, high: float) -> None:
        """The examples of Newcombe, Statistics in Medicine 17 (1998), table I, score method."""
        assert bounds(wilson(count, of)) == (low, high)

    def test_nothing_is_no_share(self) -> None:
        """Of no units there is neither share nor bound."""
        assert wilson(0, 0) == Proportion(0, 0, None, None)
        assert wilson(0, 0).share is None


class TestClustered:
    def test_single_units_are_as_independent(self) -> None:
        """Clusters of one step each give Wilson's interval, on one unit less."""
        found = clustered([(1, 1)] * 15 + [(0, 1)] * 134)

        assert bounds(found) == pytest.approx(bounds(wilson(15, 149)), abs=0.001)

    def test_steps_of_one_conversation_are_no_sample(self) -> None:
        """Ten conversations, two stalled from end to end, tell what ten units tell, not what a thousand do."""
        found = clustered([(100, 100)] * 2 + [(0, 100)] * 8)

        assert bounds(found) == pytest.approx(bounds(wilson(2, 10)), abs=0.02)

    def test_agreement_of_all_is_not_certainty(self) -> None:
        """Where no conversation has a stalled step, the bound is that of as many units as conversations."""
        assert bounds(clustered([(0, 50)] * 20)) == bounds(wilson(0, 20))

    @given(CLUSTERS)
    def test_bounds_enclose_the_share(self, pairs: list[tuple[int, int]]) -> None:
        """Bounds lie between 0 and 1 around the share, and empty clusters make no difference."""
        found = clustered(pairs)
        if found.share is None or found.low is None or found.high is None:
            assert found.of == 0
            return

        assert 0 <= found.low <= found.share <= found.high <= 1
        assert clustered([*pairs, (0, 0)]) == found
