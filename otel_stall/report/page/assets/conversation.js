// The chosen lane: facts, timeline, the step under the slider, stalls with their evidence, milestones, all steps.

const LEGEND = [
  ["milestone", "milestone"], ["verification", "verification"], ["state", "state changed"],
  ["information", "information"], ["neutral", "nothing to say"], ["none", "no gain"],
];

function chosenRow({ run, lane }) {
  const found = ROWS.find((row) => row.id === run && laneName(row) === lane) ?? ROWS.find((row) => row.id === run);
  if (found || run) return found ?? null;
  return sorted(ROWS, "-cost")[0] ?? null;
}

let shownNumber = null;
let showStep = () => {};

/** Show the lane that the address names; the worst one where it names none. */
async function showConversation(now, { moved }) {
  const row = chosenRow(now);
  if (row === null) {
    shownNumber = null;
    replace("conversation", heading("Conversation"),
      element("p", {}, now.run ? "No conversation of this report has the id in the address." : "There is none."));
    return;
  }
  if (row.number === shownNumber) {
    showStep(now.step);
    return;
  }
  shownNumber = row.number;
  let record;
  try {
    record = await recordOf(row.number);
  } catch (error) {
    replace("conversation", heading("Conversation"), element("p", { class: "notice" },
      "This browser cannot unpack the timeline (it has no DecompressionStream). ",
      "Another one can, and --format json --steps has the same."));
    console.warn(error);
    return;
  }
  if (shownNumber !== row.number) return;
  panel(row, record, now);
  if (moved) {
    document.getElementById("conversation").scrollIntoView({ block: "start" });
    document.getElementById("conversation-title").focus({ preventScroll: true });
  }
}

function heading(...text) {
  return element("h2", { id: "conversation-title", tabindex: "-1" }, ...text);
}

function panel(row, record, now) {
  const chart = element("div", {
    class: zoomed(record) ? "timeline zoomed" : "timeline", role: "img", "aria-label": timelineText(record),
  });
  let index = firstStep(record, now.step);
  let drawn = null;
  const line = element("div", { class: "cursor", "aria-hidden": "true" });
  const place = (on) => pointAt(line, on, record.columns.step[index]);
  const point = (to) => {
    index = to;
    inspected.show(index);
    place(drawn);
  };
  const choose = (to) => {
    if (to < 0 || drawn === null) return;
    point(to);
    go({ run: row.id, lane: laneName(row), step: record.columns.step[to] }, { replaced: true });
  };
  showStep = (step) => {
    const to = record.columns.step.indexOf(Number(step));
    if (to >= 0 && to !== index && drawn !== null) point(to);
  };
  const stepped = record.columns.step.length > 0;
  const inspected = stepped ? inspector(record, index, choose) : null;
  replace(
    "conversation",
    heading("Conversation ", named(record.id, 120)),
    facts(row, record),
    stepped ? legend() : element("p", {}, "No step was counted."),
    stepped ? element("div", { class: "course" }, chart, line) : null,
    stepped ? inspected.box : null,
    stallsPart(record),
    milestonesPart(record),
    stepped ? stepsPart(record, choose) : null,
  );
  if (stepped) {
    drawn = draw(chart, (width) => timelineOption(record, width), place);
    drawn.on("datazoom", () => place(drawn));
    drawn.getZr().on("click", (event) => choose(clicked(drawn, record, event)));
  }
}

function firstStep(record, step) {
  const asked = record.columns.step.indexOf(Number(step));
  if (asked >= 0) return asked;
  return Math.max(0, record.columns.step.indexOf(record.stalls[0]?.detected_step ?? 1));
}

function clicked(chart, record, event) {
  const [at] = chart.convertFromPixel({ gridIndex: 1 }, [event.offsetX, event.offsetY]);
  return record.columns.step.indexOf(Math.round(at));
}

