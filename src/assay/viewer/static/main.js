// The page's frame: finds the place in the address, shows it, keeps it up to date, listens to keys.

import { isStatic, listen, messageOf } from "./api.js";
import { button, byId, el, fill, h, link } from "./dom.js";
import { keep, kept } from "./kept.js";
import { pageCompare } from "./page_compare.js";
import { pageHistory } from "./page_history.js";
import { pageMarks } from "./page_marks.js";
import { pageProvenance } from "./page_provenance.js";
import { pageRun } from "./page_run.js";
import { pageRuns } from "./page_runs.js";
import { pageSample } from "./page_sample.js";
import { pageSamples } from "./page_samples.js";
import {
  current,
  noteFrom,
  noteScroll,
  scrollNoted,
  toCompare,
  toHistory,
  toMarks,
  toProvenance,
  toRun,
  toRuns,
  toSamples,
  toTogether,
} from "./route.js";

const PAGES = {
  runs: pageRuns,
  overview: pageRun,
  samples: pageSamples,
  together: pageSamples,
  sample: pageSample,
  compare: pageCompare,
  history: pageHistory,
  marks: pageMarks,
  provenance: pageProvenance,
};
const THEME = "assay-theme";
const THEMES = { auto: "◐", light: "☀", dark: "☾" };

let shownPage = null;
let turn = 0;
let loading = false;

async function go() {
  const route = current();
  const mine = ++turn;
  loading = true;
  const root = h("div", { class: "page page-" + route.page });
  header(route);
  // the old page stays for a moment, until the new one has something to show
  const waiting = setTimeout(() => {
    if (mine === turn) fill(byId("page"), h("div", { class: "empty", role: "status" }, el("h1", "Loading…")));
  }, 400);
  try {
    if (!PAGES[route.page]) throw new Error(`A run has no page “${route.view}”.`);
    const page = await PAGES[route.page](root, route);
    if (mine !== turn) return;
    shownPage = { route, ...page };
  } catch (error) {
    if (mine !== turn) return;
    shownPage = { route };
    fill(
      root,
      h(
        "div",
        { class: "error", role: "alert" },
        el("h1", "This could not be shown"),
        el("p", messageOf(error)),
        link(toRuns(), null, "All runs"),
      ),
    );
  }
  clearTimeout(waiting);
  const main = fill(byId("page"), root);
  if (mine > 1) main.focus({ preventScroll: true });
  document.title = title(route, shownPage.title);
  if (!shownPage.keepsScroll) scrollTo(0, scrollNoted());
  // a search has no samples, marks or provenance of its own
  if (shownPage.tabs === false) document.querySelector(".tabs")?.remove();
  if (shownPage.ready) shownPage.ready();
  loading = false;
}

// The sample's id, not its key: readers look for it among tabs.
function title(route, name) {
  const names = { overview: null, runs: null, together: "samples of several runs" };
  const page = route.page in names ? names[route.page] : route.page;
  return [name || route.key, page, route.run, "assay"].filter(Boolean).join(" · ");
}

function header(route) {
  fill(
    byId("top"),
    link(toRuns(), { class: "brand" }, h("img", { src: "icon.svg", alt: "", width: 22, height: 22 }), "assay"),
    crumbs(route),
    el("span.room"),
    link(toHistory(), { class: "tab", "aria-current": route.page === "history" ? "page" : null }, "History"),
    h("span", { id: "live", class: "live", hidden: true }, "live"),
    isStatic ? el("span.quiet", "static copy") : null,
    button("?", help, { class: "icon", "aria-label": "Keyboard shortcuts", title: "Keyboard shortcuts" }),
    themeButton(),
  );
}

function crumbs({ page, run, runs, params }) {
  const nav = (label, ...children) => h("nav", { class: "crumbs", "aria-label": label }, ...children);
  if (page === "together")
    return nav(
      "samples of several runs",
      link(toTogether(runs), { class: "runname" }, `Samples of ${runs.length} runs`),
    );
  if (page === "compare")
    return nav("comparison", link(toCompare(runs), { class: "runname" }, `Comparing ${runs.length} runs`));
  if (!run) return null;
  return nav(
    "this run",
    link(toRun(run), { class: "runname", title: run }, run),
    el(
      "span.tabs",
      tab(toRun(run), "Overview", page === "overview"),
      tab(toSamples(run, page === "sample" ? params : {}), "Samples", page === "samples" || page === "sample"),
      tab(toMarks(run), "Marks", page === "marks"),
      tab(toProvenance(run), "Provenance", page === "provenance"),
    ),
  );
}

