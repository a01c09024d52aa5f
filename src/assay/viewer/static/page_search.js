// A search of `assay optimize`: what came of it, its course, the texts it kept, and every record under two of them.

import { button, copy, el, fill, follow, h, section, select, tableOf } from "./dom.js";
import { plotted } from "./figures.js";
import { replace, toRun } from "./route.js";
import { fold, marked, prose } from "./sample_parts.js";
import { figure } from "./signs.js";
import { searchRecords } from "./search_records.js";
import { textDiff } from "./text_diff.js";
import { count, number, signed } from "./numbers.js";
import { plural } from "./wording.js";

export function pageSearch(root, search, route) {
  follow(root, search, () => (search.summary ? parts(search, route) : unfinished(search)));
}

function unfinished(search) {
  const reason = el("p.note", search.reason);
  return [el("h1", search.name), reason, search.so_far ? soFar(search.so_far) : null];
}

function soFar(search) {
  const { calls, proposals } = search;
  const counts = [
    plural(calls.used, "evaluator call"),
    `${count(calls.failed)} failed`,
    plural(proposals.answers, "proposal"),
    `${count(proposals.unusable)} unusable`,
  ];
  return section("So far", el("p", counts.join(", ")), curve(search.chart));
}

function curve(chart) {
  return chart ? el("div.plots", plotted(chart)) : el("p.quiet", "Nothing was scored yet.");
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
    el("div.row.wrap", choice("First text", "from"), " with ", choice("Second text", "to")),
    box,
  );
}

function sides(before, after, beforeName, afterName) {
  const diff = before === after ? null : textDiff(before, after);
  const side = (label, text, without) =>
    el("div.side-of", el("h3", label), diff ? marked(diff, { without }) : prose(text));
  return el("div.sides", side(beforeName, before, "added"), side(afterName, after, "removed"));
}

function nameOf(each, summary) {
  return `${textName(each.number)}${each.number === summary.best_number ? " (best)" : ""}, score ${number(each.mean)}`;
}

const textName = (number) => (number === 0 ? "seed" : `#${number}`);

function objectives({ front, best_number }) {
  const rows = Object.entries(front.means).map(([which, means]) => ({ which: Number(which), means }));
  const named = (name) => (front.lower_is_better.includes(name) ? `${name} (lower is better)` : name);
  return section(
    "Objectives",
    el("p.quiet", `The best text was chosen by ${front.chosen_by}.`),
    tableOf(
      "Objectives",
      [
        ["text", ({ which }) => textName(which)],
        ...front.objectives.map((name) => [named(name), ({ means }) => number(means[name]), "num"]),
        ["", ({ which }) => (front.numbers.includes(which) ? "on the front" : "")],
      ],
      rows,
      ({ which }) => ({ class: which === best_number ? "overall" : null }),
    ),
  );
}

function rejected(summary) {
  const made = summary.proposals;
  const texts = (each) => Object.values(each.texts || {}).join("\n\n");
  return section(
    "Rejected",
    el("p.quiet", `${plural(made.rejected || 0, "proposal")} rejected, ${count(made.unusable || 0)} unusable.`),
    tableOf(
      "Rejected",
      [
        ["text", (each) => textName(each.number)],
        ["from", (each) => (each.parent === null ? "" : textName(each.parent)), "quiet"],
        ["after calls", (each) => count(each.calls), "num"],
        ["its parent", (each) => number(each.parent_score), "num"],
        ["score", (each) => number(each.score), "num"],
        ["why", (each) => [each.reason, fold("Text", prose(texts(each)))]],
      ],
      summary.rejected,
    ),
  );
}

function headline(name, summary) {
  return el(
    "div.card.head",
    el("div", el("h1", name), el("p.quiet", `a search by ${summary.proposer}, scored by ${summary.evaluator}`)),
    el("p.verdict", `Verdict: ${summary.verdict}`),
    summary.problem ? el("p.bad", summary.problem) : null,
    el("div.figures", figures(summary)),
    el("p.quiet", summary.stopped),
  );
}

function figures(summary) {
  const sets = [[`on the ${summary.selected_on}, which it was selected on`, summary.valset]];
  if (summary.testset) sets.unshift([summary.held_out ? "on held-out data" : "on the testset", summary.testset]);
  return [
    ...sets.map(([label, { seed, best, difference }]) =>
      figure(label, `${number(seed.mean)} → ${number(best.mean)}`, `difference ${signed(difference)}`),
    ),
    figure("evaluator calls", count(summary.calls.used), null),
  ];
}

function lineage(summary) {
  const isBest = (each) => each.number === summary.best_number;
  return section(
    "Lineage",
    el("p.quiet", "The texts that were kept, in the order they were found."),
    tableOf(
      "Lineage",
      [
        ["text", (each) => [textName(each.number), isBest(each) ? " (best)" : ""]],
        ["from", parentsOf, "quiet"],
        ["after calls", (each) => count(each.calls), "num"],
        ["score", (each) => el("b", number(each.mean)), "num"],
        [
          "what changed",
          (each) => (each.diff.length ? fold("Changes", difference(each.diff)) : fold("Text", prose(each.text))),
        ],
      ],
      summary.lineage,
      (each) => ({ class: isBest(each) ? "overall" : null }),
    ),
  );
}

// The text that was rewritten, or the two that were merged.
function parentsOf({ parent, merged_with }) {
  const named = [parent, merged_with].filter((each) => each !== null).map(textName);
  return named.length > 1 ? `merge of ${named.join(" and ")}` : named.join("");
}

function difference(lines) {
  return el(
    "pre.prose",
    lines.map((line) => {
      const kind = line.startsWith("+") ? "ins" : line.startsWith("-") ? "del" : "span";
      return [h(kind, null, line.replace(/\n$/, "")), "\n"];
    }),
  );
}
