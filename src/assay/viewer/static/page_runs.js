// All runs: what they are, how they did, which to compare.

import { get, isStatic } from "./api.js";
import { button, el, fill, h, link, table, th } from "./dom.js";
import { progressBar, whisker } from "./signs.js";
import { goTo, replace, toCompare, toRun, toTogether } from "./route.js";
import { count, interval, number, percent, short } from "./numbers.js";
import { age, lasted, moment, money, plural } from "./wording.js";

/** @type {[string, string, (run: any) => string | number, number][]} */
const COLUMNS = [
  ["model", "Run", (run) => run.model || run.name, 1],
  ["tasks", "Tasks", (run) => (run.tasks || []).join(" "), 1],
  ["score", "Score", (run) => run.score ?? -1, -1],
  ["failed", "Failures", (run) => run.failed || 0, -1],
  ["tokens", "Tokens", (run) => (run.tokens_in || 0) + (run.tokens_out || 0), -1],
  ["progress", "Progress", (run) => (run.progress ? run.progress.done / Math.max(1, run.progress.total) : 0), -1],
  ["age", "Last change", (run) => run.changed || 0, -1],
];

const MOST_CHIPS = 4;

export async function pageRuns(root, route) {
  let runs = (await get("runs")).runs;
  const chosen = new Set();
  let sort = (route.params.sort || ["age"])[0];
  let direction = Number((route.params.dir || [-1])[0]) || -1;
  const search = h("input", {
    type: "search",
    placeholder: "Search runs: model, task, name",
    "aria-label": "Search runs",
    value: (route.params.q || [""])[0],
    oninput: redraw,
  });
  const compare = button("Compare", () => goTo(toCompare([...chosen])), { class: "primary", disabled: true });
  const together = button("Read their samples together", () => goTo(toTogether([...chosen])), { hidden: true });
  const list = h("div");

  function draw() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const [, , key] = COLUMNS.find(([name]) => name === sort) || COLUMNS[COLUMNS.length - 1];
    const shown = runs
      .filter((run) =>
        words.every((word) => `${run.name} ${run.model} ${(run.tasks || []).join(" ")}`.toLowerCase().includes(word)),
      )
      .sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * direction);
    fill(list, shown.length ? runTable(shown) : nothing());
    chosenChanged();
  }

  function redraw() {
    // a page that is no longer shown must not write into the address
    if (root.isConnected)
      replace("#/?" + new URLSearchParams({ ...(search.value && { q: search.value }), sort, dir: direction }));
    draw();
  }

  function nothing() {
    if (runs.length) return el("p.empty", "No run matches this search.");
    return el(
      "div.empty",
      el("h2", "No runs here yet"),
      el("p", "Make one, and this page shows it at once:"),
      el("pre", "assay run"),
    );
  }

  function chosenChanged() {
    compare.disabled = chosen.size < 2;
    together.hidden = chosen.size < 2;
    fill(compare, chosen.size < 2 ? "Choose two runs to compare" : `Compare ${chosen.size} runs`);
  }

  function head() {
    return [
      th(el("span.visually-hidden", "choose")),
      ...COLUMNS.map(([name, label, , first]) => {
        const on = sort === name;
        return th(
          button(
            [label, h("span", { class: "arrow", "aria-hidden": "true" }, on ? (direction > 0 ? " ↑" : " ↓") : "")],
            () => {
              direction = on ? -direction : first;
              sort = name;
              redraw();
            },
            { class: "sort" },
          ),
          { class: "c-" + name, "aria-sort": on ? (direction > 0 ? "ascending" : "descending") : "none" },
        );
      }),
    ];
  }

  function runTable(shown) {
    return table("Runs", head(), shown.map(runRow), { class: "runs" });
  }

  function runRow(run) {
    if (run.error) {
      return el(
        "tr.broken",
        h("td"),
        h("td", { colspan: COLUMNS.length }, el("strong", run.name), " ", el("span.bad", run.error)),
      );
    }
    if (run.kind === "search") return searchRow(run);
    const box = h("input", {
      type: "checkbox",
      "aria-label": `choose ${run.name}`,
      checked: chosen.has(run.name),
      onchange: () => {
        if (box.checked) chosen.add(run.name);
        else chosen.delete(run.name);
        chosenChanged();
      },
    });
    return el(
      "tr",
      el("td.c-choose", box),
      el(
        "td.c-model",
        link(toRun(run.name), { class: "strong" }, run.model || run.name),
        h("div", { class: "quiet small", title: run.name }, run.name),
      ),
      el("td.c-tasks", tasksOf(run)),
      el("td.c-score", scoreOf(run)),
      h(
        "td",
        { class: "c-failed", "data-label": "failures" },
        run.failed ? el("span.bad", count(run.failed)) : el("span.quiet", "0"),
      ),
      h(
        "td",
        { class: "c-tokens", "data-label": "tokens" },
        h(
          "span",
          { title: `${count(run.tokens_in)} in, ${count(run.tokens_out)} out` },
          short(run.tokens_in + run.tokens_out),
        ),
        money(run.cost) ? el("div.quiet.small", money(run.cost)) : null,
      ),
      el("td.c-progress", progressOf(run.progress)),
      h(
        "td",
        { class: "c-age", title: run.created },
        age(run.changed),
        el("div.quiet.small", whenOf(run)),
        run.marks ? el("div.quiet.small", plural(run.marks, "mark")) : null,
      ),
    );
  }

  fill(
    root,
    el(
      "div.headline",
      el("h1", "Runs"),
      el("span.quiet", plural(runs.length, "run")),
      el("span.room"),
      search,
      together,
      isStatic && runs.length < 2 ? null : compare,
    ),
    list,
  );
  draw();
  return {
    keys: { "/": () => search.focus() },
    async refresh() {
      runs = (await get("runs")).runs;
      draw();
    },
  };
}

