// A search of `assay optimize`: what came of it, its course, the texts it kept, and every record under two of them.

import { button, copy, fill, follow, h, section, select, table, th } from "./dom.js";
import { plotted } from "./figures.js";
import { replace, toRun } from "./route.js";
import { fold, prose } from "./sample_parts.js";
import { searchRecords } from "./search_records.js";
import { textDiff } from "./text_diff.js";
import { count, number, plural, signed } from "./words.js";

export function pageSearch(root, search, route) {
  follow(root, search, () => (search.summary ? parts(search, route) : unfinished(search)));
}

function unfinished(search) {
  const reason = h("p", { class: "note" }, search.reason);
  return [h("h1", null, search.name), reason, search.so_far ? soFar(search.so_far) : null];
}

function soFar(search) {
  const { calls, proposals } = search;
  const counts = [
    plural(calls.used, "evaluator call"),
    `${count(calls.failed)} failed`,
    plural(proposals.answers, "proposal"),
    `${count(proposals.unusable)} unusable`,
  ];
  return section("So far", h("p", null, counts.join(", ")), curve(search.chart));
}

function curve(chart) {
  return chart ? h("div", { class: "plots" }, plotted(chart)) : h("p", { class: "quiet" }, "Nothing was scored yet.");
}

function parts({ name, summary }, route) {
  const open = (route.params.record || [])[0];
  // a record has an address of its own, to send to somebody else
  const onopen = (record) => replace(toRun(name) + (record ? "?" + new URLSearchParams({ record }) : ""));
  return [
    headline(name, summary),
    section("Course", curve(summary.chart)),
    searchRecords(summary, open, onopen),
    compared(summary),
    lineage(summary),
    summary.front ? objectives(summary) : null,
    summary.rejected.length ? rejected(summary) : null,
    section(
      "Best text",
      button("Copy", () => copy(summary.best, "Text copied")),
      prose(summary.best),
    ),
  ];
}

// Any two of the kept texts, with what differs marked; seed and best to begin with.
function compared(summary) {
  if (summary.lineage.length < 2) return null;
  const texts = new Map(summary.lineage.map((each) => [String(each.number), each]));
  const names = summary.lineage.map((each) => [String(each.number), nameOf(each, summary)]);
  const chosen = { from: "0", to: String(summary.best_number || summary.lineage[1].number) };
  const box = h("div");
  const draw = () => {
    const [from, to] = [texts.get(chosen.from), texts.get(chosen.to)];
    fill(box, sides(from.text, to.text, nameOf(from, summary), nameOf(to, summary)));
  };
  draw();
  const choice = (label, end) =>
    select(label, names, chosen[end], (value) => {
      chosen[end] = value;
      draw();
    });
  return section(
    "Texts compared",
    h("div", { class: "row wrap" }, choice("First text", "from"), " with ", choice("Second text", "to")),
    box,
  );
}

function sides(before, after, beforeName, afterName) {
  const diff = before === after ? null : textDiff(before, after);
  const side = (label, text, without) =>
    h(
      "div",
      { class: "side-of" },
      h("h3", null, label),
      diff
        ? h(
            "pre",
            { class: "prose", dir: "auto" },
            diff
              .filter(([kind]) => kind !== without)
              .map(([kind, part]) => (kind === "same" ? part : h(kind === "removed" ? "del" : "ins", null, part))),
          )
        : prose(text),
    );
  return h("div", { class: "sides" }, side(beforeName, before, "added"), side(afterName, after, "removed"));
}

function nameOf(each, summary) {
  const name = each.number === 0 ? "seed" : `#${each.number}`;
  return `${name}${each.number === summary.best_number ? " (best)" : ""}, score ${number(each.mean)}`;
}

function objectives({ front, best_number }) {
  const rows = Object.entries(front.means).map(([which, values]) =>
    h(
      "tr",
      { class: Number(which) === best_number ? "overall" : null },
      h("td", null, which === "0" ? "seed" : `#${which}`),
      front.objectives.map((name) => h("td", { class: "num" }, number(values[name]))),
      h("td", null, front.numbers.includes(Number(which)) ? "on the front" : ""),
    ),
  );
  const named = (name) => (front.lower_is_better.includes(name) ? `${name} (lower is better)` : name);
  const head = [th("text"), ...front.objectives.map((name) => th(named(name), { class: "num" })), th("")];
  const chosen = h("p", { class: "quiet" }, `The best text was chosen by ${front.chosen_by}.`);
  return section("Objectives", chosen, table("Objectives", head, rows));
}

