"""Hypothesis as all tests use it: how long one example takes says nothing on a busy machine."""

from __future__ import annotations

try:
    import hypothesis
except ImportError:  # not installed where frameworks, vendors and other SDKs are tested
    pass
else:
    hypothesis.settings.register_profile(
        "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
    )
    hypothesis.settings.load_profile("patient")
