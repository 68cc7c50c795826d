"""What is wrong with a setting, as a sentence for the person who wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["complaint", "nearest"]

_NEAR: Final = 0.8

_SECTION: Final = "must be a section with settings of its own"
_LIST: Final = "must be a list"
_SENTENCES: Final[Mapping[str, str]] = {
    "missing": "must be given",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "must be a whole number of fewer digits",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "string_type": "must be a text",
    "tuple_type": _LIST,
    "list_type": _LIST,
    "model_type": _SECTION,
    "dict_type": _SECTION,
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "greater_than": "must be more than {gt:g}",
    "greater_than_equal": "must be {ge:g} or more",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be {le:g} or less",
}
"""By the kinds of errors that pydantic has; those of our own checks are sentences as they are."""


def complaint(error: ErrorDetails, model: type[BaseModel]) -> str:
    """Return what is wrong, with the setting that was perhaps meant; never what was given, which may be a key."""
    if error["type"] == "extra_forbidden":
        meant = nearest(str(error["loc"][-1]), list(_section(model, error["loc"][:-1]).model_fields))
        return f"there is no such setting; {meant} is one" if meant else "there is no such setting"
    if sentence := _SENTENCES.get(error["type"]):
        return sentence.format_map(error.get("ctx", {}))
    return error["msg"].removeprefix("Value error, ")


def nearest(name: str, known: list[str]) -> str:
    """Return the known name that is most like another one, "" where none is."""
    return next(iter(get_close_matches(name, known, 1, _NEAR)), "")


def _section(model: type[BaseModel], path: tuple[int | str, ...]) -> type[BaseModel]:
    for part in path:
        field = model.model_fields.get(str(part))
        inner = field.annotation if field is not None else None
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            model = inner
    return model
