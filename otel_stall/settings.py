"""How settings are read: a YAML file, environment variables and options become one validated model."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from otel_stall.complaints import complaint, nearest
from otel_stall.errors import ConfigError, ConfigFileError

__all__ = ["Settings", "from_environ", "loaded_file", "merged", "validated", "variables", "warn_of_unknown"]

_LOG = logging.getLogger("otel_stall")

_Model = TypeVar("_Model", bound=BaseModel)


class Settings(BaseModel):
    """Base of all settings: frozen, unknown names are errors."""

    # Values stay out of pydantic's own messages, too: one of them may be a key.
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True)


def loaded_file(path: Path | str) -> dict[str, object]:
    """Return the settings in a YAML file; raises ConfigFileError with its path where it is none."""
    import yaml

    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigFileError(str(path), f"cannot be read: {error.strerror or type(error).__name__}") from None
    except UnicodeDecodeError:
        raise ConfigFileError(str(path), "cannot be read: it is no text in UTF-8") from None
    except yaml.YAMLError as error:
        raise ConfigFileError(str(path), f"is no YAML{_place(error)}") from None
    except RecursionError:
        raise ConfigFileError(str(path), "is nested too deeply") from None
    except (ValueError, OverflowError):
        raise ConfigFileError(str(path), "has a date or number that is none") from None
    if content is not None and not isinstance(content, dict):
        raise ConfigFileError(str(path), "has no settings by their names")
    return content or {}


def validated(model: type[_Model], values: Mapping[str, object], section: str = "") -> _Model:
    """Return a model of these values; raises ConfigError with the name of the first wrong field, under `section`."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in (section, *first["loc"]) if part != "")
        raise ConfigError(field or "settings", complaint(first, model)) from None


def _place(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    return f", see line {mark.line + 1}" if mark is not None else ""


def merged(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    """Return both, section by section; what is `above` goes before."""
    joined = dict(below)
    for key, value in above.items():
        old = joined.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        joined[key] = merged(old, value) if both else value  # type: ignore[arg-type]
    return joined


def from_environ(model: type[BaseModel], environ: Mapping[str, str], prefix: str = "OTEL_STALL_") -> dict[str, object]:
    """Return what variables give: the prefix and the field's name, sections parted by "_"; bad values are logged."""
    values: dict[str, object] = {}
    for name, field in model.model_fields.items():
        variable = prefix + name.upper()
        nested = field.annotation
        if isinstance(nested, type) and issubclass(nested, BaseModel):
            if inner := from_environ(nested, environ, variable + "_"):
                values[name] = inner
        elif (text := environ.get(variable, "").strip()) and _accepted(model, name, variable, text):
            values[name] = text
    return values


def variables(model: type[BaseModel], prefix: str) -> Iterator[str]:
    """Yield the names of the variables that set something in a model."""
    for name, field in model.model_fields.items():
        nested = field.annotation
        if isinstance(nested, type) and issubclass(nested, BaseModel):
            yield from variables(nested, f"{prefix}{name.upper()}_")
        else:
            yield prefix + name.upper()


def warn_of_unknown(model: type[BaseModel], environ: Mapping[str, str], prefix: str, others: Sequence[str]) -> None:
    """Log a variable with this prefix that sets nothing, with the name that was perhaps meant.

    `others` are beginnings of names that belong to something else.
    """
    known = list(variables(model, prefix))
    for name in environ:
        if name.startswith(prefix) and name not in known and not name.startswith(tuple(others)):
            meant = nearest(name, known)
            _LOG.warning("%s sets nothing%s", name, f": {meant} does" if meant else "")


def _accepted(model: type[BaseModel], name: str, variable: str, text: str) -> bool:
    try:
        model.model_validate({name: text})
    except ValidationError as error:
        about = [one for one in error.errors() if one["loc"][:1] == (name,) or not one["loc"]]
        if about:
            _LOG.warning("%s is ignored: %s", variable, complaint(about[0], model))
        return not about
    return True
