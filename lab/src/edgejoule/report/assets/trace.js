"use strict";
// Zoomable power traces: one uPlot per run of the chosen condition, on common axes, zoomed together.
(() => {
  const groups = JSON.parse(document.getElementById("trace-data").textContent);
  const signs = { flush: "▲", compaction: "■", checkpoint: "◆", snapshot: "●", stall: "✕" };
  const root = document.getElementById("traces");
  const tabs = document.querySelector("#power .tabs");
  let charts = [];
  let syncing = false;

  document.documentElement.classList.add("scripted");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function marksAndBands(trace) {
    return {
      hooks: {
        drawClear: [(u) => {
          const { ctx, bbox } = u;
          const band = (from, to, name) => {
            const a = Math.max(u.valToPos(from, "x", true), bbox.left);
            const b = Math.min(u.valToPos(to, "x", true), bbox.left + bbox.width);
            if (b > a) { ctx.fillStyle = colour(name); ctx.fillRect(a, bbox.top, b - a, bbox.height); }
          };
          ctx.save();
          band(0, trace.active, "--band-active");
          band(trace.active, trace.settled, "--band-settling");
          for (const [start, end, kind] of trace.windows) band(start, end, `--band-${kind}`);
          ctx.restore();
        }],
        draw: [(u) => {
          const { ctx, bbox } = u;
          const px = window.devicePixelRatio || 1;
          ctx.save();
          ctx.fillStyle = ctx.strokeStyle = colour("--ink");
          ctx.font = `${10 * px}px system-ui, sans-serif`;
          ctx.textAlign = "left";
          for (const [start, end, name] of trace.phases) {
            const x = u.valToPos(start, "x", true), b = Math.min(u.valToPos(end, "x", true), bbox.left + bbox.width);
            const a = Math.max(x, bbox.left);
            if (b <= a) continue;
            ctx.globalAlpha = 0.5;
            ctx.setLineDash([3 * px, 2 * px]);
            if (x >= bbox.left) { ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke(); }
            ctx.setLineDash([]);
            ctx.globalAlpha = 0.8;
            if (ctx.measureText(name).width + 8 * px <= b - a) ctx.fillText(name, a + 4 * px, bbox.top + bbox.height - 4 * px);
          }
          ctx.globalAlpha = 1;
          ctx.textAlign = "center";
          for (const [start, length, kind] of trace.marks) {
            const x = u.valToPos(start, "x", true);
            const end = u.valToPos(start + (length || 0), "x", true);
            if (end < bbox.left || x > bbox.left + bbox.width) continue;
            const a = Math.max(x, bbox.left), b = Math.min(end, bbox.left + bbox.width);
            ctx.globalAlpha = 0.16;
            if (b > a) ctx.fillRect(a, bbox.top - 3 * px, b - a, 3 * px);
            if (x >= bbox.left) {
              ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
              ctx.globalAlpha = 1;
              ctx.fillText(signs[kind] || "•", x, bbox.top - 4 * px);
            }
          }
          ctx.restore();
        }],
        setScale: [(u, key) => {
          if (key !== "x" || syncing) return;
          syncing = true;
          const { min, max } = u.scales.x;
          for (const other of charts) if (other !== u) other.setScale("x", { min, max });
          syncing = false;
        }],
      },
    };
  }

  function nearby(trace, u) {
    const at = u.cursor.left == null || u.cursor.left < 0 ? null : u.posToVal(u.cursor.left, "x");
    if (at == null) return "";
    const reach = (u.scales.x.max - u.scales.x.min) / 100;
    const marks = trace.marks.filter(([s, l]) => at >= s - reach && at <= s + (l || 0) + reach);
    const phases = trace.phases.filter(([a, b]) => at >= a && at < b).map(([, , name]) => `phase ${name}`);
    return phases.concat(marks.map(([, l, kind, detail]) => `${kind}${l ? `, ${Math.round(l * 1000)} ms` : ""}${detail ? ` (${detail})` : ""}`)).join("; ");
  }

  function makeChart(box, trace, group) {
    const ink = colour("--soft"), grid = { stroke: colour("--grid"), width: 1 }, line = colour(`--c${trace.subject}`);
    const axis = { stroke: ink, grid, ticks: { show: false }, font: "11.5px system-ui, sans-serif" };
    return new uPlot({
      width: box.clientWidth, height: 170, padding: [16, 26, 0, 0],
      cursor: { sync: { key: "power" }, drag: { x: true, y: false } },
      scales: { x: { time: false, range: (u, min, max) => (min == null ? group.range : [min, max]) }, y: { range: [0, group.max] } },
      axes: [{ ...axis, values: (u, v) => v.map((t) => `${+t.toFixed(4)} s`), size: 28 }, { ...axis, size: 44, values: (u, v) => v.map((w) => `${+w.toFixed(3)}`) }],
      series: [
        { label: "time", value: (u, v) => (v == null ? "–" : `${v.toFixed(3)} s`) },
        { label: `power, ${trace.method}`, stroke: line, width: 1.6, spanGaps: false, paths: trace.stepped ? uPlot.paths.stepped({ align: -1 }) : undefined, points: { show: false }, value: (u, v, i, at) => (at == null ? "–" : v == null ? "missing" : `${v} W ${trace.method}`) },
        { label: trace.phases.length ? "command" : "database", stroke: "transparent", scale: "y", points: { show: false }, value: (u) => nearby(trace, u) || "–" },
      ],
      plugins: [marksAndBands(trace)],
    }, [trace.t, trace.w, trace.t.map(() => null)], box);
  }

  function everything(group) { for (const c of charts.slice(0, 1)) c.setScale("x", { min: group.range[0], max: group.range[1] }); }

  function keyboard(box, chart, group) {
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Power chart: + and - zoom, arrow keys move, 0 shows everything");
    box.onkeydown = (e) => {
      const { min, max } = chart.scales.x, width = max - min, middle = (min + max) / 2;
      const to = { "+": [middle - width / 4, middle + width / 4], "=": [middle - width / 4, middle + width / 4],
        "-": [middle - width, middle + width], ArrowLeft: [min - width / 5, max - width / 5],
        ArrowRight: [min + width / 5, max + width / 5], 0: group.range }[e.key];
      if (!to) return;
      e.preventDefault();
      chart.setScale("x", { min: to[0], max: to[1] });
    };
  }

  function show(index) {
    for (const chart of charts) chart.destroy();
    charts = [];
    const group = groups[index];
    root.querySelectorAll(".trace-group").forEach((el, i) => { el.hidden = i !== index; });
    tabs.querySelectorAll("button").forEach((b, i) => b.setAttribute("aria-pressed", i === index));
    const boxes = root.querySelectorAll(`.trace-group[data-group="${index}"] .plot`);
    syncing = true;
    boxes.forEach((box, i) => {
      box.replaceChildren();
      const chart = makeChart(box, group.traces[i], group);
      chart.setScale("x", { min: group.range[0], max: group.range[1] });
      chart.over.addEventListener("dblclick", () => everything(group));
      keyboard(box, chart, group);
      charts.push(chart);
    });
    syncing = false;
  }

  groups.forEach((group, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = group.condition || "all";
    button.onclick = () => { current = i; show(i); };
    tabs.append(button);
  });
  let current = 0;
  show(current);
  window.edgejouleCharts = () => charts;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(current));
  let resizing;
  addEventListener("resize", () => {
    clearTimeout(resizing);
    resizing = setTimeout(() => charts.forEach((c) => c.setSize({ width: c.root.parentElement.clientWidth, height: 170 })), 100);
  });
})();
