"""The panels that both dashboards are made of, each with a title, a description, a unit and a text for no data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self, TypeVar

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import dashboard, heatmap, prometheus, stat, table, tempo, timeseries
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models import heatmap as heatmap_models
from grafana_foundation_sdk.models.dashboard import (
    DashboardLinkType,
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    Threshold,
    ThresholdsMode,
    VariableOption,
    VariableRefresh,
    VariableSort,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat
from grafana_foundation_sdk.models.tempo import MetricsQueryType, SearchTableType

__all__ = [
    "ALL",
    "ORANGE",
    "RED",
    "TAG",
    "YELLOW",
    "Said",
    "Target",
    "bars",
    "found",
    "heat",
    "laid_out",
    "lines",
    "links",
    "multi",
    "prom",
    "share",
    "single",
    "sources",
    "tabled",
    "traceql",
]

TAG: Final = "otel-stall"
ALL: Final = ".*"
BLUE, GREEN, YELLOW, ORANGE, RED, PURPLE, GREY = "blue", "green", "yellow", "orange", "red", "purple", "text"

COLOURS: Final = {
    "notice": BLUE,
    "replan": YELLOW,
    "ask_user": ORANGE,
    "abandon": RED,
    "loop": ORANGE,
    "no_gradient": PURPLE,
    "amnesia": BLUE,
    "milestone": "dark-green",
    "verification": GREEN,
    "state": "semi-dark-blue",
    "information": "light-blue",
    "neutral": GREY,
    "none": RED,
}
"""A level, kind or gain has one colour in every panel."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a panel says in words: title, what is to be seen and how to read it, and what no data means."""

    title: str
    description: str
    empty: str = "nothing in this time range"
    unit: str = "short"
    width: int = 12
    height: int = 8


@dataclass(frozen=True, slots=True)
class Target:
    """One query of a panel: expression, legend, and the letter that transformations know it by."""

    query: str
    legend: str = ""
    letter: str = "A"


class _Panel(Protocol):
    def title(self, title: str) -> Self: ...
    def description(self, description: str) -> Self: ...
    def no_value(self, no_value: str) -> Self: ...
    def unit(self, unit: str) -> Self: ...
    def span(self, w: int) -> Self: ...
    def height(self, h: int) -> Self: ...
    def datasource(self, datasource: DataSourceRef) -> Self: ...
    def override_by_name(self, name: str, properties: list[DynamicConfigValue]) -> Self: ...


P = TypeVar("P", bound=_Panel)


def sources(kind: str, name: str) -> dashboard.DatasourceVariable:
    """Return the variable by which a person chooses the data source; the first one of that type by itself."""
    label = {"prometheus": "Prometheus", "tempo": "Tempo"}[kind]
    return dashboard.DatasourceVariable(name).label(label).type(kind).allow_custom_value(False)


def multi(name: str, label: str, source: DataSourceRef, query: str | dict[str, object]) -> dashboard.QueryVariable:
    """Return a variable with several values of a label; all of them, and spans and series without it, by default."""
    every = VariableOption(selected=True, text=["All"], value=["$__all"])
    variable = dashboard.QueryVariable(name).label(label).datasource(source).query(query).current(every)
    variable = variable.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED).sort(VariableSort.ALPHABETICAL_ASC)
    return variable.multi(True).include_all(True).all_value(ALL)


def laid_out(board: dashboard.Dashboard, rows: Sequence[tuple[str, Sequence[Any]]]) -> dashboard.Dashboard:
    """Return the dashboard with these rows of panels, each panel with a number that does not change by itself."""
    number = 0
    for title, panels in rows:
        number += 1
        board = board.with_row(dashboard.Row(title).id(number))
        for panel in panels:
            number += 1
            board = board.with_panel(panel.id(number))
    return board


def links(title: str) -> dashboard.DashboardLink:
    """Return the link to the other dashboard, which keeps the time range."""
    link = dashboard.DashboardLink(title).type(DashboardLinkType.DASHBOARDS).tags([TAG])
    return link.icon("external link").tooltip("the other dashboard of otel-stall").keep_time(True)


def prom(source: DataSourceRef, target: Target, *, instant: bool = False, shape: str = "") -> prometheus.Dataquery:
    """Return a PromQL query: over the range, or `instant` at its end; `shape` is that of the answer."""
    query = prometheus.Dataquery().expr(target.query).ref_id(target.letter).datasource(source)
    query = query.legend_format(target.legend or "__auto").format(PromQueryFormat(shape or "time_series"))
    return query.instant() if instant else query.range()


def traceql(source: DataSourceRef, target: Target, *, spans: bool = False, series: bool = False) -> tempo.TempoQuery:
    """Return a TraceQL query: for a list of traces, of `spans`, or, where it ends in a metric, for `series`."""
    query = tempo.TempoQuery().query_type("traceql").query(target.query).ref_id(target.letter).datasource(source)
    query = query.filters([]).limit(50).spss(10)
    query = query.table_type(SearchTableType.SPANS if spans else SearchTableType.TRACES)
    return query.metrics_query_type(MetricsQueryType.RANGE) if series else query


