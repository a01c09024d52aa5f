// The sample table: any number of rows, a page of them at a time, filtered and sorted by the server.

import { get, messageOf } from "./api.js";
import { button, fill, h, link, table, th } from "./dom.js";
import { badge, bars, weakTag } from "./charts.js";
import { filterBar, outcomeBar, paramsOf, stateOf } from "./filters.js";
import { lastSeen, push, replace, toSample, toSamples } from "./route.js";
import {
  MARKS,
  copyNote,
  count,
  interval,
  meanNote,
  meanOf,
  number,
  oneLineOf,
  percent,
  plural,
  seconds,
  signed,
} from "./words.js";

export const PAGE = 100;
const COLUMNS = [
  ["", "", "sign"],
  ["score", "score", "num"],
  ["order", "id", ""],
  ["", "question", "text"],
  ["", "answer", "text"],
  ["", "target", "target"],
  ["", "task", "quiet"],
  ["seconds", "time", "num"],
  ["tokens_out", "tokens", "num"],
];

export async function pageSamples(root, route) {
  let state = stateOf(route.params);
  let rows = [];
  let cursor = -1;
  let all = 0;
  let latest = 0;
  const [run, listed] = await Promise.all([get("run", { run: route.run }), get("runs")]);
  const [top, numbers, body, pager] = [
    h("div"),
    h("div", { class: "numbers", "aria-live": "polite" }),
    h("div"),
    h("nav", { class: "pager", "aria-label": "pages" }),
  ];
  let bar;

  function change(changes) {
    if (!root.isConnected) return Promise.resolve();
    const rebuilt = changes === null || "meta" in changes || "against" in changes || "value" in changes;
    state = changes === null ? stateOf({}) : { ...state, ...changes };
    // every choice is a step to come back from; what is being typed is not
    (changes && "q" in changes ? replace : push)(toSamples(route.run, paramsOf(state)));
    if (rebuilt) drawBar();
    cursor = -1;
    return load();
  }

  function drawBar() {
    bar = filterBar(run, listed.runs, state, change);
    fill(top, bar);
  }

  async function load() {
    const mine = ++latest;
    body.classList.add("waiting");
    let found;
    try {
      found = await get("samples", { run: route.run, limit: PAGE, ...paramsOf(state) });
    } catch (error) {
      if (mine === latest) fill(body, h("p", { class: "error" }, messageOf(error)));
      return;
    }
    if (mine !== latest) return;
    body.classList.remove("waiting");
    rows = found.rows;
    all = found.total;
    fill(
      numbers,
      h("div", null, summaryLine(found, run), outcomeBar(found.summary.outcomes, run.summary.outcomes, state, change)),
      spread(found),
    );
    fill(
      body,
      rows.length
        ? table("Samples", head(), rows.map(row), { class: "samples" })
        : h("p", { class: "empty" }, "No sample matches these filters."),
    );
    fill(
      pager,
      pages(found.offset, found.total, (offset) => {
        change({ offset: offset || "" }).then(() => scrollTo(0, 0));
      }),
    );
    if (cursor >= 0) choose(Math.min(cursor, rows.length - 1));
  }

  function spread(found) {
    const what = (state.value || "score").replace("value:", "");
    return h(
      "div",
      { class: "spread" },
      bars(found.histogram, what, (low, high) => change({ low, high, offset: "" })),
    );
  }

  function head() {
    const named = state.against.length
      ? [...COLUMNS.slice(0, 2), ["changed", "there", "there num"], ...COLUMNS.slice(2)]
      : COLUMNS;
    return named.map(([sort, label, kind]) => {
      const on = (state.sort || "order") === sort;
      const down = state.dir === "desc";
      return th(
        sort
          ? button(
              [label, on ? (down ? " ↓" : " ↑") : ""],
              () => change({ sort, dir: on && !down ? "desc" : "", offset: "" }),
              { class: "sort" },
            )
          : label || h("span", { class: "said" }, "outcome"),
        { class: "c-" + (kind || "id"), "aria-sort": on ? (down ? "descending" : "ascending") : null },
      );
    });
  }

  function row(each, i) {
    const other = each.others && each.others[0];
    return h(
      "tr",
      {
        tabindex: -1,
        title: each.reason || each.failure || null,
        onclick: (event) => {
          if (!event.target.closest("a")) open(i);
        },
      },
      h(
        "td",
        { class: "c-sign" },
        badge(each.outcome),
        weakTag(each),
        each.mark ? h("span", { class: "mark", title: `marked ${each.mark}` }, MARKS[each.mark][0]) : null,
      ),
      h("td", { class: "num" }, each.score === null ? "–" : number(each.score, 2)),
      state.against.length ? h("td", { class: "num" }, other ? there(each, other) : "–") : null,
      h(
        "td",
        { class: "c-id" },
        link(address(each), null, oneLineOf(each.id)),
        each.attempt > 1 ? h("span", { class: "quiet" }, ` #${each.attempt}`) : null,
      ),
      h("td", { class: "text" }, oneLineOf(each.prompt)),
      h(
        "td",
        { class: "text" },
        each.failure !== null
          ? h("span", { class: "bad" }, `${each.kind}: ${oneLineOf(each.failure)}`)
          : answerOf(each),
      ),
      h("td", { class: "target" }, oneLineOf(each.target)),
      h("td", { class: "quiet c-task" }, each.task),
      h("td", { class: "num quiet c-time" }, seconds(each.seconds)),
      h("td", { class: "num quiet c-tokens" }, count(each.tokens_out)),
    );
  }

  const address = (each) => toSample(route.run, each.key, paramsOf(state));
  function open(i) {
    if (rows[i]) location.hash = address(rows[i]);
  }

  function choose(i) {
    if (i < 0 || i >= rows.length) return;
    const shown = body.querySelectorAll("tbody tr");
    if (cursor >= 0 && shown[cursor]) shown[cursor].classList.remove("chosen");
    cursor = i;
    shown[i].classList.add("chosen");
    shown[i].focus({ preventScroll: true });
    shown[i].scrollIntoView({ block: "nearest" });
  }

  function turnPage(by) {
    const offset = Number(state.offset || 0) + by * PAGE;
    if (offset >= 0 && offset < all) change({ offset: offset || "" }).then(() => choose(0));
  }

  fill(root, h("h1", { class: "said" }, `Samples of ${route.run}`), top, numbers, body, pager);
  drawBar();
  await load();
  return {
    refresh: load,
    ready: () => choose(rows.findIndex((each) => each.key === lastSeen.get(route.run))),
    keys: {
      j: () => choose(cursor + 1),
      k: () => choose(cursor - 1),
      ArrowDown: () => choose(cursor + 1),
      ArrowUp: () => choose(cursor - 1),
      Enter: () => open(Math.max(cursor, 0)),
      n: () => turnPage(1),
      p: () => turnPage(-1),
      "/": () => bar.search.focus(),
    },
  };
}

