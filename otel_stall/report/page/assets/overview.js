// What the whole body of traces says: figures, which kind dominates, and what could not be seen.

const MEASURES = ["conversations", "steps", "tokens"];

function overview() {
  const [first, ...rest] = REPORT.headline;
  replace("version", REPORT.version);
  replace("headline", first);
  replace("sub-headline", ...rest.map((line) => element("p", {}, line)));
  replace("tiles", ...tiles().map(tile));
  if (REPORT.summary.conversations) replace("kinds", ...kinds());
  replace("remarks", ...remarks());
}

function tiles() {
  const { summary } = REPORT;
  const { any, not_measurable: unmeasurable } = summary.measurement;
  const progress = summary.measurement.partial_progress;
  const silent = any.input_tiers_silent;
  return [
    ["conversations", "Conversations", count(summary.conversations), counted(summary.steps, "step")],
    ["stalled", "Stalled", count(summary.stalled), interval(any.conversations)],
    ["stalled_steps", "Steps in stalls", count(summary.stalled_steps), interval(any.steps)],
    any.tokens === null
      ? ["stalled_tokens", "Tokens in stalls", null, unmeasurable.tokens]
      : ["stalled_tokens", "Tokens in stalls", count(any.tokens.count), interval(any.tokens)],
    silent === null
      ? ["input_tiers_silent", "Unseen by input-side rules", null, unmeasurable.input_tiers]
      : ["input_tiers_silent", "Unseen by input-side rules", count(summary.input_tiers_silent),
        summary.stalled ? `of ${counted(summary.stalled, "stalled conversation")}` : "nothing stalled"],
    progress === null
      ? ["with_milestone", "Partial progress", null, unmeasurable.partial_progress]
      : ["with_milestone", "Partial progress", count(progress.count),
        `of ${count(progress.of)} unfinished reached a verified milestone`],
  ];
}

function tile([figure, name, value, detail]) {
  return element(
    "div", { class: "tile" },
    element("dt", {}, name),
    element("dd", { class: "figure", "data-figure": figure }, value ?? "not measurable"),
    element("dd", { class: "detail" }, detail ?? ""),
  );
}

function shares() {
  const { measurement } = REPORT.summary;
  const found = KINDS.map((kind) => [kind, measurement.kinds[kind] ?? null]);
  return [...found, ["any kind", measurement.any]];
}

function kinds() {
  const { measurement } = REPORT.summary;
  const rows = shares().map(([kind, share]) => [
    kind in measurement.kinds ? chip(kind, kind) : "any kind",
    ...MEASURES.map((key) => proportionCell(kind, key, share)),
  ]);
  const place = element("div", { class: "shares", role: "img", "aria-label": "Shares of each kind, as in the table" });
  const parts = [
    element("h3", {}, "Which kind dominates?"),
    element("p", { class: "verdict" }, sentenceOf(REPORT.verdict), " Intervals are 95 % intervals."),
    place,
    table("Stalls by kind", ["kind", "conversations", "steps inside", "tokens inside"], rows, { class: "kinds" }),
  ];
  if (REPORT.measurement.length) {
    parts.push(element("details", {}, element("summary", {}, "The same in words"), list(REPORT.measurement)));
  }
  requestAnimationFrame(() => draw(place, sharesOption));
  return parts;
}

function proportionCell(kind, key, share) {
  const { measurement } = REPORT.summary;
  if (share === null) return `not measurable: ${measurement.not_measurable[kind]}`;
  const proportion = share[key];
  if (proportion === null) return `not measurable: ${measurement.not_measurable[key]}`;
  const bounds = interval(proportion);
  return element(
    "span", {},
    element("b", { "data-figure": `${kind}.${key}` }, count(proportion.count)),
    ` of ${count(proportion.of)}`,
    bounds ? ` (${bounds})` : "",
  );
}

/** Bars for the shares with lines for their intervals; one panel a measure, side by side or below each other. */
function sharesOption(width) {
  const all = shares();
  const across = width >= 640;
  const names = all.map(([kind]) => kind);
  const option = { ...plain(), title: [], grid: [], xAxis: [], yAxis: [], series: [] };
  option.tooltip.formatter = (at) => element("span", {}, `${at.name}: ${at.data.said}`);
  MEASURES.forEach((key, panel) => {
    const left = across ? 12 + panel * 29.3 : 24;
    const top = across ? 28 : 28 + panel * 152;
    option.title.push({
      text: `share of ${key}`, left: `${left}%`, top: top - 26, padding: 0,
      textStyle: { fontSize: 12, fontWeight: "normal", color: colour("soft") },
    });
    option.grid.push({ left: `${left}%`, width: across ? "26.5%" : "68%", top, height: 92 });
    option.xAxis.push({
      gridIndex: panel, type: "value", min: 0, max: most(all, key), interval: most(all, key) / 2,
      axisLabel: { formatter: (value) => percent(value), color: colour("soft"), fontSize: 11 },
      splitLine: { lineStyle: { color: colour("line") } },
    });
    option.yAxis.push({
      gridIndex: panel, type: "category", data: names, inverse: true,
      axisLabel: { show: !across || panel === 0, color: colour("ink"), fontSize: 12 },
      axisTick: { show: false }, axisLine: { lineStyle: { color: colour("line") } },
    });
    option.series.push(sharesSeries(all, key, panel));
  });
  return option;
}

function most(all, key) {
  const ends = all.map(([, share]) => share?.[key]).map((one) => (one ? one.high ?? one.share ?? 0 : 0));
  const step = Math.max(...ends) > 0.5 ? 0.5 : 0.1;
  return Math.min(1, Math.max(step, Math.ceil(Math.max(...ends) / step) * step));
}

function sharesSeries(all, key, panel) {
  const data = all.map(([kind, share]) => {
    const one = share?.[key] ?? null;
    const said = one === null ? "not measurable" : interval(one) || "none";
    return {
      value: one?.share ?? 0, said,
      itemStyle: { color: colour(KINDS.includes(kind) ? kind : "soft") },
      label: { show: one === null, position: "right", formatter: "not measurable", color: colour("soft"), fontSize: 11 },
    };
  });
  const lines = all
    .map(([, share], place) => [share?.[key] ?? null, place])
    .filter(([one]) => one !== null && one.low !== null)
    .map(([one, place]) => [{ coord: [one.low, place] }, { coord: [one.high, place] }]);
  return {
    type: "bar", xAxisIndex: panel, yAxisIndex: panel, barWidth: "60%", data,
    markLine: {
      silent: true, symbol: "none", data: lines, label: { show: false },
      lineStyle: { color: colour("ink"), width: 2, type: "solid" },
    },
  };
}

function remarks() {
  const parts = [];
  if (REPORT.unseen.length) {
    parts.push(element("h3", {}, "Not measured"), list(REPORT.unseen));
  }
  if (REPORT.problem_lines.length) {
    parts.push(element(
      "details", {},
      element("summary", {}, counted(REPORT.problem_lines.length, "problem")),
      list(REPORT.problem_lines),
    ));
  }
  return parts;
}
