"""Values without a guard are what the dataclass alone would make them."""

from __future__ import annotations

import dataclasses
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_stall.calls import Reading, ToolCall
from otel_stall.observations import Effect, Signs, Step
from otel_stall.silence import Silence
from otel_stall.spans import SpanView
from otel_stall.status import Status
from otel_stall.values import replace, unguarded
from otel_stall.verdicts import Milestone, Stall


@dataclasses.dataclass(frozen=True, slots=True)
class Guarded:
    """A value as any other."""

    one: int
    other: str = "a"
    listed: list[int] = dataclasses.field(default_factory=list)


@unguarded
@dataclasses.dataclass(frozen=True, slots=True)
class Unguarded:
    """The same without its guard."""

    one: int
    other: str = "a"
    listed: list[int] = dataclasses.field(default_factory=list)


@given(st.integers(), st.text(), st.integers())
def test_are_made_compared_and_hashed_alike(one: int, other: str, changed: int) -> None:
    """Fields, defaults, equality and the text of a value are those of the dataclass."""
    for make in (Guarded, Unguarded):
        value = make(one, other=other)
        assert dataclasses.astuple(value) == (one, other, [])
        assert value == make(one, other) != make(one, other + "x")
        assert dataclasses.replace(value, one=changed) == replace(value, one=changed) == make(changed, other)
        assert value == make(one, other)
        assert repr(value) == f"{make.__name__}(one={one}, other={other!r}, listed=[])"
    assert Unguarded(1).listed is not Unguarded(1).listed


@pytest.mark.parametrize("handed", [Status, Stall, Milestone, Silence])
def test_what_a_host_is_handed_keeps_its_guard(handed: type[object]) -> None:
    """A host that changes what it was told gets an error, as what it holds may be what is counted with."""
    value = object.__new__(handed)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, next(iter(dataclasses.fields(handed))).name, 1)  # type: ignore[arg-type]  # a dataclass


def test_hash_goes_by_the_fields() -> None:
    """Equal values stand for each other in sets."""
    assert len({Signs(noop=True), Signs(noop=True), Signs()}) == 2


@pytest.mark.parametrize("make", [Guarded, Unguarded])
def test_a_missing_field_is_an_error(make: type[Guarded] | type[Unguarded]) -> None:
    """What has no default must be given, under its own name."""
    with pytest.raises(TypeError):
        make()  # type: ignore[call-arg]  # that is the point


def test_hot_values_have_no_dictionary() -> None:
    """They keep their slots, so that a field that does not exist cannot be set."""
    values = (
        Step("t", Effect.READ),
        ToolCall("t"),
        Reading("t", "s", "", "n", 0, 1),
        SpanView("t", "s", "", "n", 0, 1),
    )
    for value in values:
        assert not hasattr(value, "__dict__")
        with pytest.raises(AttributeError):
            replace(value, none_such=1)  # type: ignore[call-arg]  # that is the point


def test_are_pickled_as_any_other() -> None:
    """A value comes back from another process equal to what went there."""
    for value in (Unguarded(1, "b", [2]), Step("t", Effect.READ, signs=Signs(noop=True)), ToolCall("t")):
        assert pickle.loads(pickle.dumps(value)) == value
