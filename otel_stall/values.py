"""Frozen values that are cheap to make: some two dozen of them come into being with every tool call.

A frozen dataclass sets each field by a call around its own guard, which costs three times as much as setting
it, and `dataclasses.replace` five times as much again. Values marked `unguarded` are frozen for the type checker,
which is strict over the whole package, and have no guard when they run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import field, fields, make_dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

__all__ = ["replace", "unguarded"]

_T = TypeVar("_T")

_COPIERS: Final[dict[type[Any], Callable[[Any], Any]]] = {}


def unguarded(cls: type[_T]) -> type[_T]:
    """Return the frozen dataclass with slots itself, its guard against being changed taken off."""
    plain = make_dataclass(
        cls.__name__,
        [
            (each.name, each.type, field(default=each.default, default_factory=each.default_factory))
            for each in fields(cls)  # type: ignore[arg-type]  # a dataclass, which no type can say
        ],
    )
    init: Any = plain.__dict__["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = init  # type: ignore[method-assign]  # with the same parameters
    for guard in ("__setattr__", "__delattr__"):
        delattr(cls, guard)
    names = [each.name for each in fields(cls)]  # type: ignore[arg-type]  # as above
    made: dict[str, Any] = {"create": cls.__new__, "cls": cls}
    lines = ["def copied(old):", "    new = create(cls)", *(f"    new.{name} = old.{name}" for name in names)]
    given = "".join(f"self.{name}, " for name in names)
    exec("\n".join([*lines, "    return new", "def reduced(self):", f"    return cls, ({given})"]), made)
    _COPIERS[cls] = made["copied"]
    cls.__reduce__ = made["reduced"]  # type: ignore[method-assign]  # what pickle asks for
    return cls


if TYPE_CHECKING:
    from dataclasses import replace
else:

    def replace(value: _T, /, **changes: object) -> _T:
        """Return a copy of a value with some fields changed, as that of `dataclasses` does."""
        copier = _COPIERS.get(type(value))
        if copier is None:
            return dataclasses.replace(value, **changes)
        new = copier(value)
        for name, changed in changes.items():
            setattr(new, name, changed)
        return new
