// What is shown, as the part of the page's address after "#": a view can be linked and stepped back to.

const DEFAULTS = {
  q: "", kind: "", level: "", show: "", sort: "-cost", page: "1", size: "20", run: "", lane: "", step: "",
};

function view() {
  const given = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(Object.entries(DEFAULTS).map(([name, value]) => [name, given.get(name) ?? value]));
}

/** The address of the present view with some of it changed. */
function addressOf(changed) {
  const told = Object.entries({ ...view(), ...changed }).filter(([name, value]) => String(value) !== DEFAULTS[name]);
  return `#${new URLSearchParams(told.map(([name, value]) => [name, String(value)]))}`;
}

/** Change the view; `replaced` leaves no step to go back to. */
function go(changed, { replaced = false } = {}) {
  const to = addressOf(changed);
  if (to === location.hash) return;
  history[replaced ? "replaceState" : "pushState"](null, "", to);
  show();
}
