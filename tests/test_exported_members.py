"""What the package exports is what it says it exports."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import otel_stall

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(otel_stall.__path__, "otel_stall.")
    if not module.name.endswith("__main__")
)


def test_all_public_names_are_exported() -> None:
    """`__all__` of the package lists its public names, sorted, and no others."""
    assert otel_stall.__all__ == sorted([*otel_stall._HOME, "__version__"])
    for name, home in otel_stall._HOME.items():
        module = importlib.import_module(f"otel_stall.{home}")
        assert getattr(otel_stall, name) is getattr(module, name)
        assert name in module.__all__


@pytest.mark.parametrize("name", MODULES)
def test_each_module_says_what_it_exports(name: str) -> None:
    """Every name in a module's `__all__` exists in it, and none is listed twice."""
    exported: list[str] = getattr(importlib.import_module(name), "__all__", [])
    assert [each for each in exported if not hasattr(importlib.import_module(name), each)] == []
    assert len(set(exported)) == len(exported)
