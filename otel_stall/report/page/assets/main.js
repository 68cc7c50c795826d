// Shows what the address says, at first and whenever it changes.

function show({ moved = false } = {}) {
  const now = view();
  showTable(now);
  showConversation(now, { moved });
}

// A report on one run is about that run: its picture comes first.
if (ROWS.length === 1) document.querySelector("main").prepend(document.getElementById("conversation"));
overview();
tableFrame();
follow();
let last = view().run + view().lane;
addEventListener("popstate", () => {
  const now = view();
  const moved = now.run + now.lane !== last;
  last = now.run + now.lane;
  show({ moved: moved && now.run !== "" });
});
document.addEventListener("click", (event) => {
  const link = event.target.closest("td a, th a");
  if (link === null || !link.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  history.pushState(null, "", link.getAttribute("href"));
  last = view().run + view().lane;
  show({ moved: true });
});
show();
