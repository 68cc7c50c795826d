"""Values of attributes, as numbers."""

from __future__ import annotations

import pytest

from otel_stall.dialects.sightings import number


@pytest.mark.parametrize("value", [2**63, -(10**18), float(2**64), float("inf"), float("nan"), "9" * 19, True, 1.5])
def test_what_no_count_can_be(value: object) -> None:
    """A number too large for the 64 bits of a metric, or none at all, is left out."""
    assert number(value) is None


@pytest.mark.parametrize("value", [12, 12.0, "12"])
def test_the_forms_of_a_number(value: object) -> None:
    """A count may be written as a whole number, a float or text."""
    assert number(value) == 12