function tab(href, label, on) {
  return link(href, { class: on ? "tab on" : "tab", "aria-current": on ? "page" : null }, label);
}

function themeButton() {
  const theme = kept(THEME) || "auto";
  const next = { auto: "light", light: "dark", dark: "auto" }[theme];
  const made = button(
    THEMES[theme],
    () => {
      keep(THEME, next);
      applyTheme();
      made.replaceWith(themeButton());
    },
    { class: "icon", "aria-label": `Colours: ${theme}; change to ${next}`, title: `Colours: ${theme}` },
  );
  return made;
}

function applyTheme() {
  const theme = kept(THEME) || "auto";
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

const SHORTCUTS = [
  ["j  k", "next, previous sample or row"],
  ["Enter", "open the chosen row"],
  ["n  p", "next, previous page of the table"],
  ["x", "select the chosen row"],
  ["/", "search"],
  ["1  2  3", "mark the sample right, wrong, unclear"],
  ["0", "remove the mark"],
  ["c", "copy the sample as JSON"],
  ["Esc", "back to the table"],
  ["?", "this list"],
];

function help() {
  const box = h(
    "dialog",
    { class: "help", "aria-label": "Keyboard shortcuts" },
    el("h2", "Keyboard"),
    el(
      "dl",
      SHORTCUTS.map(([keys, what]) => [
        el(
          "dt",
          keys.split("  ").map((key) => el("kbd", key)),
        ),
        el("dd", what),
      ]),
    ),
    button("Close", () => box.close(), { class: "primary" }),
  );
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
}

document.addEventListener("keydown", (event) => {
  const focused = /** @type {HTMLElement} */ (event.target);
  const typing = focused.closest("input, textarea, select, dialog");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing) {
    if (event.key === "Escape" && !focused.closest("dialog")) focused.blur();
    return;
  }
  // what has the focus acts on Enter itself: a link is followed, a button pressed
  if (event.key === "Enter" && focused.closest("a, button, summary")) return;
  if (event.key === "?") return help();
  const act = shownPage && shownPage.keys && shownPage.keys[event.key];
  if (act) {
    event.preventDefault();
    act(event);
  }
});

// Follows a run that is still running: one refresh at a time, and the last change is never missed.
let refreshing = false;
let again = false;

async function follow(changed) {
  const { route, refresh } = shownPage || {};
  if (!refresh) return;
  const names = route.run ? [route.run, ...(route.params.against || [])] : route.runs || [];
  if (changed && names.length && !names.some((name) => changed.includes(name))) return;
  if (refreshing) {
    again = true;
    return;
  }
  refreshing = true;
  const started = performance.now();
  try {
    await refresh();
  } catch {
    /* the next change tries again */
  }
  // a large run takes a while to refresh: it is refreshed less often
  await new Promise((done) => setTimeout(done, 4 * (performance.now() - started)));
  refreshing = false;
  if (again) {
    again = false;
    follow(changed);
  }
}

let lost;
function connection(open) {
  const sign = byId("live");
  clearTimeout(lost);
  if (open) {
    sign.hidden = true;
    return;
  }
  lost = setTimeout(() => {
    sign.hidden = false;
    sign.textContent = "viewer stopped";
    sign.classList.add("off");
  }, 3000);
}

// Where the reader was is kept with the place, and Back leads to it.
history.scrollRestoration = "manual";
let settling;
addEventListener("scroll", () => {
  clearTimeout(settling);
  const { hash } = location;
  // Back may have led elsewhere meanwhile, before the page follows: that place keeps its own scroll
  if (!loading) settling = setTimeout(() => loading || location.hash !== hash || noteScroll(), 100);
});

applyTheme();
addEventListener("hashchange", (event) => {
  if (event.oldURL) noteFrom(new URL(event.oldURL).hash);
  go();
});
go();
listen(follow, connection);
