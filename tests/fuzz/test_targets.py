"""A minute of what `make fuzz` does for hours: every way in takes good input, and a few hundred damaged ones."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from mutations import mutated
from targets import SEEDS, TARGETS

_RUNS = {"readers": 25, "compressed": 15, "requests": 60, "state": 25}


@pytest.mark.parametrize("name", TARGETS)
def test_takes_its_seeds(name: str) -> None:
    """What a fuzzer starts from goes through without an error."""
    for seed in SEEDS[name]():
        TARGETS[name](seed)


@pytest.mark.parametrize("name", TARGETS)
def test_takes_damaged_input(name: str) -> None:
    """Nothing but the errors that are promised comes out, whatever was changed."""
    source, seeds = random.Random(7), SEEDS[name]()
    for _ in range(_RUNS.get(name, 150)):
        TARGETS[name](mutated(source.choice(seeds), source))


@pytest.mark.parametrize("name", TARGETS)
def test_takes_any_bytes(name: str) -> None:
    """The same of bytes that have nothing to do with what is expected."""

    @hypothesis_settings(max_examples=25, deadline=None, database=None)
    @given(st.binary(max_size=300) | st.text().map(lambda text: text.encode("utf-8", "replace")))
    def takes(data: bytes) -> None:
        TARGETS[name](data)

    takes()


def test_every_target_has_seeds() -> None:
    """A target without good input to start from would only ever see noise."""
    assert list(SEEDS) == list(TARGETS)
    assert all(SEEDS[name]() for name in SEEDS)


FINDINGS = sorted((Path(__file__).parent / "findings").glob("*"))


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: path.name)
def test_what_was_found_stays_fixed(path: Path) -> None:
    """Inputs that once broke something, by the target that found them."""
    TARGETS[path.name.partition("-")[0]](path.read_bytes())
