// Colours are the style sheet's; charts are drawn anew when they change, and for paper in those of light.

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const CHARTS = new Map();

/**
 * Draw a chart into an element: `option` is called with the width, at first and whenever it or the colours change, and
 * `drawn` after that.
 */
function draw(place, option, drawn = () => {}) {
  CHARTS.get(place)?.chart.dispose();
  const chart = echarts.init(place, null, { renderer: "canvas" });
  CHARTS.set(place, { chart, option, drawn });
  chart.setOption(option(place.clientWidth), { notMerge: true });
  drawn(chart);
  return chart;
}

function redraw() {
  for (const [place, { chart, option, drawn }] of CHARTS) {
    if (!place.isConnected) {
      chart.dispose();
      CHARTS.delete(place);
      continue;
    }
    const made = option(place.clientWidth);
    chart.resize();
    chart.setOption(made, { notMerge: true });
    drawn(chart);
  }
}

function follow() {
  let waiting = 0;
  const soon = () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(redraw);
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon);
  addEventListener("resize", soon);
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.paper = "";
    redraw();
  });
  addEventListener("afterprint", () => {
    delete document.documentElement.dataset.paper;
    redraw();
  });
}

/** What all charts have in common. */
function plain() {
  return {
    animation: false,
    textStyle: { fontFamily: "system-ui, sans-serif", color: colour("ink") },
    tooltip: {
      confine: true,
      backgroundColor: colour("panel"),
      borderColor: colour("line"),
      textStyle: { color: colour("ink"), fontSize: 13 },
    },
  };
}
