// The sample table: any number of rows, a page of them at a time, filtered and sorted by the server.

import { get, messageOf } from "./api.js";
import { button, el, fill, h, link, table, th } from "./dom.js";
import { filterBar, outcomeBar, paramsOf, rangeBars, stateOf } from "./filters.js";
import { goTo, lastSeen, noteRow, push, replace, rowNoted, toSample, toSamples, toTogether } from "./route.js";
import { USUAL, cellOf, chosenColumns, chosenLines, columnChooser, columnsOf, signCell } from "./sample_columns.js";
import { selection } from "./selection.js";
import { count, interval, number, percent, seconds, signed } from "./numbers.js";
import { copyNote, meanNote, meanOf, oneLineOf, plural } from "./wording.js";

export const PAGE = 100;

// The samples of one run, or of several in one table.
export async function pageSamples(root, route) {
  const names = route.run ? [route.run] : route.runs;
  const together = names.length > 1;
  let state = stateOf(route.params);
  let rows = [];
  let cursor = -1;
  let all = 0;
  let where = "";
  let latest = 0;
  const [run, listed] = await Promise.all([get("run", { run: names[0] }), get("runs")]);
  const columns = columnsOf(run.fields);
  const [top, numbers, body, pager] = [
    h("div"),
    h("div", { class: "numbers", "aria-live": "polite" }),
    el("div.body"),
    h("nav", { class: "pager", "aria-label": "pages" }),
  ];
  let bar;
  const chosen = selection(
    () => ({ runs: names, params: paramsOf({ ...state, offset: "", sort: "", dir: "" }), total: all, where }),
    () => draw(),
  );
  const chooser = columnChooser(columns, () => load());
  const place = () => (together ? toTogether(names, paramsOf(state)) : toSamples(names[0], paramsOf(state)));

  function change(changes) {
    if (!root.isConnected) return Promise.resolve();
    const rebuilt = changes === null || "meta" in changes || "against" in changes || "value" in changes;
    state = changes === null ? stateOf({}) : { ...state, ...changes };
    // every choice is a step to come back from; what is being typed is not
    (changes && "q" in changes ? replace : push)(place());
    if (rebuilt) drawBar();
    if (changes === null || !("offset" in changes) || changes.offset === "") chosen.clear();
    cursor = -1;
    return load();
  }

  function drawBar() {
    bar = filterBar(run, listed.runs, state, change, { chooser, together });
    fill(top, bar);
  }

  async function load() {
    const mine = ++latest;
    const waiting = setTimeout(() => body.classList.add("waiting"), 150);
    body.setAttribute("aria-busy", "true");
    const field = chosenColumns(columns).flatMap((each) => each.field || []);
    let page;
    try {
      page = await get("samples", { run: names, limit: PAGE, field, lines: chosenLines(), ...paramsOf(state) });
    } catch (error) {
      if (mine === latest) fill(body, el("p.error", messageOf(error)));
      return;
    } finally {
      clearTimeout(waiting);
    }
    if (mine !== latest) return;
    body.classList.remove("waiting");
    body.setAttribute("aria-busy", "false");
    rows = page.rows;
    all = page.total;
    where = page.where || "";
    fill(numbers, together ? byRun(page) : ofRun(page));
    draw();
    fill(
      pager,
      pages(page.offset, page.total, (offset) => {
        change({ offset: offset || "" }).then(() => scrollTo(0, 0));
      }),
    );
    if (cursor >= 0) choose(Math.min(cursor, rows.length - 1));
  }

  function ofRun(page) {
    const outcomes = outcomeBar(page.summary.outcomes, run.summary.outcomes, state, change);
    return [el("div", summaryLine(page, run), outcomes), spread(page)];
  }

  function byRun(page) {
    const sum = {};
    for (const each of page.runs) {
      for (const [name, n] of Object.entries(each.outcomes)) sum[name] = (sum[name] || 0) + n;
    }
    return el(
      "div",
      el("p.summary", el("b", plural(page.total, "sample")), ` of ${page.runs.length} runs`),
      page.runs.map((each) => el("p.small", el("b", each.model), " ", means(each))),
      outcomeBar(sum, sum, state, change),
    );
  }

  function draw() {
    const shown = chosenColumns(columns);
    const lines = chosenLines();
    const usual = shown.length === USUAL.length && shown.every((each) => USUAL.includes(each.name));
    const kind = ["samples", lines > 1 && "tall", shown.length > 8 && "wide", usual && "usual"]
      .filter(Boolean)
      .join(" ");
    const made = rows.length
      ? table(
          "Samples",
          head(shown),
          rows.map((each, i) => row(each, i, shown, lines)),
          { class: kind },
        )
      : el("p.empty", "No sample matches these filters.");
    made.style.setProperty("--lines", String(lines));
    fill(body, made);
    chosen.draw();
  }

  function spread(page) {
    const what = (state.value || "score").replace("value:", "");
    return el(
      "div.spread",
      rangeBars(page.histogram, what, (low, high) => change({ low, high, offset: "" })),
    );
  }

  function head(shown) {
    const whole = h("input", {
      type: "checkbox",
      "aria-label": "select this page",
      checked: rows.length > 0 && rows.every((each) => chosen.has(each)),
      onchange: (event) => chosen.togglePage(rows, event.target.checked),
    });
    return [
      th(whole, { class: "c-pick" }),
      th(el("span.visually-hidden", "outcome"), { class: "c-sign" }),
      together ? th("run", { class: "c-run" }) : null,
      sorting("order", "id", "c-id"),
      state.against.length ? sorting("changed", "there", "c-there num") : null,
      shown.map((each) => sorting(each.sort, each.label, `c-${each.kind.split(" ")[0]} h-${each.name}`)),
    ];
  }

  function sorting(sort, label, kind) {
    const on = sort && (state.sort || "order") === sort;
    const down = state.dir === "desc";
    const press = () => change({ sort, dir: on && !down ? "desc" : "", offset: "" });
    return th(sort ? button([label, on ? (down ? " ↓" : " ↑") : ""], press, { class: "sort" }) : label, {
      class: kind,
      title: label,
      "aria-sort": on ? (down ? "descending" : "ascending") : null,
    });
  }

  function row(each, i, shown, lines) {
    const other = each.others && each.others[0];
    const pick = h("input", {
      type: "checkbox",
      "aria-label": `select ${each.id}`,
      checked: chosen.has(each),
      onchange: (event) => chosen.toggle(each, event.target.checked),
    });
    return h(
      "tr",
      {
        tabindex: -1,
        title: each.reason || each.failure || null,
        onclick: (event) => {
          if (!event.target.closest("a, input, .c-pick")) open(i);
        },
      },
      el("td.c-pick", pick),
      signCell(each),
      together ? h("td", { class: "c-run quiet", title: each.run }, each.model || each.run) : null,
      el(
        "td.c-id",
        link(address(each), null, oneLineOf(each.id)),
        each.attempt > 1 ? el("span.quiet", ` #${each.attempt}`) : null,
      ),
      state.against.length ? h("td", { class: "num", "data-label": "there" }, other ? there(each, other) : "–") : null,
      shown.map((column) => cellOf(column, each, lines)),
    );
  }

  const address = (each) => toSample(each.run || names[0], each.key, paramsOf(state));
  function open(i) {
    if (!rows[i]) return;
    noteRow(rows[i].key);
    goTo(address(rows[i]));
  }

  function choose(i) {
    if (i < 0 || i >= rows.length) return;
    const shown = body.querySelectorAll("tbody tr");
    if (cursor >= 0 && shown[cursor]) shown[cursor].classList.remove("chosen");
    cursor = i;
    shown[i].classList.add("chosen");
    shown[i].focus({ preventScroll: true });
    shown[i].scrollIntoView({ block: "nearest" });
    noteRow(rows[i].key);
  }

  function turnPage(by) {
    const offset = Number(state.offset || 0) + by * PAGE;
    if (offset >= 0 && offset < all) change({ offset: offset || "" }).then(() => choose(0));
  }

  function toggleRow() {
    if (!rows[cursor]) return;
    chosen.toggle(rows[cursor], !chosen.has(rows[cursor]));
    draw();
    choose(cursor);
  }

  const heading = `Samples of ${names.join(", ")}`;
  fill(root, el("h1.visually-hidden", heading), top, numbers, chosen.bar, body, pager);
  drawBar();
  await load();
  return {
    refresh: load,
    ready: () => {
      const seen = rowNoted() || lastSeen.get(names[0]);
      choose(rows.findIndex((each) => each.key === seen));
    },
    keys: {
      j: () => choose(cursor + 1),
      k: () => choose(cursor - 1),
      ArrowDown: () => choose(cursor + 1),
      ArrowUp: () => choose(cursor - 1),
      Enter: () => open(Math.max(cursor, 0)),
      x: toggleRow,
      n: () => turnPage(1),
      p: () => turnPage(-1),
      "/": () => bar.search.focus(),
    },
  };
}

