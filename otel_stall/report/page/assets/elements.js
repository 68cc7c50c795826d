// Elements of the page. Text goes in as text, never as markup.

/** An element with attributes, listeners (`onclick` and its like are functions) and children. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

function replace(id, ...children) {
  const place = document.getElementById(id);
  place.replaceChildren(...children.filter((child) => child !== null));
  return place;
}

/** Text of a trace, kept apart from the direction of what is around it. */
function named(text, limit) {
  return element("bdi", {}, printable(text, limit));
}

function list(lines) {
  return element("ul", {}, ...lines.map((line) => element("li", {}, named(line, 400))));
}

function chip(text, kind) {
  return element("span", { class: `chip ${kind}` }, text);
}

function cells(kind, values) {
  return values.map((value) => element(kind, kind === "th" ? { scope: "col" } : {}, value));
}

/** A table that scrolls sideways by itself where the window is narrow; reachable by keyboard. */
function table(caption, heads, rows, attributes = {}) {
  return element(
    "div", { class: "scrolled", tabindex: "0", role: "region", "aria-label": caption },
    element(
      "table", attributes,
      element("caption", { class: "hidden" }, caption),
      element("thead", {}, element("tr", {}, ...cells("th", heads))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells("td", row)))),
    ),
  );
}
