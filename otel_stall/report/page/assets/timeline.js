// The timeline of one lane: milestones, gain of each step, stalls with their levels, and the dry streak, one
// row below the other over the same steps; compactions cut through all of them.

const HEIGHTS = { milestone: 1, verification: 0.8, state: 0.65, information: 0.5, neutral: 0.3, none: 0.18 };
const FLAG = "path://M0 0 L3 0 L3 1 L16 6 L3 11 L3 24 L0 24 Z";
const ROWS_OF_CHART = [
  { name: "milestones", top: 34, height: 26 },
  { name: "gain of each step", top: 92, height: 56 },
  { name: "stalls and levels", top: 180, height: 30 },
  { name: "steps without gain (dry streak)", top: 244, height: 110 },
];
const LEFT = 40;
const RIGHT = 24;
const LONGEST_LABEL = 24;
const SHADES = { before: 0.16, notice: 0.32, replan: 0.5, ask_user: 0.72, abandon: 0.95 };

/** How many pixels a step takes; labels of what is narrower than they are left out. */
function pixelsPerStep(record, width) {
  return Math.max(0, width - LEFT - RIGHT) / Math.max(1, record.steps);
}

function timelineOption(record, width) {
  const last = Math.max(1, record.steps) + 0.5;
  const rows = ROWS_OF_CHART.map((row) => ({ ...row }));
  return {
    ...plain(),
    title: rows.map((row) => ({
      text: row.name, left: LEFT, top: row.top - 22, padding: 0,
      textStyle: { fontSize: 12, fontWeight: "normal", color: colour("soft") },
    })),
    grid: rows.map((row) => ({ left: LEFT, right: RIGHT, top: row.top, height: row.height })),
    xAxis: rows.map((row, index) => ({
      gridIndex: index, type: "value", min: 0.5, max: last, minInterval: 1, containShape: false,
      axisLine: { show: index > 0, lineStyle: { color: colour("line") }, onZero: false },
      axisTick: { show: false }, splitLine: { show: false },
      axisLabel: { show: index === rows.length - 1, color: colour("soft"), formatter: whole },
    })),
    yAxis: rows.map((row, index) => yAxis(index, record)),
    axisPointer: { link: [{ xAxisIndex: "all" }], snap: false },
    tooltip: { ...plain().tooltip, trigger: "axis", formatter: (at) => stepHint(record, at) },
    dataZoom: zoomed(record) ? zooms() : [],
    series: [
      flags(record, width), ...gains(record), ...bands(record, width), dryStreak(record), ...cuts(record),
    ],
  };
}

function whole(value) {
  return Number.isInteger(value) ? count(value) : "";
}

/** Whether there are so many steps that a person wants to look at some of them. */
function zoomed(record) {
  return record.steps > 60;
}

function zooms() {
  return [
    {
      type: "slider", xAxisIndex: [0, 1, 2, 3], bottom: 6, height: 22, showDataShadow: false, brushSelect: false,
      labelFormatter: (value) => `step ${Math.round(value)}`, borderColor: colour("line"),
      textStyle: { color: colour("soft") },
    },
    { type: "inside", xAxisIndex: [0, 1, 2, 3], zoomOnMouseWheel: "ctrl", moveOnMouseMove: false },
  ];
}

function yAxis(index, record) {
  const shown = index === 3;
  const most = axisEnd(record);
  return {
    gridIndex: index, type: "value", min: 0, max: shown ? most : 1, interval: shown ? most / 2 : 1, show: shown,
    axisLabel: { color: colour("soft") }, splitLine: { lineStyle: { color: colour("line") } },
  };
}

/** The longest dry streak, or where that is longer the one that opens a stall. */
function highestDry(record) {
  return record.columns.dry.reduce((one, other) => Math.max(one, other), REPORT.dry_levels.notice);
}

function axisEnd(record) {
  return Math.ceil(highestDry(record) / 10) * 10;
}

function stepHint(record, at) {
  const number = Math.round((Array.isArray(at) ? at[0] : at).axisValue);
  const index = record.columns.step.indexOf(number);
  return index < 0 ? null : element("div", { class: "hint" }, ...describe(record, stepAt(record, index), true));
}

function flags(record, width) {
  const data = placed(record, width).map(({ milestone, position }) => ({
    value: [Math.max(1, milestone.step), 0.5],
    name: printable(milestone.name, LONGEST_LABEL),
    label: position === null ? { show: false } : { position },
    itemStyle: milestone.evidence === "declared"
      ? { color: "transparent", borderColor: colour("milestone"), borderWidth: 1.2 }
      : { color: colour("milestone") },
  }));
  return {
    type: "scatter", xAxisIndex: 0, yAxisIndex: 0, data, symbol: FLAG, symbolSize: [13, 22], symbolOffset: ["40%", 0],
    clip: false, label: { show: true, formatter: (at) => at.name, color: colour("ink"), fontSize: 11 },
    tooltip: { show: false }, z: 4,
  };
}

/** Milestones with the side of the flag on which the name has room, null where it has none on either. */
function placed(record, width) {
  const scale = pixelsPerStep(record, width);
  let taken = -Infinity;
  return record.milestones.map((milestone, index) => {
    const at = milestone.step * scale;
    const wide = printable(milestone.name, LONGEST_LABEL).length * 6.5 + 24;
    const next = (record.milestones[index + 1]?.step ?? Infinity) * scale;
    const end = Math.min(next, record.steps * scale + 20);
    const position = at + wide <= end ? "right" : at - wide >= taken ? "left" : null;
    taken = position === "right" ? at + wide : at + 16;
    return { milestone, position };
  });
}

