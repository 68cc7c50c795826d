"""Everything a user may set, validated once at start-up; a bad field fails with its name.

Every threshold of the detector is here with its unit and where its default comes from: the
experiments summarised in `docs/detection.md`, on recorded runs of coding and tool-calling agents.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from otel_stall.baseline import Baseline
from otel_stall.errors import ConfigError
from otel_stall.patterns import command_problem, tool_problem
from otel_stall.settings import Settings, from_environ, loaded_file, merged, validated, warn_of_unknown

__all__ = [
    "BoundsConfig",
    "CommandRules",
    "DetectionConfig",
    "MilestonesConfig",
    "PressureConfig",
    "StallConfig",
    "ToolRules",
]

_LOG = logging.getLogger("otel_stall")

_GATEWAY: Final = "gateway"
_KEY_VARIABLE: Final = "OTEL_STALL_FINGERPRINT_KEY"
_NO_SETTINGS: Final = ("OTEL_STALL_CONFIG", "OTEL_STALL_GATEWAY_", "OTEL_STALL_PARTS", "OTEL_STALL_REGENERATE")

NO_KEY: Final = SecretStr("")
KEY_CHARS: Final = 16
"""Least characters of a fingerprint key: a shorter one could be found by trying."""

Steps = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Weight = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class DetectionConfig(Settings):
    """Thresholds of the rules; steps are counted tool calls of one lane."""

    dry_notice: Steps = 6
    """Steps without gain since the last gain that open a `no_gradient` stall."""
    dry_replan: Steps = 12
    """Steps without gain at which a stall reaches `replan`."""
    dry_ask_user: Steps = 18
    """Steps without gain for `ask_user`, provided the milestone distance exceeds its limit."""
    dry_abandon: Steps = 30
    """Steps without gain at which a stall reaches `abandon`, under the same proviso."""
    flat_notice: Steps = 6
    """Checks in a row that neither improve nor move which open a `no_gradient` stall."""
    flat_replan: Steps = 9
    """The same for `replan`."""
    loop_notice: Steps = 3
    """Least number of steps in a row whose call and outcome are known that opens a `loop` stall."""
    loop_replan: Steps = 6
    """The same for `replan`."""
    amnesia_steps: Steps = 3
    """Steps that re-acquire what was known before a compaction which open an `amnesia` stall."""
    thin_notice: Steps = 3
    """Searches in a row that reword the question and bring mostly known text, to open a stall."""
    waste_notice: Weight = 5
    """Waste score that opens a stall."""
    waste_replan: Weight = 12
    """Waste score for `replan`."""
    waste_ask_user: Weight = 18
    """Waste score for `ask_user`, if the milestone distance exceeds its limit."""
    waste_abandon: Weight = 30
    """Waste score for `abandon`, under the same proviso."""
    waste_relief: Weight = 2
    """What an informative step takes off the waste score."""
    after_done_notice: Steps = 6
    """Steps after the work was done that open a stall, which stays at `notice`."""
    distance_limit: Steps = 30
    """Milestone distance below which no stall goes beyond `replan`, until a baseline says better."""
    empty_answers: Steps = 8
    """Empty answers in a row to new questions that say nothing; the ones after count as no gain."""
    waits: Steps = 30
    """Waiting steps in a row that are neutral; the ones after count like any step."""
    new_ranges: Steps = 12
    """Further ranges of one unchanged resource that count as information between two state changes."""
    thin_unseen: Share = 0.6
    """Share of unseen word trigrams of a search result below which the search is thin."""
    thin_reworded: Share = 0.95
    """Share of unseen word trigrams of the query from which it is a new question, not a thin one."""
    repeat_tier: Steps = 5
    """Input-side tier `repeat`: the same call in a row."""
    cycle_laps: Steps = 3
    """Input-side tier `cycle`: laps of a period of two to five calls."""
    tool_call_budget: Annotated[int, Field(ge=0)] = 0
    """Input-side tier `composite`: tool calls the host allows a run; 0 = no budget, the tier stays silent."""
    resume_within: Steps = 20
    """A stall that opens within so many steps of the last one, on the same calls, is the same stall."""


def _checked_tool(pattern: str) -> str:
    return _checked(pattern, tool_problem(pattern))


def _checked_command(pattern: str) -> str:
    return _checked(pattern, command_problem(pattern))


def _checked(pattern: str, problem: str) -> str:
    if problem:
        raise PydanticCustomError("pattern", "{pattern} {problem}", {"pattern": repr(pattern[:40]), "problem": problem})
    return " ".join(pattern.split())


def _listed(value: object) -> object:
    """Take a text for a list with commas, as environment variables give it."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


