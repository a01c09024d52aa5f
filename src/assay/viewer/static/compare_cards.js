// How sure the differences between runs are: a card for two runs, one line each for more, with the cards folded.

import { el, h, listed, section, table, th } from "./dom.js";
import { differenceWhisker } from "./signs.js";
import { count, interval, number, pValue, signed } from "./numbers.js";
import { plural } from "./wording.js";

export function pairCards(pairs, short) {
  if (pairs.length < 2) return pairs.map((pair) => pairCard(pair, short));
  const shown = pairs.filter((pair) => pair.overall);
  const reach = reachOf(shown.map((pair) => pair.overall));
  const rows = pairs.map((pair) =>
    pair.overall
      ? lineOf(pair.overall, short(pair.second), reach)
      : el("tr", el("td", short(pair.second)), h("td", { colspan: 9, class: "quiet" }, NOTHING)),
  );
  const cards = pairs.map((pair) =>
    el(
      "details.pair",
      el("summary", el("b", short(pair.second)), " by task, and what else differs"),
      pairCard(pair, short),
    ),
  );
  return section(
    `Against ${short(pairs[0].first)}`,
    table("Runs against the first", heads("run", short(pairs[0].first), "this run"), rows),
    cards.length > 3 ? el("details", el("summary", "Each by task, and what else differs"), cards) : cards,
  );
}

const NOTHING = "Nothing to compare: no sample was scored by both with the same targets.";

function heads(what, first, second) {
  const num = (name, title) => th(name, { class: "num", title });
  return [
    th(what),
    num(first),
    num(second),
    num("difference"),
    th(el("span.visually-hidden", "difference with its interval, drawn")),
    num("interval"),
    num("p", "Holm-adjusted"),
    num("better"),
    num("worse"),
    num("same"),
  ];
}

function reachOf(comparisons) {
  const ends = comparisons.flatMap((each) => [each.interval.low || 0, each.interval.high || 0, each.difference || 0]);
  return Math.max(0.05, ...ends.map(Math.abs)) * 1.1;
}

function lineOf(each, label, reach, kind) {
  return h(
    "tr",
    { class: kind },
    el("td", label),
    el("td.num", number(each.first)),
    el("td.num", number(each.second)),
    el(
      "td.num",
      h("b", { class: each.significant ? (each.difference > 0 ? "good" : "bad") : "" }, signed(each.difference)),
    ),
    el("td.wide", differenceWhisker(each.difference, each.interval, reach, each.significant)),
    el("td.num.quiet", interval(each.interval) || each.interval.reason || ""),
    el("td.num", pValue(each.adjusted_p ?? each.p_value)),
    el("td.num.good", count(each.wins)),
    el("td.num.bad", count(each.losses)),
    el("td.num.quiet", count(each.ties)),
  );
}

function pairCard(pair, short) {
  const { overall } = pair;
  const reach = reachOf(overall ? [overall, ...pair.tasks] : []);
  const title = el("h2", `${short(pair.second)} against ${short(pair.first)}`);
  const otherDifferences = pair.sentences.length ? listed(pair.sentences, "ul.quiet.small") : null;
  if (!overall) return el("div.card", title, el("p.verdict", NOTHING), unequal(pair, short), otherDifferences);
  return el(
    "div.card",
    title,
    el("p.verdict", verdict(overall, short(pair.second), short(pair.first))),
    table("Paired comparison", heads("task", short(pair.first), short(pair.second)), [
      pair.tasks.map((each) =>
        lineOf(each, each.lower_is_better ? `${each.task} (negated: lower is better)` : each.task, reach),
      ),
      pair.tasks.length > 1 ? lineOf(overall, "mean over tasks", reach, "overall") : null,
    ]),
    el(
      "p.quiet.small",
      `${plural(overall.n, "pair")}; `,
      `${overall.signature || `the mean of the tasks' differences, ${overall.interval.method}`}; `,
      `p-values are Holm-adjusted for ${plural(pair.comparisons, "comparison")}.`,
      overall.minimum_detectable_effect
        ? ` This many pairs would find a true difference of ${number(overall.minimum_detectable_effect)} ` +
            "four times out of five."
        : "",
    ),
    unequal(pair, short),
    otherDifferences,
  );
}

// Only what both runs scored with the same targets compares: what was left out, in the words of `assay diff`.
function unequal(pair, short) {
  if (!pair.unequal.length) return null;
  return el(
    "div.note",
    el(
      "p",
      "Only samples that both scored, with the same targets, are compared ",
      `(A is ${short(pair.first)}, B is ${short(pair.second)}):`,
    ),
    listed(pair.unequal),
  );
}

function verdict(overall, second, first) {
  if (overall.difference === null || overall.difference === undefined) return overall.reason || "Nothing to compare.";
  const size = `${signed(overall.difference)} (${interval(overall.interval) || "no interval"})`;
  const p = `p ${pValue(overall.adjusted_p ?? overall.p_value)}`;
  if (!overall.significant) return `No difference that these samples can show: ${size}, ${p}.`;
  return `${second} is ${overall.difference > 0 ? "better" : "worse"} than ${first}: ${size}, ${p}.`;
}
