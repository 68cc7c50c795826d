"""The survey of milestones for a person, and as one JSON object for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from otel_stall.observations import Effect
from otel_stall.report.numbers import counted
from otel_stall.report.parts import headed, listed, problem_lines
from otel_stall.report.printable import printable
from otel_stall.survey import Act, Rule, Survey

if TYPE_CHECKING:
    from otel_stall.readers import Problems

__all__ = ["SCHEMA", "document", "render"]

SCHEMA: Final = 1
"""Version of the JSON document; a change that breaks readers raises it."""

_LISTED: Final = 20
_MAY_COUNT: Final = (Effect.WRITE, Effect.MESSAGE, Effect.COMMAND, Effect.OTHER)


def render(found: Survey, problems: Problems) -> str:
    """Return the survey as text."""
    irreversible = [act for act in found.acts if Effect.IRREVERSIBLE in (act.built_in, act.configured)]
    checks = [act for act in found.acts if Effect.CHECK in (act.built_in, act.configured) and act not in irreversible]
    others = [act for act in found.acts if act.configured in _MAY_COUNT and act not in irreversible + checks]
    parts = (
        list(_answer(found)),
        headed("By rule:", _rules(found)),
        headed("Irreversible, a milestone where it succeeds with new arguments:", _acts(irreversible)),
        headed("Checks, a milestone where one turns green after a change:", _acts(checks)),
        headed("Neither; the section `milestones` of the settings can say otherwise:", _acts(others)),
        headed("Problems:", problem_lines(problems)),
    )
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def document(found: Survey, problems: Problems) -> str:
    """Return the survey as JSON text, in ASCII."""
    whole = {
        "schema": SCHEMA,
        "conversations": found.conversations,
        "steps": found.steps,
        "runs": found.runs,
        "runs_without": found.without,
        "verified": found.verified,
        "milestones": [
            {
                "rule": one.rule.value,
                "name": one.name,
                "count": one.count,
                "verified": one.confirmed if one.rule is Rule.DECLARED else one.count,
            }
            for one in found.reached
        ],
        "acts": [
            {
                "name": act.name,
                "built_in": act.built_in.value,
                "configured": act.configured.value,
                "steps": act.steps,
                "failed": act.failed,
                "milestones": act.milestones,
            }
            for act in found.acts
        ],
        "problems": listed(problems),
    }
    return json.dumps(whole, indent=2) + "\n"


def _answer(found: Survey) -> Iterator[str]:
    where = f"{counted(found.conversations, 'conversation')} of {counted(found.steps, 'step')}"
    yield f"{counted(found.verified, 'verified milestone')} in {where}."
    if found.runs:
        yield f"{found.without:,} of {counted(found.runs, 'run')} without one."


def _rules(found: Survey) -> Iterator[str]:
    for rule in Rule:
        reached = [one for one in found.reached if one.rule is rule]
        count = sum(one.count for one in reached)
        named = ", ".join(f"{printable(one.name, 60)} {one.count:,}" for one in reached[:5])
        more = f" and {len(reached) - 5:,} more" if len(reached) > 5 else ""
        confirmed = sum(one.confirmed for one in reached)
        later = f"; {confirmed:,} verified later" if rule is Rule.DECLARED and count else ""
        yield f"{rule.value:<21} {count:>5,}" + (f"  {named}{more}{later}" if count else "")


def _acts(acts: Sequence[Act]) -> Iterator[str]:
    width = max((len(printable(act.name, 40)) for act in acts[:_LISTED]), default=0)
    for act in acts[:_LISTED]:
        told = [counted(act.steps, "step"), f"{act.failed:,} failed", counted(act.milestones, "milestone")]
        yield f"{printable(act.name, 40):<{width}}  {', '.join(told)}; {_effects(act)}"
    if len(acts) > _LISTED:
        yield f"and {len(acts) - _LISTED:,} more; --format json lists them all"


def _effects(act: Act) -> str:
    if act.built_in is act.configured:
        return act.built_in.value
    return f"{act.configured.value} by the settings, {act.built_in.value} without"