_Many = Field(max_length=200)
ToolPatterns = Annotated[tuple[Annotated[str, AfterValidator(_checked_tool)], ...], BeforeValidator(_listed), _Many]
CommandPatterns = Annotated[
    tuple[Annotated[str, AfterValidator(_checked_command)], ...], BeforeValidator(_listed), _Many
]


class _Rules(Settings):
    """Patterns of three kinds; one and the same pattern has one meaning."""

    @model_validator(mode="after")
    def _one_meaning(self) -> Self:
        listed = [pattern for name in type(self).model_fields for pattern in dict.fromkeys(getattr(self, name))]
        for pattern in listed:
            if listed.count(pattern) > 1:
                raise PydanticCustomError("pattern", "{pattern} is in two lists", {"pattern": repr(pattern[:40])})
        return self


class ToolRules(_Rules):
    """What tools do, by patterns of their names: `*` stands for any characters, `?` for one, case for nothing.

    A pattern is held against the tool's whole name and against its own name without a server or namespace
    before it: `create_pr` fits `mcp__github__create_pr`. In the environment patterns are parted by commas.
    """

    irreversible: ToolPatterns = ()
    """Tools whose effect cannot be undone: one that succeeded is a milestone."""
    checks: ToolPatterns = ()
    """Tools that check the work: red and green, and a milestone where they turn green after a change."""
    never: ToolPatterns = ()
    """Tools that reach no milestone, whatever they are called or do; goes before the other two."""


class CommandRules(_Rules):
    """What shell commands do, by their first words: `make release`, `aws s3 rm`, `./scripts/deploy-*`.

    Words are held against the command with its options left out, or as it stands; wrappers (`sudo`, `cd x &&`,
    `VAR=1`) are passed over. In the environment patterns are parted by commas.
    """

    irreversible: CommandPatterns = ()
    """Commands whose effect cannot be undone; one with `--dry-run` or `--help` has none."""
    checks: CommandPatterns = ()
    """Commands that check the work."""
    never: CommandPatterns = ()
    """Commands that reach no milestone; goes before the other two."""


class MilestonesConfig(Settings):
    """Which tool calls reach a milestone, beside the rules that are built in; `docs/milestones.md` has them."""

    tools: ToolRules = ToolRules()
    """Rules by the names of tools."""
    commands: CommandRules = CommandRules()
    """Rules by the first words of shell commands."""
    irreversible: bool = True
    """Whether an irreversible effect is a milestone at all; False = it changes state as any write does. What the
    host names itself counts in any case."""


class BoundsConfig(Settings):
    """Limits of what is kept; what falls out is counted."""

    conversations: Steps = 10_000
    """Lanes kept; the one longest without a step falls out first."""
    idle_seconds: Weight = 86_400
    """A lane without a step for so long is dropped, in seconds of trace time."""
    open_spans: Steps = 20_000
    """Spans that started and have not ended which are remembered for their agent and conversation."""
    lines: Steps = 50_000
    """Digests of result lines kept per lane."""
    calls: Steps = 4_096
    """Digests of calls, outcomes, states and resources kept per lane, each."""
    metric_values: Steps = 100
    """Agents and task classes told apart in metrics, each; further ones are counted as `_other`. Of the pairs of an
    agent and a task class four times as many are; the class of a further one is `_other`."""


def _checked_key(given: SecretStr) -> SecretStr:
    key = given.get_secret_value().strip()
    if key and len(key) < KEY_CHARS:
        raise PydanticCustomError("key", "must have {chars} characters or more", {"chars": KEY_CHARS})
    return SecretStr(key)


Rung = Literal["notice", "replan", "ask_user", "abandon"]


class PressureConfig(Settings):
    """What a host that asks for the pressure lets it do, and what is late; `docs/pressure.md` has the use of it."""

    acts: Annotated[tuple[Rung, ...], BeforeValidator(_listed)] = ()
    """Levels that act; none by default: the adapters observe. In the environment levels are parted by commas."""
    hung_seconds: Weight = 120
    """Seconds after which a tool call that has not ended may be late; chosen, as the Linux kernel's for hung tasks."""
    silent_seconds: Weight = 600
    """Seconds without a step after which an agent that has not ended may be late; chosen, as Kubernetes' deadline."""
    times_usual: Weight = 3
    """It is late where it also takes so many times the longest seen of this tool, or of this lane's pauses; chosen."""