function searchRow(run) {
  const scores =
    run.best === undefined
      ? null
      : h(
          "div",
          { title: run.on },
          el("b", `${number(run.seed)} → ${number(run.best)}`),
          el("div.quiet.small", run.on),
        );
  return el(
    "tr.search-row",
    h("td"),
    el(
      "td.c-model",
      link(toRun(run.name), { class: "strong" }, run.name),
      el("div.quiet.small", `search by ${run.model}`),
    ),
    el(
      "td.c-tasks",
      el(
        "div.chips",
        run.tasks.map((task) => h("span", { class: "chip", title: task }, task)),
      ),
    ),
    el("td.c-score", scores),
    h("td", { class: "quiet c-verdict", colspan: 3 }, run.verdict),
    el("td.c-age", age(run.changed)),
  );
}

function whenOf(run) {
  const long = run.progress.running ? null : lasted(run.created, run.changed);
  return [moment(run.created), long ? `took ${long}` : null].filter(Boolean).join(", ");
}

function tasksOf(run) {
  // the last place is for how many more there are
  const shown = run.tasks.length > MOST_CHIPS ? MOST_CHIPS - 1 : MOST_CHIPS;
  const scores = new Map((run.by_task || []).map((row) => [row.task, row]));
  const chips = run.tasks.slice(0, shown).map((task) => {
    const row = scores.get(task);
    return h(
      "span",
      { class: "chip", title: row ? `${row.metric}: ${number(row.score)}` : task },
      el("span.task", task),
      row && row.score !== null ? el("b", " " + number(row.score, 2)) : null,
    );
  });
  const more = run.tasks.slice(shown);
  if (more.length) chips.push(h("span", { class: "chip", title: more.join(", ") }, `+${more.length}`));
  return el("div.chips", chips);
}

function scoreOf(run) {
  const none = run.score === null || run.score === undefined;
  if (none) return h("span", { class: "quiet", title: run.reason || "" }, "–");
  return h(
    "div",
    { class: "scored", title: run.reason || "the mean of the task scores" },
    el("b", number(run.score)),
    whisker(run.score, run.interval),
    el("span.quiet.small", interval(run.interval)),
  );
}

function progressOf(progress) {
  const state = progress.running
    ? "running"
    : progress.complete
      ? progress.failed
        ? "finished with failures"
        : "finished"
      : "interrupted";
  return el(
    "div",
    h("span", { class: progress.running ? "state on" : "state" }, state),
    progress.running || !progress.complete ? progressBar(progress) : null,
    el(
      "div.quiet.small",
      `${count(progress.done)} of ${count(progress.total)}`,
      progress.indexed < 1 ? ` · indexing ${percent(progress.indexed)}` : "",
    ),
  );
}
