// One step in words: what it was, what it gained, and why it gained nothing.

function outcomeOf(step) {
  if (step.exit_code !== null) return `exit code ${step.exit_code}`;
  if (step.failed) return "failed";
  return step.result === "captured" ? "did not fail" : `result ${step.result}`;
}

function calledOf(step) {
  return step.command && step.command !== step.tool ? `${step.tool} (${step.command})` : step.tool;
}

/** "gained nothing: the outcome of this call was known", of a step. */
function gainOf(step) {
  const said = sentence(step.reason);
  if (step.gain === "none") return `gained nothing: ${said}`;
  return step.gain === "neutral" ? `says nothing either way: ${said}` : `${step.gain}: ${said}`;
}

function spoken(step) {
  return `Step ${step.step}: ${printable(calledOf(step), 80)}, ${gainOf(step)}. ${step.dry} without gain.`;
}

function stallOf(record, step) {
  const stall = stallAround(record, step.step);
  if (stall === null) return "outside any stall";
  const level = levelAt(stall, step.step);
  return `${stall.kind}, ${level === null ? `told at step ${stall.detected_step}` : `level ${level}`}`;
}

/** Elements that describe a step; `short` is what fits beside a pointer. */
function describe(record, step, short = false) {
  const head = element(
    "p", { class: "step" }, element("b", {}, `Step ${count(step.step)} `), named(calledOf(step), 80),
    element("span", { class: "soft" }, `, ${step.effect}, ${outcomeOf(step)}`),
  );
  const gained = element("p", {}, element("span", { class: `swatch ${step.gain}` }), gainOf(step));
  const where = element("p", { class: "soft" },
    `${counted(step.dry, "step")} without gain, ${count(step.distance)} since a verified milestone; ${stallOf(record, step)}`);
  return short ? [head, gained, where] : [head, gained, where, element("p", { class: "soft" }, ...traced(record, step))];
}

function traced(record, step) {
  const parts = [
    "call ", element("code", {}, step.call ?? "unknown"), ", outcome ", element("code", {}, step.outcome ?? "unknown"),
    step.ended ? `, ended ${moment(step.ended)} UTC` : "",
  ];
  if (step.trace) parts.push(", trace ", element("code", {}, step.trace), ", span ", element("code", {}, step.span));
  const to = address(record, step);
  if (to !== null) parts.push(" ", element("a", { href: to, rel: "noreferrer" }, "open the span"));
  return parts;
}

/** A slider over the steps, the description of the chosen one, and buttons to where something begins. */
function inspector(record, chosen, choose) {
  const place = element("div", { class: "inspected", "aria-live": "polite" });
  const slider = element("input", {
    type: "range", id: "step", min: 1, max: record.columns.step.length, step: 1, "aria-label": "step",
    oninput: (event) => choose(Number(event.target.value) - 1),
  });
  const told = record.stalls.map((stall) => [`${stall.kind} told at ${stall.detected_step}`, stall.detected_step]);
  const jumps = told.slice(0, 12).map(([text, step]) => element("button", {
    type: "button", onclick: () => choose(record.columns.step.indexOf(step)),
  }, text));
  const show = (index) => {
    const step = stepAt(record, index);
    slider.value = index + 1;
    slider.setAttribute("aria-valuetext", spoken(step));
    place.replaceChildren(...describe(record, step));
  };
  show(chosen);
  return { show, box: element("div", { class: "inspector" }, slider, element("div", { class: "jumps" }, ...jumps), place) };
}
