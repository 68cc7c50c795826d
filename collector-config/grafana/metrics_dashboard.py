"""The dashboard over the metrics, for Prometheus: what stalls, how much of the work it is, and otel-stall itself."""

from __future__ import annotations

from typing import Any, Final

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models.dashboard import DashboardCursorSync, DataSourceRef
from panels import (
    ORANGE,
    RED,
    TAG,
    YELLOW,
    Said,
    Target,
    bars,
    heat,
    laid_out,
    lines,
    links,
    multi,
    prom,
    share,
    single,
    sources,
    tabled,
)

__all__ = ["UID", "counted", "living", "metrics_dashboard"]

UID: Final = "otel-stall-metrics"
SOURCE: Final = DataSourceRef(type_val="prometheus", uid="${DS_PROMETHEUS}")
WHOSE: Final = 'gen_ai_agent_name=~"$agent", stall_task_class=~"$task_class"'
RANGE: Final = "$__range"
STEP: Final = "$__rate_interval"
PROCESS: Final = "job, instance, exported_job, exported_instance"


def metrics_dashboard() -> dashboard.Dashboard:
    """Return the dashboard, unbuilt."""
    board = dashboard.Dashboard("otel-stall: stalls").uid(UID).tags([TAG]).editable().refresh("1m")
    board = board.description(
        "What stalls, of which kind, how far it went, and what it cost, from the metrics of otel-stall as "
        "collector-config/metrics.yaml hands them to Prometheus."
    )
    board = board.time("now-6h", "now").timezone("browser").tooltip(DashboardCursorSync.CROSSHAIR)
    board = board.with_variable(sources("prometheus", "DS_PROMETHEUS"))
    board = board.with_variable(multi("agent", "Agent", SOURCE, "label_values(stall_steps_total, gen_ai_agent_name)"))
    classes = multi("task_class", "Task class", SOURCE, "label_values(stall_steps_total, stall_task_class)")
    board = board.with_variable(classes).link(links("Traces"))
    return laid_out(
        board,
        [
            ("In this time range", _figures()),
            ("Stalls", _stalls()),
            ("What the steps brought", _gains()),
            ("otel-stall itself", _health()),
            ("The gateway (otel-stall serve)", _gateway()),
        ],
    )


def counted(metric: str, by: str, window: str, selector: str = WHOSE) -> str:
    """Return PromQL for what a counter counted within a window.

    `increase` alone misses the first value of a series that appears within it, and stalls are rare: for many a
    series that value is all there is. What was known of it a day back is not new, so that a gap in what was
    scraped counts nothing twice.
    """
    series = f"{metric}{{{selector}}}" if selector else metric
    gained = f"increase({series}[{window}])"
    known = f"last_over_time({series}[1d] offset {window})"
    first = f"min_over_time({series}[{window}]) unless {known}"
    return f"sum by ({by}) (({gained} + ({first})) or {gained} or ({series} unless {known}))"


def quantile(share_below: float, metric: str, by: str, window: str, selector: str = WHOSE) -> str:
    """Return PromQL for a quantile of a histogram, of what it took in within a window."""
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({share_below}, {counted(f'{metric}_bucket', labels, window, selector)})"


def living(gauge: str) -> str:
    """Return PromQL for the sum of a gauge over the processes that judged a step within the last hour.

    The exporter keeps the last figure of a process that ended for as long as a rare counter must stay.
    """
    return f"sum({gauge} and on ({PROCESS}) ({counted('stall_steps_total', PROCESS, '1h', '')} > 0))"


def _figures() -> list[Any]:
    all_range = "over the time range"
    stalled, steps = counted("stall_stalled_steps_total", "", RANGE), counted("stall_steps_total", "", RANGE)
    return [
        single(
            Said(
                "Conversations in a stall",
                "Conversations that are inside a stall now, of all agents, in processes that judged a step within the "
                "last hour: of others the exporter tells the last figure, also where they have ended.",
                "no steps in the last hour", width=4, height=4,
            ),
            SOURCE, living("stall_active"), {1: YELLOW, 10: ORANGE},
        ),
        single(
            Said(
                "Conversations remembered",
                "Conversations that otel-stall remembers now, of all agents, in processes that judged a step in the "
                "last hour. At the limit (`bounds.conversations`) the oldest are forgotten, see evictions.",
                "no steps in the last hour", width=4, height=4,
            ),
            SOURCE, living("stall_conversations"), {},
        ),
        single(
            Said(
                "Share of steps in a stall",
                f"Tool calls inside a stall, of all tool calls, {all_range}. The alert ManyStalledSteps is at 30 %.",
                "no steps", "percentunit", 4, 4,
            ),
            SOURCE,
            f"({stalled} or vector(0)) / {steps}",
            {0.15: YELLOW, 0.3: RED},
        ),
        single(
            Said("Stalls that began", f"Stalls that opened, {all_range}.", "none", width=4, height=4),
            SOURCE, counted("stall_starts_total", "", RANGE), {1: YELLOW},
        ),
        single(
            Said(
                "Steps that called for a person",
                f"Tool calls at `ask_user` or `abandon`, {all_range}. Any of them pages, by the alert rules.",
                "none", width=4, height=4,
            ),
            SOURCE,
            counted("stall_stalled_steps_total", "", RANGE, f'{WHOSE}, stall_level=~"ask_user|abandon"'), {1: RED},
        ),
        single(
            Said(
                "Tokens in stalls",
                f"Tokens of model turns inside a stall, {all_range}. Seen where the spans of turns tell their tokens.",
                "none seen", width=4, height=4,
            ),
            SOURCE, counted("stall_stalled_tokens_total", "", RANGE), {},
        ),
    ]  # fmt: skip


