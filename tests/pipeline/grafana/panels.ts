// The types of @grafana/schema as JSON has them: a member of an enumeration is its value. What a panel leaves out, Grafana fills in.
import type * as schema from "@grafana/schema";
import type { Options as Heatmap, FieldConfig as HeatmapField } from "@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen";
import type { Options as Stat } from "@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen";
import type { Options as Table, FieldConfig as TableField } from "@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen";
import type { Options as TimeSeries, FieldConfig as TimeSeriesField } from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";

type Plain<T> = T extends string
  ? `${T}`
  : T extends (infer Item)[]
    ? Plain<Item>[]
    : T extends object
      ? { [Key in keyof T]: Plain<T[Key]> }
      : T;

type Loose<T> = T extends (infer Item)[] ? Loose<Item>[] : T extends object ? { [Key in keyof T]?: Loose<T[Key]> } : T;

type Field<Custom> = Omit<schema.FieldConfig, "custom"> & { custom?: Loose<Custom> };

type Typed<Kind extends string, Options, Custom> = Omit<schema.Panel, "type" | "options" | "fieldConfig"> & {
  type: Kind;
  options: Loose<Options>;
  fieldConfig: Omit<schema.FieldConfigSource, "defaults"> & { defaults: Field<Custom> };
};

export type Board = Plain<Omit<schema.Dashboard, "panels">>;
export type Row = Plain<schema.RowPanel>;
export type Panels = {
  heatmap: Plain<Typed<"heatmap", Heatmap, HeatmapField>>;
  stat: Plain<Typed<"stat", Stat, Record<string, never>>>;
  table: Plain<Typed<"table", Table, TableField>>;
  timeseries: Plain<Typed<"timeseries", TimeSeries, TimeSeriesField>>;
};
