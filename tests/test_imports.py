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
import json, sys, time
def seconds():
    start = time.process_time()
    {imports}
    return time.process_time() - start
spent = seconds()
print(json.dumps([spent, sorted(sys.modules)]))
"""


def imported(statement: str) -> tuple[float, set[str]]:
    """Return the CPU seconds an import takes in a fresh interpreter, and the modules it loads."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT.format(imports=statement)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    spent, modules = json.loads(done.stdout)
    return spent, set(modules)


# Most of pydantic is loaded when the first model is made.
BASE: Final = "import opentelemetry.sdk.trace, pydantic, xxhash; pydantic.create_model('Model', field=(int, 1))"


@pytest.fixture(scope="module")
def base() -> tuple[float, set[str]]:
    return imported(BASE)


def test_nothing_heavy_is_loaded(base: tuple[float, set[str]]) -> None:
    """No exporter, transport, terminal, YAML or compression module comes with `import otel_stall`."""
    added = imported("import otel_stall")[1] - base[1]
    heavy = [name for name in added if name.startswith(HEAVY)]
    assert heavy == []


def test_little_beside_the_sdk_is_loaded(base: tuple[float, set[str]]) -> None:
    """Beside the SDK, pydantic and xxhash only our own modules and the standard library are loaded."""
    added = imported("import otel_stall")[1] - base[1]
    tops = {name.split(".")[0] for name in added if not name.startswith("_sysconfigdata")}
    assert tops - sys.stdlib_module_names == {"otel_stall", "opentelemetry"}
    assert {name for name in added if name.startswith("opentelemetry.")} == {
        "opentelemetry.baggage",
        "opentelemetry.util.re",
    }


def test_importing_costs_little_more_than_the_sdk(base: tuple[float, set[str]]) -> None:
    """The import takes at most 2.5 times the CPU time of the SDK and pydantic, the best of three runs each."""
    ours = min(imported("import otel_stall")[0] for _ in range(3))
    theirs = min(base[0], *(imported(BASE)[0] for _ in range(2)))
    assert ours < 2.5 * theirs