def _stalls() -> list[Any]:
    stalled, starts = "stall_stalled_steps_total", "stall_starts_total"
    each = "Each bar is what was new in the interval before it."

    def by(metric: str, label: str) -> list[Any]:
        return [prom(SOURCE, Target(counted(metric, label, STEP), f"{{{{{label}}}}}"))]

    part = f"{counted(stalled, 'gen_ai_agent_name', STEP)} / {counted('stall_steps_total', 'gen_ai_agent_name', STEP)}"
    return [
        bars(
            Said("Stalled steps by level", f"Tool calls inside a stall, by the level it was at. {each}", "no stalls"),
            SOURCE, by(stalled, "stall_level"),
        ),
        bars(
            Said("Stalled steps by kind", f"Tool calls inside a stall, by its kind. {each}", "no stalls"),
            SOURCE, by(stalled, "stall_kind"),
        ),
        bars(
            Said("Stalls that began, by kind", f"Stalls that opened, by the kind they opened as. {each}", "no stalls"),
            SOURCE, by(starts, "stall_kind"),
        ),
        lines(
            Said(
                "Share of steps in a stall, by agent",
                "Tool calls inside a stall, of all tool calls of the agent. Dashed: where ManyStalledSteps alerts.",
                "no stalls", "percentunit",
            ),
            SOURCE, [prom(SOURCE, Target(part, "{{gen_ai_agent_name}}"))], {0.3: RED},
        ),
        _whose("Agents", "gen_ai_agent_name", "Agent"),
        _whose("Task classes", "stall_task_class", "Task class"),
        _ended(),
        _tools(),
    ]  # fmt: skip


def _whose(title: str, label: str, column: str) -> Any:
    stalled = counted("stall_stalled_steps_total", label, RANGE)
    steps = counted("stall_steps_total", label, RANGE)
    return tabled(
        Said(
            title,
            "Over the time range: tool calls, the share of them inside a stall, stalls that began, and tokens of model "
            "turns inside a stall. A row without a name is of spans that say none. Beyond 100 values: `_other`.",
        ),
        SOURCE,
        [
            (Target(steps, "Steps", "A"), "short"),
            (Target(f"{stalled} / {steps}", "In a stall", "B"), "percentunit"),
            (Target(counted("stall_starts_total", label, RANGE), "Stalls", "C"), "short"),
            (Target(counted("stall_stalled_tokens_total", label, RANGE), "Tokens in stalls", "D"), "short"),
        ],
        {label: column},
    )


def _ended() -> Any:
    labels = "stall_kind, stall_level"
    count = counted("stall_duration_count", labels, RANGE)
    return tabled(
        Said(
            "Stalls that ended",
            "Over the time range: how many stalls closed, by kind and the highest level they reached, and how many "
            "steps they lasted. A run that simply stops leaves its stall open, and is not here.",
            "none ended",
        ),
        SOURCE,
        [
            (Target(count, "Stalls", "A"), "short"),
            (Target(f"{counted('stall_duration_sum', labels, RANGE)} / {count}", "Steps, mean", "B"), "short"),
            (Target(quantile(0.9, "stall_duration", labels, RANGE), "Steps, 90 % below", "C"), "short"),
        ],
        {"stall_kind": "Kind", "stall_level": "Highest level"},
    )


def _tools() -> Any:
    calls = counted("agent_tools_calls_total", "gen_ai_tool_name, stall_kind", RANGE, 'stall_kind!="none"')
    return tabled(
        Said(
            "Tools that are called in stalls",
            "Over the time range and of all agents: calls inside a stall, from the span metrics of metrics.yaml.",
            "no stalls",
        ),
        SOURCE, [(Target(f"topk(20, {calls})", "Calls", "A"), "short")],
        {"gen_ai_tool_name": "Tool", "stall_kind": "Kind"},
    )  # fmt: skip


