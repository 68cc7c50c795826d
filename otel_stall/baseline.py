"""The baseline: what is normal for runs of one agent on one class of task, and its file.

`otel-stall calibrate` writes the file; processor, gateway and `analyze` read it once at start-up. It
holds names of agents and task classes, counts and limits, nothing of what the runs did.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from otel_stall.errors import ConfigError

__all__ = ["VERSION", "Baseline", "Group", "SegmentMean"]

VERSION = 1
"""Written into every baseline file; a newer one is refused."""

_MAX_BYTES = 16_000_000

_Count = Annotated[int, Field(ge=0, strict=True)]
_Ordinal = Annotated[int, Field(ge=1, strict=True)]
_Open = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SegmentMean(_Value):
    """Mean return of a step in the segments of this index, from 1, over `steps` steps."""

    segment: _Ordinal
    steps: _Ordinal
    mean: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Group(_Value):
    """What is normal for one agent on one class of task; `task_class` None is every class together.

    `limit` is the milestone distance in steps that a healthy run keeps; `provisional` where there were too
    few tasks to calibrate it. `runs` and `tasks` count the successful runs it rests on.
    """

    agent: str
    task_class: str | None = None
    runs: _Count
    tasks: _Count
    limit: _Ordinal
    provisional: bool
    segments: tuple[SegmentMean, ...] = ()

    def mean(self, segment: int) -> float | None:
        """Return the mean return of a step in segments of this index, None where no run got so far."""
        return next((entry.mean for entry in self.segments if entry.segment == segment), None)


class Baseline(_Value):
    """The groups that were calibrated; `alpha` bounds the share of healthy runs beyond their limit."""

    version: _Ordinal = VERSION
    alpha: _Open
    gamma: _Open
    groups: tuple[Group, ...] = ()

    @model_validator(mode="after")
    def _unique(self) -> Self:
        if len(self._by_key) != len(self.groups):
            raise ValueError("one agent and task class is listed twice")
        return self

    @cached_property
    def _by_key(self) -> dict[tuple[str, str | None], Group]:
        return {(group.agent, group.task_class): group for group in self.groups}

    def group(self, agent: str, task_class: str = "") -> Group | None:
        """Return the group of an agent and a task class, else that of the agent on every class, else None."""
        return self._by_key.get((agent, task_class)) or self._by_key.get((agent, None))

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Return the baseline of a file; raises ConfigError where it is damaged or of a newer release."""
        try:
            with Path(path).open("rb") as stream:
                data = stream.read(_MAX_BYTES + 1)
        except OSError as error:
            raise ConfigError("baseline", f"{path} cannot be read: {error.strerror}") from None
        if len(data) > _MAX_BYTES:
            raise ConfigError("baseline", f"{path} is no baseline: it is larger than {_MAX_BYTES:,} bytes")
        try:
            content = json.loads(data)
        except (ValueError, RecursionError):
            raise ConfigError("baseline", f"{path} is damaged: it is no JSON") from None
        version = content.get("version") if isinstance(content, dict) else None
        if isinstance(version, int) and version > VERSION:
            raise ConfigError("baseline", f"{path} is of version {version}, this release reads {VERSION}")
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise ConfigError("baseline", f"{path} is damaged: {_first(error)}") from None

    def dump(self) -> str:
        """Return the text of the file: equal baselines give equal texts, and `load` gives back an equal one."""
        return self.model_dump_json(indent=2) + "\n"


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]
