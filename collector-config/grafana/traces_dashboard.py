"""The dashboard over the traces, for Tempo: which runs stalled, of which kind and how far, with links into them."""

from __future__ import annotations

from typing import Any, Final

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models.dashboard import DashboardCursorSync, DataSourceRef, VariableOption
from panels import ALL, TAG, Said, Target, bars, found, laid_out, links, multi, sources, traceql

__all__ = ["UID", "traces_dashboard"]

UID: Final = "otel-stall-traces"
SOURCE: Final = DataSourceRef(type_val="tempo", uid="${DS_TEMPO}")
SERVICE: Final = 'resource.service.name =~ "$service"'
# A span always has a name: with `.*` for all agents this takes in spans that name none, too.
AGENT: Final = '(span.gen_ai.agent.name =~ "$agent" || name =~ "$agent")'
# Spans of agents carry `stall.detected`, too, and no step: only steps are counted.
STALLED: Final = 'span.stall.step >= 1 && span.stall.detected = true && span.stall.kind =~ "$kind"'
LEVEL: Final = 'span.stall.level =~ "$level"'
SHOWN: Final = (
    "select(span.gen_ai.agent.name, span.gen_ai.tool.name, span.stall.kind, span.stall.level, span.stall.step)"
)

METRICS_NEED: Final = "Needs TraceQL metrics in Tempo (the `local-blocks` processor of its metrics generator)."


def traces_dashboard() -> dashboard.Dashboard:
    """Return the dashboard, unbuilt."""
    board = dashboard.Dashboard("otel-stall: stalled runs").uid(UID).tags([TAG]).editable().refresh("")
    board = board.description(
        "Runs that stalled, in Tempo, by what otel-stall wrote on their spans. docs/queries.md has more such queries."
    )
    board = board.time("now-6h", "now").timezone("browser").tooltip(DashboardCursorSync.CROSSHAIR)
    board = board.with_variable(sources("tempo", "DS_TEMPO"))
    board = board.with_variable(multi("service", "Service", SOURCE, _values("service.name")))
    board = board.with_variable(multi("agent", "Agent", SOURCE, _values("gen_ai.agent.name")))
    board = board.with_variable(_listed("kind", "Kind", ("loop", "no_gradient", "amnesia")))
    board = board.with_variable(_listed("level", "Level", ("notice", "replan", "ask_user", "abandon")))
    board = board.link(links("Metrics"))
    return laid_out(board, [("How much", _series()), ("Which runs", _tables())])


def _values(label: str) -> dict[str, object]:
    # 1 is "label values"; the reference is the one that Grafana's own editor of such a variable gives.
    return {"type": 1, "label": label, "refId": "TempoDatasourceVariableQueryEditor-VariableQuery"}


def _listed(name: str, label: str, values: tuple[str, ...]) -> dashboard.CustomVariable:
    every = VariableOption(selected=True, text=["All"], value=["$__all"])
    variable = dashboard.CustomVariable(name).label(label).values(",".join(values)).current(every)
    return variable.multi(True).include_all(True).all_value(ALL)


def _series() -> list[Any]:
    spans = f"{{ {STALLED} && {LEVEL} && {AGENT} && {SERVICE} }}"
    dry = f'{{ span.stall.step >= 1 && span.stall.gain.type = "none" && {AGENT} && {SERVICE} }}'
    own = "With an agent chosen: steps whose own span names it."
    return [
        bars(
            Said("Stalled steps by level", f"Tool calls inside a stall. {own} {METRICS_NEED}", "no stalls"),
            SOURCE, [traceql(SOURCE, Target(f"{spans} | count_over_time() by (span.stall.level)"), series=True)],
        ),
        bars(
            Said("Stalled steps by kind", f"Tool calls inside a stall. {own} {METRICS_NEED}", "no stalls"),
            SOURCE, [traceql(SOURCE, Target(f"{spans} | count_over_time() by (span.stall.kind)"), series=True)],
        ),
        bars(
            Said(
                "Stalled steps per second, by agent",
                f"Tool calls inside a stall, by the agent that the span names. {METRICS_NEED}",
                "no stalls", "ops",
            ),
            SOURCE, [traceql(SOURCE, Target(f"{spans} | rate() by (span.gen_ai.agent.name)"), series=True)],
        ),
        bars(
            Said(
                "Why steps gained nothing",
                f"Tool calls without gain by `stall.gain.reason`, inside a stall or not. {own} {METRICS_NEED}",
                "every step gained something",
            ),
            SOURCE, [traceql(SOURCE, Target(f"{dry} | count_over_time() by (span.stall.gain.reason)"), series=True)],
        ),
    ]  # fmt: skip


def _tables() -> list[Any]:
    agent = f"{{ {AGENT} && {SERVICE} }}"
    return [
        found(
            Said(
                "Runs that stalled",
                "Traces with a stall of the chosen kinds and levels, with their stalled steps. The trace id is a link.",
                "no stalled runs", width=24, height=10,
            ),
            SOURCE, f"{agent} && {{ {STALLED} && {LEVEL} && {SERVICE} }} | {SHOWN}",
        ),
        found(
            Said(
                "Runs that called for a person",
                "Traces that reached `ask_user` or `abandon`, whatever level is chosen above.",
                "nobody was needed", height=10,
            ),
            SOURCE, f'{agent} && {{ {STALLED} && span.stall.level =~ "ask_user|abandon" && {SERVICE} }} | {SHOWN}',
        ),
        found(
            Said(
                "Long stalls",
                "Traces with 20 steps or more inside a stall of the chosen kinds.",
                "no long stalls", height=10,
            ),
            SOURCE, f"{{ {STALLED} && {AGENT} && {SERVICE} }} | count() >= 20",
        ),
        found(
            Said(
                "Where stalls began",
                "The steps at which a stall opened. What came before stands above them in the trace.",
                "no stalls", height=10,
            ),
            SOURCE,
            f'{{ event:name = "stall.started" && {STALLED} && {AGENT} && {SERVICE} }} | {SHOWN}', spans=True,
        ),
        found(
            Said(
                "Milestones",
                "Steps that reached a verified milestone: a check that turned green after a change, an effect that "
                "cannot be undone, or what the host verified.",
                "no verified milestone", height=10,
            ),
            SOURCE,
            f'{{ span.stall.gain.type = "milestone" && {AGENT} && {SERVICE} }} | '
            "select(span.gen_ai.agent.name, span.gen_ai.tool.name, span.stall.gain.reason, span.stall.step)",
            spans=True,
        ),
    ]  # fmt: skip
