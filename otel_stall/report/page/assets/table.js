// The table of conversations: filtered, sorted and paged; the view stands in the address.

const HEADS = [
  ["id", "conversation", (row) => row.id],
  ["agent", "agent", (row) => row.agent || row.service],
  ["started", "started, UTC", (row) => row.started ?? 0],
  ["steps", "steps", (row) => row.steps],
  ["milestones", "milestones", (row) => row.milestones],
  ["kinds", "stalls", (row) => row.kinds.join(" ")],
  ["cost", "level", (row) => row.level * 1e9 + row.stalled_steps],
  ["stalled_steps", "steps inside", (row) => row.stalled_steps],
  ["stalled_tokens", "tokens inside", (row) => row.stalled_tokens ?? -1],
  ["detected_step", "told at", (row) => row.detected_step ?? Infinity],
  ["input_step", "input rules", (row) => row.input_step ?? Infinity],
  ["steps_since_milestone", "since milestone", (row) => row.steps_since_milestone],
];
const NUMBERS = new Set(
  ["steps", "milestones", "stalled_steps", "stalled_tokens", "detected_step", "input_step", "steps_since_milestone"],
);
const SHOWN = [
  ["", "all"],
  ["stalled", "stalled"],
  ["silent", "stalled, unseen by input-side rules"],
  ["ongoing", "stalled at the end"],
  ["healthy", "not stalled"],
  ["partial", "partial (spans missing)"],
];
const TESTS = {
  stalled: (row) => row.stalls > 0,
  silent: (row) => row.stalls > 0 && row.input_step === null,
  ongoing: (row) => row.ongoing,
  healthy: (row) => row.stalls === 0,
  partial: (row) => row.partial,
};

function matching({ q, kind, level, show: shown }) {
  const words = q.toLowerCase().split(/\s+/u).filter(Boolean);
  const rank = LEVELS.indexOf(level);
  const test = TESTS[shown] ?? (() => true);
  return ROWS.filter((row) => test(row) && row.level >= rank && (!kind || row.kinds.includes(kind)) &&
    words.every((word) => searched(row).includes(word)));
}

function searched(row) {
  row.text ??= [row.id, row.lane, row.agent, row.service].join("\n").toLowerCase();
  return row.text;
}

function sorted(rows, sort) {
  const down = sort.startsWith("-");
  const head = HEADS.find(([name]) => name === sort.replace("-", "")) ?? HEADS[6];
  const order = (one, other) => (one < other ? -1 : one > other ? 1 : 0);
  return rows
    .map((row) => [head[2](row), row])
    .sort(([one, a], [other, b]) => order(one, other) * (down ? -1 : 1) || a.number - b.number)
    .map(([, row]) => row);
}

/** The frame of the table, made once: what a person types into is never made anew. */
function tableFrame() {
  const found = element("p", { id: "found", role: "status", class: "soft" });
  replace("conversations", filters(), found, element("div", { id: "rows" }), element("nav", {
    id: "pages", "aria-label": "Pages of the table",
  }));
}

function filters() {
  let waiting = 0;
  const typed = (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => go({ q: event.target.value, page: 1 }, { replaced: true }), 120);
  };
  return element(
    "form", { class: "filters", role: "search", "aria-label": "Conversations", onsubmit: (event) => event.preventDefault() },
    labelled("search", element("input", {
      id: "filter-q", type: "search", placeholder: "id, agent, lane or service", oninput: typed, autocomplete: "off",
    })),
    labelled("kind", choice("kind", [["", "any"], ...KINDS.map((kind) => [kind, kind])])),
    labelled("level", choice("level", [["", "any"], ...LEVELS.map((level) => [level, `${level} or higher`])])),
    labelled("show", choice("show", SHOWN)),
  );
}

function labelled(name, control) {
  return element("label", {}, element("span", {}, name), control);
}

function choice(name, options) {
  return element(
    "select", { id: `filter-${name}`, onchange: (event) => go({ [name]: event.target.value, page: 1 }) },
    ...options.map(([value, text]) => element("option", { value }, text)),
  );
}

function showTable(now) {
  for (const name of ["q", "kind", "level", "show"]) {
    const control = document.getElementById(`filter-${name}`);
    if (control !== document.activeElement || control.value === "") control.value = now[name];
  }
  const rows = sorted(matching(now), now.sort);
  const size = now.size === "all" ? rows.length || 1 : Math.max(1, Number(now.size) || 20);
  const pages = Math.max(1, Math.ceil(rows.length / size));
  const page = Math.min(pages, Math.max(1, Number(now.page) || 1));
  const shown = rows.slice((page - 1) * size, page * size);
  replace("found", foundText(rows, shown, page, size));
  replace("rows", rowsTable(shown, now));
  replace("pages", ...pager(page, pages, now));
}

