"""Variables that set nothing are told, with the one that was meant."""

from __future__ import annotations

import pytest

from otel_stall import StallConfig
from otel_stall.settings import variables


def test_a_misspelt_variable_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """A name that sets nothing is a warning, with the nearest one that does."""
    StallConfig.from_environ({"OTEL_STALL_DETECTION_DRY_NOTISE": "8", "OTEL_STALL_XYZ": "1", "OTEL_SERVICE_NAME": "a"})
    assert [record.getMessage() for record in caplog.records] == [
        "OTEL_STALL_DETECTION_DRY_NOTISE sets nothing: OTEL_STALL_DETECTION_DRY_NOTICE does",
        "OTEL_STALL_XYZ sets nothing",
    ]


def test_variables_of_other_parts_are_no_mistakes(caplog: pytest.LogCaptureFixture) -> None:
    """Those of the gateway, of the builds and every known one pass without a word."""
    known = dict.fromkeys(variables(StallConfig, "OTEL_STALL_"), "")
    StallConfig.from_environ({**known, "OTEL_STALL_GATEWAY_MODE": "tap", "OTEL_STALL_PARTS_BIN": "x"})
    assert caplog.records == []