def _loaded(value: object) -> object:
    if value is None or isinstance(value, Baseline):
        return value
    if not isinstance(value, str | Path):
        raise PydanticCustomError("baseline", "must be the path of a file that `otel-stall calibrate` wrote")
    try:
        return Baseline.load(value)
    except ConfigError as error:
        raise PydanticCustomError("baseline", "{problem}", {"problem": error.problem}) from None


class _File:
    """Takes the path of a baseline; pydantic's own validators would build the schema of what is in the file, too."""

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(_loaded)


class StallConfig(Settings):
    """All settings of otel-stall."""

    enabled: bool = True
    """False switches everything off: spans pass untouched."""
    detection: DetectionConfig = DetectionConfig()
    bounds: BoundsConfig = BoundsConfig()
    milestones: MilestonesConfig = MilestonesConfig()
    pressure: PressureConfig = PressureConfig()
    mode: Literal["annotate", "events_only"] = "annotate"
    """`annotate` writes verdicts on spans; `events_only` touches no span: verdicts are logged events and metrics."""
    preset: Literal["full", "minimal"] = "full"
    """`minimal` writes five attributes on a tool span until a stall opens, `full` always all of them."""
    stamp: bool | None = None
    """Whether conversation and run id are written at its start on every span that lacks them. None = unless langfuse is
    loaded, whose exporter would then take every span of the host for one of a model."""
    agent_summary: bool = True
    """Whether the open span of an agent carries how its invocation fares."""
    metrics: bool = True
    """Whether metrics are recorded, in the meter provider of the host."""
    span_events: bool = True
    """Whether stalls and milestones also appear as events on the tool span."""
    baseline: Annotated[Baseline | None, _File()] = None
    """Path of the file `otel-stall calibrate` wrote, read once: it says the milestone distance that is normal
    for each agent and class of task, in place of `detection.distance_limit`."""
    fingerprint_key: Annotated[SecretStr, AfterValidator(_checked_key)] = NO_KEY
    """Key of the exported fingerprints, of 16 characters or more; "" exports equality tokens that anyone can
    recompute. A wrong one in the environment is replaced by one that this process makes up: never by none."""
    hook_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.25
    """Time that a hook may take, in seconds; after five longer ones within a minute spans pass untouched for a
    minute. A hook waits no longer than this for another thread's. 0 = no budget, and a wait of a second."""
    content_steps: Annotated[int, Field(ge=0)] = 5
    """Tool calls without a result at the start of a conversation after which the log names the switch that records
    content, once per instrumentation; 0 = never."""

    def distance_limit(self, agent: str, task_class: str = "") -> int:
        """Return the milestone distance beyond which a stall of this agent may reach the upper levels."""
        group = self.baseline.group(agent, task_class) if self.baseline is not None else None
        return group.limit if group is not None else self.detection.distance_limit

    @classmethod
    def load(
        cls,
        path: Path | str,
        environ: Mapping[str, str] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> Self:
        """Return the settings of a YAML file, completed from the environment; `options` go before both.

        The file's section `gateway` is for `otel-stall serve`. Raises ConfigError with the field's name where a
        value is wrong or a name is unknown.
        """
        content = {name: value for name, value in loaded_file(path).items() if name != _GATEWAY}
        return cls.create(merged(merged(_of_environment(cls, environ or {}), content), options or {}))

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], options: Mapping[str, object] | None = None) -> Self:
        """Return the settings that `OTEL_STALL_*` variables give; a bad value is logged and left out.

        `OTEL_STALL_DETECTION_DRY_NOTICE=8` sets `detection.dry_notice`, `OTEL_STALL_CONFIG` names a file,
        whose values go before those of single variables, as `options` go before all.
        """
        warn_of_unknown(cls, environ, "OTEL_STALL_", _NO_SETTINGS)
        if path := environ.get("OTEL_STALL_CONFIG"):
            return cls.load(path, environ, options)
        return cls.create(merged(_of_environment(cls, environ), options or {}))

    @classmethod
    def create(cls, values: Mapping[str, object]) -> Self:
        """Return validated settings; raises ConfigError with the first wrong field's name."""
        return validated(cls, values)


def _of_environment(model: type[StallConfig], environ: Mapping[str, str]) -> dict[str, object]:
    """Return what variables set; a key that cannot be used leaves no fingerprint that anyone can recompute."""
    values = from_environ(model, environ)
    if environ.get(_KEY_VARIABLE, "").strip() and "fingerprint_key" not in values:
        values["fingerprint_key"] = secrets.token_hex(KEY_CHARS)
        _LOG.warning("fingerprints are keyed with a key of this process alone, and equal none of another's")
    return values