function foundText(rows, shown, page, size) {
  const lanes = new Set(ROWS.map((row) => row.id)).size === ROWS.length ? "conversation" : "lane";
  const all = rows.length === ROWS.length ? counted(rows.length, lanes) : `${count(rows.length)} of ${counted(ROWS.length, lanes)}`;
  const first = (page - 1) * size + 1;
  return shown.length < rows.length ? `${all}, ${count(first)} to ${count(first + shown.length - 1)} shown` : all;
}

function rowsTable(rows, now) {
  return element(
    "div", { class: "scrolled", tabindex: "0", role: "region", "aria-label": "Table of conversations" },
    element(
      "table", { class: "rows" },
      element("caption", { class: "hidden" }, "Conversations; the buttons in the first row sort"),
      element("thead", {}, element("tr", {}, ...HEADS.map((head) => headCell(head, now)))),
      element("tbody", {}, ...rows.map((row) => bodyRow(row, now))),
    ),
  );
}

function headCell([name, text], now) {
  const sort = now.sort.replace("-", "") === name;
  const down = now.sort.startsWith("-");
  const first = NUMBERS.has(name) || name === "cost" || name === "started" ? `-${name}` : name;
  const next = !sort ? first : down ? name : `-${name}`;
  return element(
    "th", { scope: "col", class: NUMBERS.has(name) ? "number" : null, "aria-sort": sort ? (down ? "descending" : "ascending") : null },
    element("button", {
      type: "button", id: `sort-${name}`,
      onclick: () => { go({ sort: next, page: 1 }); document.getElementById(`sort-${name}`).focus(); },
    }, text, element("span", { "aria-hidden": "true" }, sort ? (down ? " ▼" : " ▲") : "")),
  );
}

function bodyRow(row, now) {
  const chosen = now.run === row.id && now.lane === laneName(row);
  const link = element("a", {
    href: addressOf({ run: row.id, lane: laneName(row), step: "" }), "aria-current": chosen ? "true" : null,
  }, named(row.id, 120));
  return element(
    "tr", { class: chosen ? "chosen" : null, "data-number": row.number },
    element("th", { scope: "row" }, link, laneName(row) ? element("span", { class: "soft" }, " ", named(laneName(row), 60)) : "",
      row.partial ? element("span", { class: "soft" }, " (partial)") : ""),
    element("td", {}, element("span", { class: "agent" }, named(row.agent || row.service, 60))),
    element("td", {}, row.started === null ? "" : moment(row.started).slice(0, 16)),
    element("td", { class: "number" }, count(row.steps)),
    element("td", { class: "number" }, count(row.milestones)),
    element("td", {}, ...row.kinds.map((kind) => chip(kind, kind))),
    element("td", {}, row.level < 0 ? "" : LEVELS[row.level], row.ongoing ? element("span", { class: "soft" }, " at the end") : ""),
    element("td", { class: "number" }, row.stalls ? share(row) : ""),
    element("td", { class: "number" }, row.stalled_tokens === null ? "" : count(row.stalled_tokens)),
    element("td", { class: "number" }, row.detected_step === null ? "" : count(row.detected_step)),
    element("td", { class: "number" }, row.stalls ? (row.input_step === null ? "silent" : count(row.input_step)) : ""),
    element("td", { class: "number" }, count(row.steps_since_milestone)),
  );
}

/** Stalled steps with a bar behind them that is their part of the run. */
function share(row) {
  const part = row.steps ? Math.min(100, (row.stalled_steps / row.steps) * 100) : 0;
  return element("span", { class: "part", style: `--part: ${part.toFixed(1)}%` }, count(row.stalled_steps));
}

function pager(page, pages, now) {
  if (pages === 1 && now.size !== "all") return [];
  const turn = (to, text) => element("button", {
    type: "button", disabled: to < 1 || to > pages, onclick: () => go({ page: to }),
  }, text);
  const sizes = choice("size", [["20", "20 a page"], ["100", "100 a page"]]);
  sizes.value = now.size;
  sizes.setAttribute("aria-label", "rows a page");
  return [turn(page - 1, "Previous"), element("span", {}, `page ${count(page)} of ${count(pages)}`), turn(page + 1, "Next"), sizes];
}