def _gains() -> list[Any]:
    gains = counted("stall_steps_total", "stall_gain_type", STEP)
    tokens = counted("stall_stalled_tokens_total", "stall_level", STEP)
    agent = "{{gen_ai_agent_name}}"
    segments = counted("stall_segment_length_bucket", "le", STEP)
    return [
        share(
            Said(
                "Steps by what they gained",
                "All tool calls by gain. `neutral` is where nothing can be said: much of it means that results are not "
                "on the spans (`otel-stall doctor` says which switch turns them on).",
                "no steps",
            ),
            SOURCE, [prom(SOURCE, Target(gains, "{{stall_gain_type}}"))],
        ),
        bars(
            Said("Tokens in stalls, by level", "Tokens of model turns inside a stall, by its level.", "no stalls"),
            SOURCE, [prom(SOURCE, Target(tokens, "{{stall_level}}"))],
        ),
        heat(
            Said(
                "Steps between two milestones",
                "Verified milestones by how many steps they took since the one before. What lies high took long.",
                "no verified milestone", "none",
            ),
            SOURCE, Target(segments, "{{le}}"),
        ),
        lines(
            Said(
                "Steps between two milestones, by agent",
                "Half, and 90 %, of the verified milestones of the last hour took fewer steps since the one before. "
                "`otel-stall calibrate` learns from traces what is normal.",
                "no verified milestone", "none",
            ),
            SOURCE,
            [
                prom(SOURCE, Target(quantile(q, "stall_segment_length", "gen_ai_agent_name", "1h"), legend, letter))
                for letter, q, legend in (("A", 0.5, f"{agent}, half"), ("B", 0.9, f"{agent}, 90 %"))
            ],
        ),
    ]  # fmt: skip


def _health() -> list[Any]:
    memory = counted("stall_processor_forgotten_total", "memory", STEP, "")
    troubles = (
        ("A", "stall_processor_errors_total", "internal errors"),
        ("B", "stall_processor_skipped_total", "spans passed over"),
        ("C", "stall_evictions_total", "conversations forgotten"),
        ("D", "stall_late_steps_total", "late steps"),
    )
    return [
        lines(
            Said(
                "Time to judge a span",
                "Half, and 99 %, of the hooks of `StallSpanProcessor` that gave a verdict took less. The gateway tells "
                "the time of whole requests instead, below.",
                "no StallSpanProcessor reports", "s",
            ),
            SOURCE,
            [
                prom(SOURCE, Target(quantile(q, "stall_processor_duration_seconds", "", STEP, ""), legend, letter))
                for letter, q, legend in (("A", 0.5, "half"), ("B", 0.99, "99 %"))
            ],
        ),
        bars(
            Said(
                "What should not happen",
                "Internal errors (a span untouched each; the log says which), spans passed over so that the host does "
                "not wait, conversations that fell out of memory (raise `bounds.conversations`, or add a gateway), "
                "steps that arrived after one that ended later.",
                "otel-stall reports nothing",
            ),
            SOURCE,
            [prom(SOURCE, Target(counted(name, "", STEP, ""), legend, letter)) for letter, name, legend in troubles],
        ),
        bars(
            Said(
                "Forgotten, by memory",
                "What fell out of a full memory. `open_spans`, `stamps`, `marks` should not; others do in a long run.",
                "otel-stall reports nothing", width=24, height=7,
            ),
            SOURCE, [prom(SOURCE, Target(f"{memory} > 0", "{{memory}}"))],
        ),
    ]  # fmt: skip


def _gateway() -> list[Any]:
    requests = counted("stall_gateway_requests_total", "signal, outcome", STEP, "")
    items = counted("stall_gateway_items_total", "signal", STEP, "")
    return [
        bars(
            Said(
                "Requests by outcome",
                "`deferred` came back to the sender, which tries again: what otel-stall forwards to is away, or "
                "there were too many at once. `refused` did not.",
                "no gateway reports",
            ),
            SOURCE, [prom(SOURCE, Target(requests, "{{signal}} {{outcome}}"))],
        ),
        bars(
            Said("Spans and log records", "Items of accepted requests, by signal.", "no gateway reports"),
            SOURCE, [prom(SOURCE, Target(items, "{{signal}}"))],
        ),
        lines(
            Said(
                "Time to answer a request",
                "Half, and 99 %, of the requests were answered faster, with the forwarding.",
                "no gateway reports", "s",
            ),
            SOURCE,
            [
                prom(SOURCE, Target(quantile(q, "stall_gateway_duration_seconds", "signal", STEP, ""), legend, letter))
                for letter, q, legend in (("A", 0.5, "{{signal}}, half"), ("B", 0.99, "{{signal}}, 99 %"))
            ],
        ),
        bars(
            Said(
                "Not sent, not saved",
                "Own requests that what is behind otel-stall refused for good, and saves of the state that failed and "
                "were tried again; the log says why.",
                "no gateway reports",
            ),
            SOURCE,
            [
                prom(SOURCE, Target(counted("stall_gateway_unsent_total", "", STEP, ""), "not sent", "A")),
                prom(SOURCE, Target(counted("stall_gateway_unsaved_total", "", STEP, ""), "not saved", "B")),
            ],
        ),
    ]  # fmt: skip
