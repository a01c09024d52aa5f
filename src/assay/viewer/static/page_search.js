// A search of `assay optimize`: what came of it, the score over the calls it took, and the texts it kept.

import { whisker } from "./charts.js";
import { button, copy, fill, h, section, table, th } from "./dom.js";
import { fold, prose } from "./sample_parts.js";
import { count, number, plural, signed } from "./words.js";

export function pageSearch(root, found) {
  const { summary } = found;
  if (!summary) {
    fill(root, h("h1", null, found.name), h("p", { class: "note" }, found.reason));
    return;
  }
  fill(
    root,
    headline(found.name, summary),
    lineage(summary),
    section(
      "Best text",
      button("Copy", () => copy(summary.best, "Text copied")),
      prose(summary.best),
    ),
    summary.best === summary.seed ? null : section("Seed", prose(summary.seed)),
    summary.rejected.length
      ? section(
          "Rejected",
          h(
            "p",
            { class: "quiet" },
            `${plural(summary.proposals.rejected || 0, "proposal")} rejected, `,
            `${count(summary.proposals.unusable || 0)} unusable.`,
          ),
        )
      : null,
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
    h("p", { class: "verdict" }, summary.verdict),
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
      h("td", { class: "quiet" }, each.parent === null ? "" : each.parent === 0 ? "seed" : `#${each.parent}`),
      h("td", { class: "num" }, count(each.calls)),
      h("td", { class: "num" }, h("b", null, number(each.mean))),
      h("td", { class: "wide" }, whisker(each.mean, null)),
      h("td", null, each.diff.length ? fold("Changes", difference(each.diff)) : fold("Text", prose(each.text))),
    ),
  );
  const head = [
    th("text"),
    th("from"),
    th("after calls", { class: "num" }),
    th("score", { class: "num" }),
    th(h("span", { class: "said" }, "score on a scale")),
    th("what changed"),
  ];
  return section(
    "Lineage",
    h("p", { class: "quiet" }, "The texts that were kept, in the order they were found."),
    table("Lineage", head, rows),
  );
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