function gains(record) {
  const { columns } = record;
  return GAINS.map((gain) => {
    const place = columns.gain.names.indexOf(gain);
    const steps = columns.step.filter((_, index) => place >= 0 && columns.gain.at[index] === place);
    return {
      type: "bar", name: gain, xAxisIndex: 1, yAxisIndex: 1, barGap: "-100%", barCategoryGap: "8%", barMinWidth: 1,
      itemStyle: { color: colour(gain) }, data: steps.map((step) => [step, HEIGHTS[gain]]), z: 3,
    };
  });
}

/** The stalls as areas, in rows where they overlap, darker with each level; pale over the other rows of the chart. */
function bands(record, width) {
  const rows = bandRows(record);
  const scale = pixelsPerStep(record, width);
  const areas = (labelled) => record.bands.flatMap((band) => band.parts.map(([level, from, to], index) => {
    const text = bandText(band, index, scale);
    const shade = SHADES[level ?? "before"];
    const label = {
      show: labelled && rows < 3 && text !== "", formatter: text, position: "inside", fontSize: 11,
      color: colour(shade > 0.6 ? "panel" : "ink"),
    };
    return [
      { coord: [from - 0.5, labelled ? 1 - band.row / rows : 0], itemStyle: { color: colour(band.kind), opacity: labelled ? shade : 0.08 }, label },
      { coord: [to + 0.5, labelled ? 1 - (band.row + 1) / rows : "max"] },
    ];
  }));
  return [2, 1, 3].map((grid) => ({
    type: "line", xAxisIndex: grid, yAxisIndex: grid, data: [[0, 0]], symbol: "none", silent: true, z: 1,
    tooltip: { show: false },
    markArea: { silent: true, data: grid === 2 ? areas(true) : areas(false).map(([one, other]) => [
      { ...one, coord: undefined, xAxis: one.coord[0] }, { xAxis: other.coord[0] },
    ]) },
  }));
}

/** What a part of a band is called: the kind and the levels, as far as they have room. */
function bandText(band, index, scale) {
  const fits = (text, [, from, to]) => (to - from + 1) * scale > text.length * 6.5;
  const [level] = band.parts[index];
  const texts = index === 0 ? [band.kind] : index === 1 && !fits(band.kind, band.parts[0]) ? [`${band.kind}: ${level}`, band.kind] : [level];
  return texts.find((text) => fits(text, band.parts[index])) ?? "";
}

function bandRows(record) {
  return record.bands.reduce((most, band) => Math.max(most, band.row + 1), 1);
}

function dryStreak(record) {
  const { columns } = record;
  const highest = highestDry(record);
  const lines = Object.entries(REPORT.dry_levels).filter(([, dry]) => dry <= highest);
  return {
    type: "line", xAxisIndex: 3, yAxisIndex: 3, step: "middle", symbol: "none", z: 3,
    lineStyle: { color: colour("ink"), width: 1.6 }, areaStyle: { color: colour("none"), opacity: 0.18 },
    data: columns.step.map((step, index) => [step, columns.dry[index]]),
    markLine: {
      silent: true, symbol: "none",
      lineStyle: { color: colour("soft"), type: "dotted" },
      label: { position: "insideStartTop", color: colour("soft"), fontSize: 10 },
      data: lines.map(([level, dry], index) => ({
        yAxis: dry, label: { formatter: level, show: dry - (lines[index - 1]?.[1] ?? 0) > axisEnd(record) / 10 },
      })),
    },
  };
}

function cuts(record) {
  if (!record.compacted_at.length) return [];
  return [0, 1, 2, 3].map((grid) => ({
    type: "line", xAxisIndex: grid, yAxisIndex: grid, data: [[0, 0]], symbol: "none", silent: true, z: 5, tooltip: { show: false },
    markLine: {
      silent: true, symbol: "none", lineStyle: { color: colour("cut"), type: "dashed", width: 1.5 },
      data: [...new Set(record.compacted_at)].map((step) => ({
        xAxis: step + 0.5,
        label: { show: grid === 0, formatter: "compaction", position: "end", color: colour("cut"), fontSize: 11, distance: 2 },
      })),
    },
  }));
}

/** Put the line through the chosen step where that is; a part of the page, so that moving it draws nothing anew. */
function pointAt(line, chart, step) {
  const at = chart.convertToPixel({ xAxisIndex: 1, yAxisIndex: 1 }, [step, 0])[0];
  line.style.left = `${at}px`;
  line.hidden = at < LEFT - 1 || at > chart.getWidth() - RIGHT + 1;
}

/** What the picture shows, for those who do not see it. */
function timelineText(record) {
  const stalls = record.stalls.map((stall) =>
    `${stall.kind} from step ${stall.first_step} to ${stall.last_step}, ${LEVELS
      .filter((level) => stall.levels[level] !== undefined)
      .map((level) => `${level} at ${stall.levels[level]}`).join(", ")}`);
  const flagged = record.milestones.map((milestone) => `${printable(milestone.name, 60)} at step ${milestone.step}`);
  return [
    `Timeline of ${counted(record.steps, "step")}.`,
    stalls.length ? `Stalls: ${stalls.join("; ")}.` : "No stall.",
    flagged.length ? `Milestones: ${flagged.join("; ")}.` : "No milestone.",
    record.compacted_at.length ? `Compactions after step ${record.compacted_at.join(", ")}.` : "",
  ].join(" ");
}
