// The report's data, and how its values are written.

const REPORT = JSON.parse(document.getElementById("report").textContent);
const LEVELS = ["notice", "replan", "ask_user", "abandon"];
const KINDS = ["loop", "no_gradient", "amnesia"];
const GAINS = ["milestone", "verification", "state", "information", "neutral", "none"];

/** Rows of the table as objects, with the lane's place in the report as `number`. */
const ROWS = REPORT.rows.map((cells, number) => {
  const row = { number };
  REPORT.columns.forEach((name, place) => { row[name] = cells[place]; });
  return row;
});

const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

/** Text of a trace on one line, without characters that hide, reorder or control. */
function printable(text, limit = 200) {
  const safe = String(text).replace(/\s/gu, " ").replace(UNSAFE, "\ufffd");
  return safe.length <= limit ? safe : `${safe.slice(0, limit - 1)}…`;
}

function count(number) {
  return number.toLocaleString("en-US");
}

function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** A share in whole percent; one that is not 0 is never shown as 0%. */
function percent(share) {
  return share === 0 || share >= 0.01 ? `${Math.round(share * 100)}%` : "less than 1%";
}

/** "30%, 18% to 45%" of a proportion, "" where there is no share. */
function interval(proportion) {
  if (proportion === null || proportion.share === null) return "";
  const bounds = proportion.low === null ? "" : `, ${percent(proportion.low)} to ${percent(proportion.high)}`;
  return percent(proportion.share) + bounds;
}

/** Milliseconds since 1970 as date and time in UTC. */
function moment(milliseconds) {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString().replace("T", " ").slice(0, 19);
}

/** A clause as a sentence; names of kinds stay as they are. */
function sentenceOf(text) {
  if (KINDS.some((kind) => text.startsWith(kind))) return `${text}.`;
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

function laneName(row) {
  return row.lane === "main" || row.lane === row.agent ? "" : row.lane;
}

/** The record of one lane, unpacked; the last few are kept. */
const recordOf = (() => {
  const kept = new Map();
  return async (number) => {
    if (kept.has(number)) return kept.get(number);
    const packed = atob(document.getElementById(`lane-${number}`).textContent);
    const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const record = JSON.parse(await new Response(stream).text());
    if (kept.size >= 8) kept.delete(kept.keys().next().value);
    kept.set(number, record);
    return record;
  };
})();

/** One step of a record, from its columns. */
function stepAt(record, index) {
  const { columns } = record;
  const step = { index };
  for (const [name, column] of Object.entries(columns)) {
    step[name] = Array.isArray(column) ? column[index] : column.names[column.at[index]];
  }
  return step;
}

function stallAround(record, step) {
  return record.stalls.find((stall) => stall.first_step <= step && step <= stall.last_step) ?? null;
}

/** The level that a stall had reached at a step, null before it was told. */
function levelAt(stall, step) {
  return LEVELS.filter((level) => stall.levels[level] !== undefined && stall.levels[level] <= step).at(-1) ?? null;
}

function sentence(reason) {
  return REPORT.reasons[reason] ?? reason;
}

/** Where the trace of a step is to be seen, null where the report was made without a template. */
function address(record, step) {
  if (REPORT.link === null || !step.trace) return null;
  const values = {
    trace_id: step.trace,
    span_id: step.span,
    conversation: record.id,
    start_ms: record.times[0],
    end_ms: record.times[1],
  };
  return REPORT.link.map(([text, field]) => text + (field ? encodeURIComponent(values[field]) : "")).join("");
}
