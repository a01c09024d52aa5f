// The records of a search under the seed and under the best text, side by side: why one fails is a click away.

import { button, el, fill, h, section, select, table, th } from "./dom.js";
import { data, prose } from "./sample_parts.js";
import { amount, count, number, seconds, signed } from "./numbers.js";
import { oneLineOf, plural } from "./wording.js";

const SHOWN = {
  all: ["all records", () => true],
  failed: ["the best text fails", (each) => each.best === null || each.best <= 0],
  imperfect: ["below full marks", (each) => each.best === null || each.best < 1],
  worse: ["worse than the seed", (each) => (change(each) ?? 0) < 0],
  better: ["better than the seed", (each) => (change(each) ?? 0) > 0],
};

// `open` is the record that the address names, and `onopen` is called with the one that is opened.
export function searchRecords(summary, open, onopen) {
  let shown = "all";
  const box = h("div");
  const draw = () => {
    const records = summary.records.filter(SHOWN[shown][1]);
    fill(
      box,
      records.length
        ? table(
            "Records",
            head(),
            records.map((each) => rows(summary, each, nameOf(each, summary) === open, onopen)).flat(),
          )
        : el("p.empty", "No record matches."),
    );
  };
  draw();
  const options = Object.entries(SHOWN).map(([name, [label, holds]]) => [
    name,
    `${label} (${count(summary.records.filter(holds).length)})`,
  ]);
  return section(
    "Records, seed and best side by side",
    el(
      "div.row.wrap",
      select("Which records", options, shown, (value) => {
        shown = value;
        draw();
      }),
      summary.records_omitted
        ? el("span.quiet", `${plural(summary.records_omitted, "more record")} in summary.json`)
        : null,
    ),
    box,
  );
}

function nameOf(each, summary) {
  const part = each.part === "testset" && summary.held_out ? "held out" : each.part;
  return part === "single" ? "the text" : `${part} ${each.index + 1}`;
}

function head() {
  const scores = ["seed", "best", "change"].map((name) => th(name, { class: "num" }));
  return [th("record"), ...scores, th("what the best text led to")];
}

function rows(summary, each, isOpen, onopen) {
  const detail = h("tr", { class: "detail", hidden: true }, h("td", { colspan: 5 }));
  const toggle = button(nameOf(each, summary), () => show(detail.hidden), {
    class: "record",
    "aria-expanded": "false",
  });
  const show = (on) => {
    if (on && !detail.firstElementChild.childElementCount) fill(detail.firstElementChild, record(summary, each));
    detail.hidden = !on;
    toggle.setAttribute("aria-expanded", String(on));
    onopen(on ? nameOf(each, summary) : null);
  };
  const gained = change(each);
  const tone = !gained ? "quiet" : gained > 0 ? "good" : "bad";
  const of = evaluationsOf(each, summary.best_number)[0];
  const led = of && (of.failure || of.output || Object.values(of.side_info)[0]);
  const line = el(
    "tr",
    el("td", toggle),
    el("td.num", score(each.seed)),
    el("td.num", el("b", score(each.best))),
    h("td", { class: `num ${tone}` }, signed(gained)),
    el("td.text", oneLineOf(typeof led === "string" ? led : led && JSON.stringify(led)).slice(0, 200)),
  );
  if (isOpen) {
    show(true);
    requestAnimationFrame(() => line.scrollIntoView({ block: "start" }));
  }
  return [line, detail];
}

function change(each) {
  return each.seed === null || each.best === null ? null : each.best - each.seed;
}

function score(value) {
  return value === null ? "failed" : number(value);
}

function evaluationsOf(each, candidate) {
  return each.evaluations.filter((row) => row.candidate === candidate);
}

function record(summary, each) {
  const best = summary.best_number;
  const sides = [[best === 0 ? "seed and best" : "seed", 0], ...(best === 0 ? [] : [["best", best]])];
  const others = each.evaluations.filter((row) => row.candidate !== 0 && row.candidate !== best);
  return [
    el(
      "div.sides",
      sides.map(([label, candidate]) =>
        el(
          "div.side-of",
          el("h3", label),
          evaluationsOf(each, candidate).map((row) => evaluation(row)),
        ),
      ),
    ),
    each.record === null ? null : [el("h3", "record"), data(each.record)],
    others.length
      ? el("p.quiet", "other texts here: ", others.map((row) => `#${row.candidate} ${score(row.score)}`).join(" · "))
      : null,
  ];
}

// One evaluation with all that is known of it: score, what it led to, why, sub-scores, seconds, cost.
function evaluation(row) {
  const facts = [
    `score ${score(row.score)}`,
    row.repeat > 1 ? `repeat ${row.repeat}` : null,
    seconds(row.seconds),
    row.cost === null ? null : `cost ${amount(row.cost, "USD")}`,
    row.reused ? "reused from another search" : null,
  ];
  const field = (label, child) => el("div.field", el("div.label", label), child);
  return el(
    "div.evaluation",
    el("p.quiet", facts.filter(Boolean).join(" · ")),
    row.failure ? el("p.bad", "failed: ", row.failure) : null,
    row.output === null ? null : field("output", prose(row.output)),
    row.scores === null ? null : field("sub-scores", data(row.scores)),
    Object.entries(row.side_info).map(([name, value]) => field(name, data(value))),
  );
}
