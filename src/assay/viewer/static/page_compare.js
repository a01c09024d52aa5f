// Runs side by side: how sure the difference is, by task, and then the samples themselves, flips first.

import { get } from "./api.js";
import { button, el, fill, follow, h, link, section, select, table, th, toggle } from "./dom.js";
import { chartSection } from "./figures.js";
import { badge, weakTag } from "./signs.js";
import { pairCards } from "./compare_cards.js";
import { paramsOf, stateOf } from "./filters.js";
import { PAGE, pages } from "./page_samples.js";
import { goTo, replace, toCompare, toRun, toSample } from "./route.js";
import { answerOf, isBroken, isLongRead, questionOf, readable } from "./sample_columns.js";
import { otherwise } from "./text_diff.js";
import { number, signed } from "./numbers.js";
import { oneLineOf, plural } from "./wording.js";

const SHOW = [
  ["flipped", "only the flips"],
  ["worse", "worse than the first"],
  ["better", "better than the first"],
  ["same", "not flipped"],
  ["", "all samples"],
];

export async function pageCompare(root, route) {
  const runs = [...new Set(route.runs)];
  let state = stateOf(route.params);
  if (!("flip" in route.params)) state.flip = "flipped";
  let rows = [];
  let cursor = -1;
  let latest = 0;
  const [top, bar, body, pager] = [
    h("div"),
    el("div.filters"),
    h("div"),
    h("nav", { class: "pager", "aria-label": "pages" }),
  ];
  const search = h("input", {
    type: "search",
    class: "search",
    value: state.q,
    placeholder: "Search the samples of the first run",
    "aria-label": "Search samples",
  });
  let waiting;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => change({ q: search.value, offset: "" }), 250);
  });

  function change(changes) {
    if (!root.isConnected) return Promise.resolve();
    state = { ...state, ...changes };
    const { against, ...rest } = state;
    replace(toCompare(runs, { ...paramsOf(rest), flip: state.flip || "all" }));
    drawBar();
    return load();
  }

  function drawBar() {
    fill(
      bar,
      el(
        "div.row.wrap",
        h(
          "div",
          { class: "row wrap", role: "group", "aria-label": "Which samples" },
          SHOW.map(([name, label]) => toggle(label, state.flip === name, () => change({ flip: name, offset: "" }))),
        ),
        select("Task", [["", "Task: all"], ...tasks], state.task[0] || "", (task) =>
          change({ task: task ? [task] : [], offset: "" }),
        ),
        search,
        button("Swap the order", () => goTo(toCompare([...runs.slice(1), runs[0]], { flip: state.flip || "all" }))),
      ),
    );
  }

  async function load() {
    const mine = ++latest;
    const page = await get("samples", {
      run: runs[0],
      against: runs.slice(1),
      limit: PAGE,
      lines: 6,
      sort: state.sort || "changed",
      dir: state.dir,
      flip: state.flip,
      task: state.task,
      q: state.q,
      offset: state.offset,
    });
    if (mine !== latest) return;
    rows = page.rows;
    fill(
      body,
      el("p.summary", el("b", plural(page.total, "sample"))),
      rows.length
        ? table(
            "Samples side by side",
            [
              th("sample", { class: "c-id" }),
              th("question", { class: "c-text" }),
              th("target", { class: "c-target" }),
              ...runs.map((name, i) =>
                th(i ? short(name) : `${short(name)} (first)`, { title: name, class: "c-side" }),
              ),
            ],
            rows.map(row),
            { class: runs.length > 5 ? "samples side wide" : "samples side" },
          )
        : el("p.empty", state.flip === "flipped" ? "No sample flipped." : "No sample matches."),
    );
    fill(
      pager,
      pages(page.offset, page.total, (offset) => change({ offset: offset || "" })),
    );
  }

  const names = new Map();
  const short = (name) => names.get(name) || name;

  function row(each, i) {
    const sides = [each, ...each.others];
    return h(
      "tr",
      {
        tabindex: -1,
        onclick: (event) => {
          if (!event.target.closest("a")) open(i);
        },
      },
      el(
        "td.c-id",
        link(address(each), null, oneLineOf(each.id)),
        each.attempt > 1 ? el("span.quiet", ` #${each.attempt}`) : null,
        el("div.quiet.small", each.task),
      ),
      el("td.text", el("div.clamp", questionOf(each))),
      el("td.target", el("div.clamp", oneLineOf(each.target))),
      sides.map((side, n) =>
        side === null
          ? h("td", { class: "quiet side", "data-run": short(runs[n]) }, "not in this run")
          : h(
              "td",
              { class: "side", "data-run": short(runs[n]) },
              el(
                "div.row.tight",
                badge(side.outcome),
                weakTag(side),
                el("b", number(side.score, 2)),
                n && side.score !== null && each.score !== null && side.score !== each.score
                  ? h("span", { class: side.worth > each.worth ? "good" : "bad" }, signed(side.score - each.score, 2))
                  : null,
              ),
              el("div.clamp", isBroken(side) ? oneLineOf(`${side.kind}: ${side.failure}`) : sideAnswer(each, side, n)),
            ),
      ),
    );
  }

  const address = (each) =>
    toSample(runs[0], each.key, {
      from: "compare",
      against: runs.slice(1),
      ...(state.flip ? { flip: state.flip } : {}),
    });
  function open(i) {
    if (rows[i]) goTo(address(rows[i]));
  }
  function choose(i) {
    const shown = body.querySelectorAll("tbody tr");
    if (i < 0 || i >= shown.length) return;
    if (cursor >= 0 && shown[cursor]) shown[cursor].classList.remove("chosen");
    cursor = i;
    shown[i].classList.add("chosen");
    shown[i].scrollIntoView({ block: "nearest" });
  }

  if (state.flip === "all") state.flip = "";
  const [comparison, listed] = await Promise.all([get("compare", { run: runs }), get("runs")]);
  for (const run of listed.runs) names.set(run.name, run.model || run.name);
  if (new Set(runs.map(short)).size < runs.length) names.clear();
  let tasks = [...new Set(comparison.pairs.flatMap((pair) => pair.tasks.map((each) => each.task)))];
  const charts = h("div");
  const folded = h("details", { class: "side-charts", ontoggle: drawCharts }, el("summary", "Charts"), charts);
  folded.open = runs.length > 2;
  fill(root, top, section("Samples", bar, body, pager), folded);

  async function drawCharts() {
    if (!folded.open) return;
    const now = await get("charts", { run: runs });
    follow(charts, now, () => chartSection("Side by side", now));
  }

  function drawTop(comparison) {
    fill(
      top,
      el(
        "div.headline",
        el(
          "h1",
          runs.map((name, i) => [i ? el("span.quiet", " vs ") : null, link(toRun(name), { title: name }, short(name))]),
        ),
      ),
      pairCards(comparison.pairs, short),
    );
  }

  drawTop(comparison);
  drawBar();
  await load();
  return {
    async refresh() {
      const now = await get("compare", { run: runs });
      tasks = [...new Set(now.pairs.flatMap((pair) => pair.tasks.map((each) => each.task)))];
      drawTop(now);
      drawCharts();
      await load();
    },
    keys: {
      j: () => choose(cursor + 1),
      k: () => choose(cursor - 1),
      Enter: () => open(Math.max(0, cursor)),
      "/": () => search.focus(),
    },
  };
}

// The answer of the first run as it is; in the others, differences are marked.
function sideAnswer(first, side, n) {
  const code = isLongRead(first) && isLongRead(side);
  const texts = [first, side].map((each) => (code ? each.extracted : each.answer));
  const plain = texts.map(readable);
  // answers that differ in their marks alone are shown with them
  const [before, after] = code || plain[0] === plain[1] ? texts.map(oneLineOf) : plain;
  if (!n || isBroken(first)) return answerOf(side);
  if (side.same_answer) return h("span", { class: "quiet", title: after }, "the same answer");
  const read = oneLineOf(side.extracted);
  const marked = read && read !== oneLineOf(first.extracted) ? "read differs" : "read";
  // both are cut before they differ
  if (before === after) return h("span", { class: "quiet", title: after }, "begins alike, and differs further on");
  return [
    read && read !== after && !isLongRead(side)
      ? [h("b", { class: marked, title: "the answer as it was read" }, read), " "]
      : null,
    otherwise(before, after).map(([differs, text]) => (differs ? el("mark.differs", text) : text)),
  ];
}
