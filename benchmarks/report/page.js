"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, text, css) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (css) node.className = css;
    return node;
  };

  // Light and dark.
  const root = document.documentElement;
  const dark = () => root.dataset.theme
    ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = $("#theme");
  const name = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();

  // What a mark says: under the pointer, at a tap, and with the arrow keys.
  const tooltip = $("#tooltip");
  const ring = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  ring.setAttribute("class", "focus");
  ring.setAttribute("r", "8");
  const visible = (mark) => !mark.closest("[hidden]");
  const place = (mark) => ({ x: Number(mark.dataset.x), y: Number(mark.dataset.y) });
  let shown = null;
  const show = (chart, mark) => {
    shown = [chart, mark];
    const { x, y } = place(mark);
    const point = new DOMPoint(x, y).matrixTransform(chart.getScreenCTM());
    ring.setAttribute("cx", x);
    ring.setAttribute("cy", y);
    chart.append(ring);
    tooltip.textContent = mark.dataset.tip;
    tooltip.classList.add("on");
    const box = tooltip.getBoundingClientRect();
    const left = Math.min(Math.max(8, point.x - box.width / 2), root.clientWidth - box.width - 8);
    tooltip.style.left = `${left}px`;
    const above = point.y - box.height - 14;
    tooltip.style.top = `${above > 8 ? above : point.y + 16}px`;
  };
  const hide = () => { shown = null; tooltip.classList.remove("on"); ring.remove(); };
  const nearest = (chart, event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse());
    let best = null, least = 32;
    for (const mark of $$("[data-tip]", chart).filter(visible)) {
      const { x, y } = place(mark);
      const inside = mark.tagName === "rect" && mark.getBBox();
      const within = inside && at.x >= inside.x && at.x <= inside.x + inside.width
        && at.y >= inside.y && at.y <= inside.y + inside.height;
      const away = within ? 0 : inside ? Infinity : Math.hypot(x - at.x, y - at.y);
      if (away < least) [best, least] = [mark, away];
    }
    return best;
  };
  for (const chart of $$("svg.chart")) {
    const point = (event) => { const mark = nearest(chart, event); mark ? show(chart, mark) : hide(); };
    chart.addEventListener("pointermove", point);
    chart.addEventListener("pointerdown", point);
    chart.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
    chart.addEventListener("blur", hide);
    let at = -1;
    chart.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.key === "Escape") hide();
      const marks = $$("[data-tip]", chart).filter(visible);
      if (!move || !marks.length) return;
      event.preventDefault();
      at = (at + move + marks.length) % marks.length;
      show(chart, marks[at]);
    });
  }
  addEventListener("scroll", () => { if (shown) show(...shown); }, { passive: true });
  addEventListener("pointerdown", (event) => { if (!event.target.closest("svg.chart")) hide(); });

  // Which tasks the cost charts show.
  const choose = (value) => {
    for (const card of $$("[data-split]")) card.hidden = card.dataset.split !== value;
    hide();
  };
  for (const input of $$("input[name=split]")) {
    input.addEventListener("change", () => choose(input.value));
    if (input.checked) choose(input.value);
  }

  // The calibration over time.
  const slider = $("#step");
  if (slider) {
    const steps = JSON.parse($("#steps").textContent);
    slider.closest(".slide").hidden = false;
    const turn = () => {
      const step = steps[Number(slider.value)];
      $("output[for=step]").textContent = `step ${step}`;
      slider.setAttribute("aria-valuetext", `step ${step}`);
      for (const card of $$("[data-frames]")) {
        const known = [...new Set($$(".frame", card).map((f) => Number(f.dataset.step)))];
        const before = known.filter((s) => s <= step);
        const wanted = before.length ? Math.max(...before) : Math.min(...known);
        for (const frame of $$(".frame", card)) {
          const off = Number(frame.dataset.step) !== wanted;
          frame.toggleAttribute("hidden", off);
        }
      }
      hide();
    };
    slider.addEventListener("input", turn);
    turn();
  }

  // The episodes. Solutions are untrusted: they enter the page as text, never as markup.
  const source = $("#episodes-data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const episodes = data.episodes.map((row) =>
    Object.fromEntries(data.fields.map((field, i) => [field, row[i]])));
  const list = $("#episode-list"), detail = $("#episode"), count = $("#episode-count");
  const show3 = (value) => value === null ? "–" : value.toFixed(3);
  const gap = (e) => e.measured === null || e.predicted === null ? -1
    : Math.abs((e.corrected ?? e.predicted) - e.measured);
  const sorts = {
    best: (a, b) => (b.measured ?? -1) - (a.measured ?? -1),
    worst: (a, b) => (a.measured ?? 9) - (b.measured ?? 9),
    gap: (a, b) => gap(b) - gap(a),
    order: () => 0,
  };
  const words = { arm: (v) => data.arms[v].title, split: (v) => data.splits[v],
    seed: (v) => v === null ? "unknown" : String(v), status: (v) => v.replaceAll("_", " ") || "unknown" };
  const title = (field, value) => (words[field] ?? ((v) => String(v) || "unknown"))(value);
  const filters = $$("#filters select[data-field]");
  for (const select of filters) {
    const field = select.dataset.field;
    const values = [...new Set(episodes.map((e) => e[field]))];
    const numeric = field === "step" || field === "arm" || field === "seed";
    values.sort(numeric ? (a, b) => a - b : (a, b) => String(a).localeCompare(String(b)));
    select.append(new Option("all", ""));
    values.forEach((value) => select.append(new Option(title(field, value), JSON.stringify(value))));
    select.closest("label").hidden = values.length < 2;
    select.addEventListener("change", () => refresh());
  }
  $("#sort").addEventListener("change", () => refresh());
  const gauge = (label, value, css) => {
    if (value === null) return [];
    const back = make("div"), bar = make("i");
    bar.style.width = `${100 * Math.min(1, Math.max(0, value))}%`;
    back.append(bar);
    if (css) back.className = css;
    return [make("span", label), back, make("b", show3(value))];
  };
  const open = (episode, row) => {
    for (const other of $$(".row", list)) other.setAttribute("aria-selected", String(other === row));
    const arm = data.arms[episode.arm];
    const seed = episode.seed === null ? "" : ` · seed ${episode.seed}`;
    const under = `${arm.title}${seed} · step ${episode.step} · ${title("split", episode.split)}`;
    const bars = make("div", undefined, `gauge ${arm.css}`);
    bars.append(...gauge("measured", episode.measured), ...gauge("predicted", episode.predicted, "arm0"),
      ...gauge("corrected", episode.corrected));
    const status = make("p", `Status: ${title("status", episode.status)}`, "note");
    const solution = data.solutions[episode.solution];
    const code = solution ? make("pre", solution) : make("p", "No solution was recorded.", "note");
    if (solution) { code.tabIndex = 0; code.setAttribute("aria-label", "solution"); }
    detail.replaceChildren(make("h3", episode.task || "unnamed task"), make("p", under, "note"),
      bars, status, code);
  };
  const MOST = 200;
  function refresh() {
    let kept = episodes.filter((e) => filters.every((s) =>
      s.value === "" || JSON.stringify(e[s.dataset.field]) === s.value));
    kept = [...kept].sort(sorts[$("#sort").value]);
    const rows = kept.slice(0, MOST).map((e) => {
      const arm = data.arms[e.arm];
      const row = make("button", undefined, `row ${arm.css}`);
      row.type = "button";
      row.setAttribute("role", "option");
      row.append(make("span", e.task || "unnamed task"), make("span", show3(e.measured ?? e.predicted), "val"),
        make("span", `${arm.title} · step ${e.step} · ${title("status", e.status)}`, "sub"));
      row.addEventListener("click", () => open(e, row));
      return row;
    });
    list.replaceChildren(...rows);
    count.textContent = kept.length > MOST
      ? `${kept.length.toLocaleString("en")} episodes match; the first ${MOST} are listed.`
      : `${kept.length.toLocaleString("en")} of ${episodes.length.toLocaleString("en")} episodes.`;
    if (rows.length) open(kept[0], rows[0]);
    else detail.replaceChildren(make("p", "No episode matches.", "note"));
  }
  list.addEventListener("keydown", (event) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const rows = $$(".row", list), at = rows.indexOf(document.activeElement);
    if (!move || at < 0) return;
    event.preventDefault();
    const next = rows[Math.min(rows.length - 1, Math.max(0, at + move))];
    next.focus();
    next.click();
  });
  $("#browser").hidden = false;
  refresh();
})();