def single(said: Said, source: DataSourceRef, query: str, steps: Mapping[float, str]) -> stat.Panel:
    """Return one figure, coloured by thresholds; `steps` has colours by where they begin, beside green."""
    panel = _described(stat.Panel(), said, source).with_target(prom(source, Target(query), instant=True))
    panel = panel.reduce_options(common_builders.ReduceDataOptions().calcs(["lastNotNull"]).values(False))
    panel = panel.graph_mode(common.BigValueGraphMode.NONE).color_mode(common.BigValueColorMode.VALUE)
    return panel.decimals(0 if said.unit == "short" else 1).thresholds(_thresholds(steps))


def bars(said: Said, source: DataSourceRef, queries: Sequence[object]) -> timeseries.Panel:
    """Return stacked bars over time; levels, kinds and gains in their own colours."""
    panel = _drawn(said, source, queries).draw_style(common.GraphDrawStyle.BARS).fill_opacity(80).line_width(0)
    panel = panel.stacking(common_builders.StackingConfig().mode(common.StackingMode.NORMAL))
    return _coloured(panel).interval("1m").min(0)


def share(said: Said, source: DataSourceRef, queries: Sequence[object]) -> timeseries.Panel:
    """Return areas that add up to all of it."""
    panel = _drawn(said, source, queries).fill_opacity(60).line_width(0)
    panel = panel.stacking(common_builders.StackingConfig().mode(common.StackingMode.PERCENT))
    return _coloured(panel).interval("1m")


def lines(
    said: Said, source: DataSourceRef, queries: Sequence[object], steps: Mapping[float, str] | None = None
) -> timeseries.Panel:
    """Return lines over time, with `steps` as lines of thresholds where there are any."""
    panel = _drawn(said, source, queries).line_width(2).fill_opacity(0).interval("1m").min(0)
    if steps:
        style = common_builders.GraphThresholdsStyleConfig().mode(common.GraphThresholdsStyleMode.DASHED)
        panel = panel.thresholds(_thresholds(steps)).thresholds_style(style)
    return panel


def heat(said: Said, source: DataSourceRef, target: Target) -> heatmap.Panel:
    """Return the buckets of a histogram over time."""
    panel = _described(heatmap.Panel(), said, source).with_target(prom(source, target, shape="heatmap"))
    colours = heatmap.HeatmapColorOptions().mode(heatmap_models.HeatmapColorMode.SCHEME).scheme("Blues").steps(32)
    axis = heatmap.YAxisConfig().unit(said.unit)
    return panel.calculate(False).color(colours).y_axis(axis).show_legend().interval("5m")


def tabled(
    said: Said, source: DataSourceRef, targets: Sequence[tuple[Target, str]], rows: Mapping[str, str]
) -> table.Panel:
    """Return a table of figures at the end of the range: a column per target, with its unit, a row per `rows`."""
    panel = _described(table.Panel(), said, source).cell_height(common.TableCellHeight.SM)
    for target, unit in targets:
        panel = panel.with_target(prom(source, target, instant=True, shape="table"))
        properties = [DynamicConfigValue("unit", unit), DynamicConfigValue("decimals", 1 if unit != "short" else 0)]
        panel = panel.override_by_name(target.legend, properties)
    names = {f"Value #{target.letter}": target.legend for target, _ in targets} | dict(rows)
    order = {name: place for place, name in enumerate([*rows, *(f"Value #{target.letter}" for target, _ in targets)])}
    panel = panel.with_transformation(DataTransformerConfig("merge", options={}))
    shaped = {"excludeByName": {"Time": True}, "indexByName": order, "renameByName": names}
    panel = panel.with_transformation(DataTransformerConfig("organize", options=shaped))
    return panel.sort_by([common_builders.TableSortByFieldState().display_name(targets[0][0].legend).desc(True)])


def found(said: Said, source: DataSourceRef, query: str, *, spans: bool = False) -> table.Panel:
    """Return a table of what a TraceQL search finds; Grafana makes a link to the trace of each trace id."""
    panel = _described(table.Panel(), said, source).cell_height(common.TableCellHeight.SM)
    return panel.with_target(traceql(source, Target(query), spans=spans))


def _described(panel: P, said: Said, source: DataSourceRef) -> P:
    panel = panel.title(said.title).description(said.description).no_value(said.empty).unit(said.unit)
    return panel.span(said.width).height(said.height).datasource(source)


def _drawn(said: Said, source: DataSourceRef, queries: Sequence[object]) -> timeseries.Panel:
    panel = _described(timeseries.Panel(), said, source)
    for query in queries:
        assert isinstance(query, (prometheus.Dataquery, tempo.TempoQuery))
        panel = panel.with_target(query)
    legend = common_builders.VizLegendOptions().display_mode(common.LegendDisplayMode.LIST).show_legend(True)
    tooltip = common_builders.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI)
    return panel.legend(legend.placement(common.LegendPlacement.BOTTOM)).tooltip(tooltip)


def _coloured(panel: timeseries.Panel) -> timeseries.Panel:
    for name, colour in COLOURS.items():
        fixed = DynamicConfigValue("color", {"mode": "fixed", "fixedColor": colour})
        panel = panel.override_by_name(name, [fixed])
    return panel


def _thresholds(steps: Mapping[float, str]) -> dashboard.ThresholdsConfig:
    every = [Threshold(None, GREEN), *(Threshold(value, colour) for value, colour in steps.items())]
    return dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(every)