function facts(row, record) {
  const parts = [
    laneName(row) ? ["lane", named(laneName(row), 80)] : null,
    record.agent ? ["agent", named(record.agent, 80)] : null,
    record.service ? ["service", named(record.service, 80)] : null,
    row.started === null ? null : ["started", `${moment(row.started)} UTC`],
    ["steps", count(record.steps)],
    ["in stalls", count(record.stalled_steps)],
    record.tokens === null ? null : ["tokens", count(record.tokens)],
    record.compactions ? ["compactions", count(record.compactions)] : null,
    record.outcome ? ["outcome, says the host", record.outcome] : null,
    record.partial ? ["partial", "spans are missing; counts are lower bounds"] : null,
  ].filter((part) => part !== null);
  return element("dl", { class: "facts" }, ...parts.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

function legend() {
  const parts = LEGEND.map(([gain, text]) => element("li", {}, element("span", { class: `swatch ${gain}` }), text));
  const kinds = KINDS.map((kind) => element("li", {}, element("span", { class: `swatch band ${kind}` }), kind));
  return element("ul", { class: "legend" }, ...parts, ...kinds,
    element("li", {}, element("span", { class: "swatch cut" }), "compaction"));
}

function stallsPart(record) {
  if (!record.stalls.length) return null;
  const parts = record.stalls.map((stall) => element(
    "li", {},
    element("p", {}, chip(stall.kind, stall.kind), ` steps ${count(stall.first_step)} to ${count(stall.last_step)}: `,
      LEVELS.filter((level) => stall.levels[level] !== undefined)
        .map((level) => `${level} at ${count(stall.levels[level])}`).join(", "),
      stall.ongoing ? "; open at the end" : `; ended by ${stall.end_reason}`,
      stall.tokens === null ? "" : `; ${counted(stall.tokens, "token")}`),
    list(stall.evidence),
    element("p", { class: "soft" }, `Input-side rules: ${tiersText(stall.input_tiers)}.`),
  ));
  return element("div", {}, element("h3", {}, "Stalls"), element("ol", { class: "stalls" }, ...parts));
}

function tiersText(tiers) {
  const fired = Object.entries(tiers).filter(([, step]) => step !== null).map(([name, step]) => `${name} at step ${count(step)}`);
  return fired.length ? fired.join(", ") : "silent";
}

function milestonesPart(record) {
  if (!record.milestones.length) return null;
  const rows = record.milestones.map((milestone) => [
    count(milestone.step), named(milestone.name, 120), milestone.evidence,
    milestone.verified ? (milestone.verified_step ? `yes, at step ${count(milestone.verified_step)}` : "yes") : "no",
  ]);
  return element("div", {}, element("h3", {}, "Milestones"),
    table("Milestones", ["step", "name", "evidence", "verified"], rows));
}

const STEPS_A_PART = 200;

/** All steps as a table, made when it is opened, some hundred at a time. */
function stepsPart(record, choose) {
  const body = element("div");
  const details = element("details", { ontoggle: () => { if (details.open && !body.hasChildNodes()) more(0); } },
    element("summary", {}, `All ${counted(record.steps, "step")} as a table`), body);
  const more = (from) => {
    const to = Math.min(record.columns.step.length, from + STEPS_A_PART);
    const rows = [];
    for (let index = from; index < to; index += 1) rows.push(stepCells(stepAt(record, index), index, choose));
    const heads = ["step", "tool", "effect", "outcome", "gain", "why", "dry", "call", "outcome is"];
    body.append(table(`Steps ${from + 1} to ${to}`, heads, rows, { class: "steps" }));
    if (to < record.columns.step.length) {
      const next = element("button", { type: "button", onclick: () => { next.remove(); more(to); } }, "More steps");
      body.append(next);
    }
  };
  return details;
}

function stepCells(step, index, choose) {
  return [
    element("button", { type: "button", class: "link", onclick: () => choose(index) }, count(step.step)),
    named(calledOf(step), 60), step.effect, outcomeOf(step),
    element("span", {}, element("span", { class: `swatch ${step.gain}` }), step.gain), sentence(step.reason), count(step.dry),
    element("code", {}, step.call ?? ""), element("code", {}, step.outcome ?? ""),
  ];
}