function there(each, other) {
  if (other.score === null) return el("span.quiet", other.outcome);
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

function summaryLine(page, run) {
  const { summary } = page;
  const total = run.summary.rows - (run.omitted || 0);
  const notes = copyNote(run) ? [copyNote(run)] : [];
  if (page.search && page.search.reach < 1)
    notes.push(`search reaches ${percent(page.search.reach)} of the run so far`);
  if (page.search && !page.search.whole)
    notes.push("the phrase was searched for in the first 5,000 samples that hold its words");
  return el(
    "p.summary",
    el("b", page.total < total ? `${count(page.total)} of ${plural(total, "sample")}` : plural(page.total, "sample")),
    " · ",
    means(summary),
    notes.concat(meanNote(summary.score) || []).map((note) => el("span.note", note)),
  );
}

// The mean of what matches, with its interval.
function means(summary) {
  const time = summary.seconds !== null ? ` · ${seconds(summary.seconds)} each` : "";
  if (!summary.score) return [summary.uncounted || "nothing scored", time];
  const over = `(${interval(summary.score) || "no interval"}, over ${count(summary.score.n)} scored)`;
  return [`${meanOf(summary.score)} `, el("b", number(summary.score.value)), ` ${over}`, time];
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
    el("label", "page ", box, ` of ${count(last + 1)}`),
    button("next ›", () => to(now + 1), { disabled: now >= last }),
    button("last »", () => to(last), { disabled: now >= last }),
  ];
}
