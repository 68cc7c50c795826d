"""The baseline: what is normal for runs of one agent on one class of task, and its file.

`otel-stall calibrate` writes the file; processor, gateway and `analyze` read it once at start-up. It
holds names of agents and task classes, counts and limits, nothing of what the runs did.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import ConfigDict, Field, ValidationError

from otel_stall.errors import ConfigError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["VERSION", "Baseline", "Group", "SegmentMean"]

VERSION = 1
"""Written into every baseline file; a newer one is refused."""

_MAX_BYTES = 16_000_000
_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

_Count = Annotated[int, Field(ge=0)]
_Ordinal = Annotated[int, Field(ge=1)]
_Open = Annotated[float, Field(gt=0, lt=1)]


@dataclass(frozen=True)
class SegmentMean:
    """Mean return of a step in the segments of this index, from 1, over `steps` steps."""

    __pydantic_config__ = _STRICT

    segment: _Ordinal
    steps: _Ordinal
    mean: Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True)
class Group:
    """What is normal for one agent on one class of task; `task_class` None is every class together.

    `limit` is the milestone distance in steps that a healthy run keeps; `provisional` where there were too
    few tasks to calibrate it. `runs` and `tasks` count the successful runs it rests on.
    """

    __pydantic_config__ = _STRICT

    agent: str
    task_class: str | None
    runs: _Count
    tasks: _Count
    limit: _Ordinal
    provisional: bool
    segments: tuple[SegmentMean, ...] = ()

    def mean(self, segment: int) -> float | None:
        """Return the mean return of a step in segments of this index, None where no run got so far."""
        return next((entry.mean for entry in self.segments if entry.segment == segment), None)


@dataclass(frozen=True)
class Baseline:
    """The groups that were calibrated.

    `alpha` bounds the share of healthy runs beyond their limit; `gamma` is the discount of the means.
    """

    __pydantic_config__ = _STRICT

    alpha: _Open
    gamma: _Open
    groups: tuple[Group, ...] = ()
    version: _Ordinal = VERSION

    @cached_property
    def _by_key(self) -> dict[tuple[str, str | None], Group]:
        return {(group.agent, group.task_class): group for group in self.groups}

    def group(self, agent: str, task_class: str = "") -> Group | None:
        """Return the group of an agent and a task class, else that of the agent on every class, else None."""
        return self._by_key.get((agent, task_class)) or self._by_key.get((agent, None))

    @staticmethod
    def load(path: Path | str) -> Baseline:
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
            # As JSON, where a list is how a tuple is written; NaN is no JSON for this parser.
            found = _adapter().validate_json(data)
        except ValidationError as error:
            raise ConfigError("baseline", f"{path} is damaged: {_first(error)}") from None
        if len(found._by_key) != len(found.groups):
            raise ConfigError("baseline", f"{path} is damaged: an agent and task class is listed twice")
        return found

    def dump(self) -> str:
        """Return the text of the file: equal baselines give equal texts, and `load` gives back an equal one."""
        return json.dumps(asdict(self), indent=2, allow_nan=False) + "\n"


@cache
def _adapter() -> TypeAdapter[Baseline]:
    # Here and not at import: a host that has no baseline pays nothing for one.
    from pydantic import TypeAdapter

    return TypeAdapter(Baseline)


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]