// What was scored stands first: the answer as it was read, then what the model wrote.
export function answerOf(each) {
  const read = each.extracted === null ? "" : oneLineOf(each.extracted);
  const whole = oneLineOf(each.answer);
  return read && read !== whole
    ? [h("b", { class: "read", title: "the answer as it was read" }, read), h("span", { class: "quiet" }, " " + whole)]
    : whole;
}

function there(each, other) {
  if (other.score === null) return h("span", { class: "quiet" }, other.outcome);
  const moved = each.score === null ? 0 : other.score - each.score;
  const better = each.worth === null ? 0 : other.worth - each.worth;
  return h(
    "span",
    {
      class: better > 0 ? "good" : better < 0 ? "bad" : "quiet",
      title: `there ${number(other.score)}, here ${number(each.score)}`,
    },
    number(other.score, 2),
    moved ? ` ${signed(moved, 2)}` : "",
  );
}

function summaryLine(found, run) {
  const { summary } = found;
  const total = run.summary.rows - (run.left_out || 0);
  const notes = copyNote(run) ? [copyNote(run)] : [];
  if (found.search && found.search.reach < 1)
    notes.push(`search reaches ${percent(found.search.reach)} of the run so far`);
  if (found.search && !found.search.whole)
    notes.push("the phrase was looked for in the first 5,000 samples that hold its words");
  return h(
    "p",
    { class: "summary" },
    h(
      "b",
      null,
      found.total < total ? `${count(found.total)} of ${plural(total, "sample")}` : plural(found.total, "sample"),
    ),
    summary.score
      ? [
          ` · ${meanOf(summary.score)} `,
          h("b", null, number(summary.score.value)),
          ` (${interval(summary.score) || "no interval"}, over ${count(summary.score.n)} scored)`,
        ]
      : summary.uncounted
        ? ` · ${summary.uncounted}`
        : " · nothing scored",
    summary.seconds !== null ? ` · ${seconds(summary.seconds)} each` : "",
    notes.concat(meanNote(summary.score) || []).map((note) => h("span", { class: "note" }, note)),
  );
}

export function pages(offset, total, go) {
  const last = Math.max(0, Math.ceil(total / PAGE) - 1);
  const now = Math.floor(offset / PAGE);
  if (!last) return null;
  const to = (page) => go(Math.min(last, Math.max(0, page)) * PAGE);
  const box = h("input", {
    type: "number",
    min: 1,
    max: last + 1,
    value: now + 1,
    class: "tiny",
    "aria-label": "page",
    onchange: () => to(Number(box.value) - 1),
  });
  return [
    button("« first", () => to(0), { disabled: now === 0 }),
    button("‹ previous", () => to(now - 1), { disabled: now === 0 }),
    h("label", null, "page ", box, ` of ${count(last + 1)}`),
    button("next ›", () => to(now + 1), { disabled: now >= last }),
    button("last »", () => to(last), { disabled: now >= last }),
  ];
}
