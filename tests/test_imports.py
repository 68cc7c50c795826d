"""Importing the package is light: what only the gateway, the readers or the command line need stays out."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Final

import pytest

HEAVY: Final = (
    "aiohttp",
    "click",
    "google.protobuf",
    "grpc",
    "opentelemetry.exporter",
    "opentelemetry.proto",
    "opentelemetry.sdk._logs",
    "opentelemetry.sdk.metrics.export",
    "requests",
    "rich",
    "yaml",
    "zstandard",
)

SCRIPT = """
import json, sys
{imports}
print(json.dumps(sorted(sys.modules)))
"""


def imported(statement: str) -> set[str]:
    """Return the modules that an import loads in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT.format(imports=statement)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(json.loads(done.stdout))


# Most of pydantic is loaded when the first model is made.
BASE: Final = "import opentelemetry.sdk.trace, pydantic, xxhash; pydantic.create_model('Model', field=(int, 1))"


ALL: Final = "from otel_stall import *"


@pytest.fixture(scope="module")
def base() -> set[str]:
    return imported(BASE)


def test_nothing_heavy_is_loaded(base: set[str]) -> None:
    """No exporter, transport, terminal, YAML or compression module comes with the processor."""
    added = imported(ALL) - base
    heavy = [name for name in added if name.startswith(HEAVY)]
    assert heavy == []


def test_little_beside_the_sdk_is_loaded(base: set[str]) -> None:
    """Beside the SDK, pydantic and xxhash only our own modules and the standard library are loaded."""
    added = imported(ALL) - base
    tops = {name.split(".")[0] for name in added if not name.startswith("_sysconfigdata")}
    assert tops - sys.stdlib_module_names == {"otel_stall", "opentelemetry"}
    assert {name for name in added if name.startswith("opentelemetry.")} == {
        "opentelemetry.baggage",
        "opentelemetry.util.re",
    }


def test_a_hook_loads_nothing_but_the_standard_library() -> None:
    """What runs at every tool call of a coding agent loads neither the SDK nor the rest of this package."""
    added = imported("import otel_stall.start, otel_stall.hook, socket")
    assert {name for name in added if name.startswith("otel_stall")} == {
        "otel_stall",
        "otel_stall.hook",
        "otel_stall.start",
    }
    assert {name.split(".")[0] for name in added} - sys.stdlib_module_names <= {
        "otel_stall",
        "__main__",
        "_distutils_hack",
        "_virtualenv",
    }
    assert not {"asyncio", "http.client", "urllib.request", "logging", "dataclasses"} & added


def test_unknown_names_are_unknown() -> None:
    """Names are loaded when asked for; one that is none of ours is an AttributeError, and `dir` lists them all."""
    import otel_stall

    assert set(otel_stall.__all__) <= set(dir(otel_stall))
    with pytest.raises(AttributeError, match="nothing_of_ours"):
        _ = otel_stall.nothing_of_ours  # type: ignore[attr-defined]