function rejected(summary) {
  const rows = summary.rejected.map((each) =>
    h(
      "tr",
      null,
      h("td", null, `#${each.number}`),
      h("td", { class: "quiet" }, each.parent === null ? "" : each.parent === 0 ? "seed" : `#${each.parent}`),
      h("td", { class: "num" }, count(each.calls)),
      h("td", { class: "num" }, number(each.parent_score)),
      h("td", { class: "num" }, number(each.score)),
      h("td", null, each.reason, fold("Text", prose(Object.values(each.texts || {}).join("\n\n")))),
    ),
  );
  const head = [
    th("text"),
    th("from"),
    th("after calls", { class: "num" }),
    th("its parent", { class: "num" }),
    th("score", { class: "num" }),
    th("why"),
  ];
  const made = summary.proposals;
  return section(
    "Rejected",
    h(
      "p",
      { class: "quiet" },
      `${plural(made.rejected || 0, "proposal")} rejected, ${count(made.unusable || 0)} unusable.`,
    ),
    table("Rejected", head, rows),
  );
}

function headline(name, summary) {
  return h(
    "div",
    { class: "card head" },
    h(
      "div",
      null,
      h("h1", null, name),
      h("p", { class: "quiet" }, `a search by ${summary.proposer}, scored by ${summary.evaluator}`),
    ),
    h("p", { class: "verdict" }, `Verdict: ${summary.verdict}`),
    summary.problem ? h("p", { class: "bad" }, summary.problem) : null,
    h("div", { class: "figures" }, figures(summary)),
    h("p", { class: "quiet" }, summary.stopped),
  );
}

function figures(summary) {
  const sets = [[`on the ${summary.selected_on}, which it was selected on`, summary.valset]];
  if (summary.testset) sets.unshift(["on held-out data", summary.testset]);
  return [
    ...sets.map(([label, each]) =>
      h(
        "div",
        { class: "figure" },
        h("div", { class: "label" }, label),
        h("div", { class: "value" }, `${number(each.seed.mean)} → ${number(each.best.mean)}`),
        h("div", { class: "quiet small" }, `difference ${signed(each.difference)}`),
      ),
    ),
    h(
      "div",
      { class: "figure" },
      h("div", { class: "label" }, "evaluator calls"),
      h("div", { class: "value" }, count(summary.calls.used)),
    ),
  ];
}

function lineage(summary) {
  const rows = summary.lineage.map((each) =>
    h(
      "tr",
      { class: each.number === summary.best_number ? "overall" : null },
      h(
        "td",
        null,
        each.number === 0 ? "seed" : `#${each.number}`,
        each.number === summary.best_number ? " (best)" : "",
      ),
      h("td", { class: "quiet" }, parentsOf(each)),
      h("td", { class: "num" }, count(each.calls)),
      h("td", { class: "num" }, h("b", null, number(each.mean))),
      h("td", null, each.diff.length ? fold("Changes", difference(each.diff)) : fold("Text", prose(each.text))),
    ),
  );
  const head = [
    th("text"),
    th("from"),
    th("after calls", { class: "num" }),
    th("score", { class: "num" }),
    th("what changed"),
  ];
  return section(
    "Lineage",
    h("p", { class: "quiet" }, "The texts that were kept, in the order they were found."),
    table("Lineage", head, rows),
  );
}

// The text that was rewritten, or the two that were merged.
function parentsOf({ parent, merged_with }) {
  const named = [parent, merged_with].filter((each) => each !== null).map((each) => (each ? `#${each}` : "seed"));
  return named.length > 1 ? `merge of ${named.join(" and ")}` : named.join("");
}

function difference(lines) {
  return h(
    "pre",
    { class: "prose" },
    lines.map((line) => {
      const kind = line.startsWith("+") ? "ins" : line.startsWith("-") ? "del" : "span";
      return [h(kind, null, line.replace(/\n$/, "")), "\n"];
    }),
  );
}
