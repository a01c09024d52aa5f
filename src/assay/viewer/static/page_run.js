// One run from above: leaderboard, charts, outcomes, failures by kind, slices by any key.

import { get } from "./api.js";
import { button, el, fill, follow, h, link, section, select, table, tableOf, th } from "./dom.js";
import { figure, progressBar, stack, whisker } from "./signs.js";
import { chartSection, plotted } from "./figures.js";
import { pageSearch } from "./page_search.js";
import { goTo, toMarks, toSample, toSamples } from "./route.js";
import { count, interval, milliseconds, number, percent, seconds, short } from "./numbers.js";
import { OUTCOMES, copyNote, meanNote, money, oneLineOf, plural } from "./wording.js";

export async function pageRun(root, route) {
  let by = null;
  const [top, board, drawn, spread, broken, parts, sliceBox] = Array.from({ length: 7 }, () => h("div"));
  fill(root, top, board, drawn, spread, broken, parts);

  async function load() {
    const run = await get("run", { run: route.run });
    if (run.kind === "search") {
      pageSearch(root, run, route);
      return run;
    }
    const { progress, summary, cost, marks, failures: kinds, keys } = run;
    follow(top, [run.board, progress, summary, cost, marks, run.board_is_older], () => headline(run));
    follow(board, run.board, () => (run.board ? leaderboard(run) : null));
    follow(spread, run.distributions, () => outcomesByTask(run));
    follow(broken, kinds, () => failures(run));
    follow(
      parts,
      keys.map((each) => each.key),
      () => slices(run),
    );
    drawSlices();
    drawCharts();
    return run;
  }

  async function drawCharts() {
    const charts = await get("charts", { run: route.run });
    follow(drawn, charts, () => chartSection("Charts", charts));
  }

  function slices(run) {
    const keys = ["task", "outcome", ...run.keys.map((each) => each.key)];
    if (run.provenance.config.repeat > 1) keys.push("attempt");
    if (by === null || !keys.includes(by)) by = firstKey(run);
    return section(
      "Slices",
      el(
        "p.quiet",
        "The score over parts of the samples, the lowest first, with the interval each part has by itself.",
      ),
      el(
        "div.row",
        el(
          "label",
          "by ",
          select("Slice by", keys, by, (value) => {
            by = value;
            drawSlices();
          }),
        ),
      ),
      sliceBox,
    );
  }

  async function drawSlices() {
    const wanted = by;
    const answer = await get("slices", { run: route.run, by });
    // another key was chosen while this one was loading
    if (wanted !== by) return;
    const nameOf = ({ known, value }) =>
      known
        ? link(toSamples(route.run, sliceFilter(by, value)), null, value === "" ? "(empty)" : value)
        : el("span.quiet", "(without, or not kept)");
    follow(sliceBox, [answer, answer.slices.length], () => [
      answer.chart ? el("div.plots", plotted(answer.chart)) : null,
      tableOf(
        `Slices by ${by}`,
        [
          ["value", nameOf],
          ["score", ({ score }) => el("b", number(score && score.value)), "num"],
          [chartHead("score"), ({ score }) => (score ? whisker(score.value, score) : null), "wide"],
          ["interval", ({ score }) => interval(score), "num quiet"],
          ["scored", (slice) => count(slice.scored), "num"],
          ["failed", ({ failed }) => (failed ? el("span.bad", count(failed)) : "0"), "num"],
        ],
        answer.slices,
      ),
      [...new Set(answer.slices.map((slice) => meanNote(slice.score)))]
        .filter(Boolean)
        .map((note) => el("p.quiet", note)),
      answer.groups > answer.shown
        ? el("p.quiet", `the ${answer.shown} largest of ${plural(answer.groups, "group")}`)
        : null,
    ]);
  }

  const shown = await load();
  if (shown.kind === "search") return { refresh: load, tabs: false };
  return {
    refresh: load,
    keys: {
      "/": () => goTo(toSamples(route.run)),
      Enter: () => goTo(toSamples(route.run)),
    },
  };
}

// The head of a column of small charts, for screen readers.
const chartHead = (of) => el("span.visually-hidden", `${of} with its interval, drawn`);

// A key with a few values that many samples share; a hash or an id of each sample is useless for slices.
function firstKey(run) {
  const telling = (each) => each.values.length > 1 && each.values.length <= Math.min(50, run.summary.rows / 2);
  const key = run.keys.find((each) => !each.key.startsWith("label:") && !each.more && telling(each));
  return key ? key.key : "task";
}

function sliceFilter(by, value) {
  if (by === "task" || by === "outcome") return { [by]: value };
  return by === "attempt" ? { q: `attempt=${value}` } : { meta: `${by}=${value}` };
}

function headline(run) {
  const { board, progress, summary, name } = run;
  const model = run.provenance.config?.label || run.provenance.model.name;
  const state = progress.running ? "running" : progress.complete ? "finished" : "interrupted";
  const pick = (outcome) => goTo(toSamples(name, { outcome }));
  const cost = money(run.cost);
  return el(
    "div.card.head",
    el("div", el("h1", model), el("p.quiet", name)),
    el(
      "div.figures",
      figure("overall score", ...overall(board, summary.score)),
      figure(
        "attempts",
        `${count(progress.done)}`,
        progress.done < progress.total ? `of ${count(progress.total)}` : "complete",
      ),
      figure(
        "failures",
        count(progress.failed),
        progress.failed ? "not counted as wrong" : "none",
        progress.failed ? "bad" : "",
      ),
      figure("time per attempt", seconds(summary.seconds), "mean"),
      figure(
        cost ? "cost" : "tokens",
        cost || short(summary.tokens_in + summary.tokens_out),
        `${short(summary.tokens_in)} in, ${short(summary.tokens_out)} out` +
          (cost && run.cost.prices ? "; " + run.cost.prices : ""),
      ),
      run.marks
        ? figure(
            "people agree",
            percent(run.marks.overall.raw),
            h(
              "a",
              { href: toMarks(name) },
              `${plural(run.marks.marked, "mark")}, κ ${number(run.marks.overall.kappa, 2)}`,
            ),
          )
        : null,
    ),
    el("div.wide", stack(summary.outcomes), legend(summary.outcomes, pick)),
    el(
      "div.row",
      h("span", { class: progress.running ? "state on" : "state" }, state),
      progress.running || !progress.complete ? progressBar(progress) : null,
      progress.indexed < 1
        ? el("span.quiet", `indexing: ${percent(progress.indexed)} of the journal can be seen`)
        : null,
      copyNote(run) ? el("p.note", copyNote(run)) : null,
      (board?.notices || []).map((notice) => el("p.note", notice)),
      run.board_is_older ? el("span.quiet", "the leaderboard is a moment behind the journal") : null,
      el("span.room"),
      run.provenance.config.repeat > 1
        ? link(toSamples(name, { q: "attempts:mixed" }), { class: "button" }, "Sometimes right, sometimes not")
        : null,
      link(toSamples(name), { class: "button primary" }, "Read the samples"),
    ),
  );
}

// The overall score with its interval; before there is one, the mean so far.
/** @returns {[string, string]} */
function overall(board, mean) {
  const score = board?.overall_score ?? null;
  if (score !== null) return [number(score), interval(board.overall_interval) || "mean of the task scores"];
  if (mean && !board?.complete) return [number(mean.value), "mean so far"];
  return ["–", board?.overall_reason || ""];
}

function legend(outcomes, pick) {
  return el(
    "div.legend",
    Object.keys(OUTCOMES)
      .filter((name) => outcomes[name])
      .map((name) =>
        button(
          [
            h("span", { class: `swatch o-${name}`, "aria-hidden": "true" }),
            `${OUTCOMES[name][1]} `,
            el("b", count(outcomes[name])),
          ],
          () => pick(name),
          { class: "plain", title: OUTCOMES[name][2] },
        ),
      ),
  );
}

const OPTIONAL = [
  "weak_passes",
  "failed",
  "timeouts",
  "excluded",
  "remaining",
  "truncated",
  "prompts_cut",
  "nothing_extracted",
  "cached",
];

function leaderboard(run) {
  const rows = run.board.tasks;
  const shown = OPTIONAL.filter((name) => rows.some((row) => row[name]));
  const counted = shown.map((name) => name.replace("_", " "));
  const num = (name) => th(name, { class: "num" });
  const head = [th("task"), th("metric"), num("score"), th(chartHead("score"))];
  head.push(...["interval", "correct", "scored", ...counted, "ms"].map(num));
  const body = rows.map((row) =>
    h(
      "tr",
      { title: row.signature },
      el(
        "td",
        link(toSamples(run.name, { task: row.task }), { class: "strong" }, row.task),
        row.display_name && row.display_name !== row.task ? el("div.quiet.small.called", row.display_name) : null,
      ),
      el("td.quiet", row.metric_definition),
      el("td.num", row.refused ? "refused" : el("b", number(row.score))),
      el("td.wide", whisker(row.score, row.interval)),
      el("td.num.quiet", row.refused || row.score === null ? row.refused || row.reason || "" : interval(row.interval)),
      el("td.num", count(row.correct)),
      el("td.num", count(row.scored)),
      shown.map((name) =>
        h(
          "td",
          {
            class:
              "num" + (row[name] && (name === "failed" || name === "timeouts" || name === "weak_passes") ? " bad" : ""),
          },
          count(row[name]),
        ),
      ),
      el("td.num.quiet", milliseconds(row.latency_ms)),
    ),
  );
  const overall =
    run.board.overall_score === null
      ? null
      : el(
          "tr.overall",
          el("td", "overall"),
          h("td"),
          el("td.num", el("b", number(run.board.overall_score))),
          el("td.wide", whisker(run.board.overall_score, run.board.overall_interval)),
          el("td.num.quiet", interval(run.board.overall_interval)),
          h("td", { colspan: 3 + shown.length }),
        );
  return section(
    "Leaderboard",
    table("Leaderboard", head, [body, overall]),
    run.board.overall_reason ? el("p.quiet", `overall: ${run.board.overall_reason}`) : null,
  );
}

function outcomesByTask(run) {
  const cards = run.distributions.map((each) =>
    el(
      "div.card.small-multiple",
      el(
        "h3",
        link(toSamples(run.name, { task: each.task }), null, each.task),
        el("span.quiet.small", " " + plural(each.rows, "attempt")),
      ),
      stack(each.outcomes),
      legend(each.outcomes, (outcome) => goTo(toSamples(run.name, { task: each.task, outcome }))),
    ),
  );
  return section("Outcomes by task", el("div.cards", cards));
}

function failures(run) {
  if (!run.failures.length) return section("Failures", el("p.quiet", "None: every attempt was answered and scored."));
  const samplesOf = ({ kind, task }) => link(toSamples(run.name, { failure: kind, task }), { class: "strong" }, kind);
  const exampleOf = ({ example: { key, message } }) =>
    link(toSample(run.name, key), { class: "cut", title: message }, oneLineOf(message));
  return section(
    "Failures by kind",
    el(
      "p.quiet",
      "A failure is never a score: an attempt is excluded from the means of the scores that it lacks. " +
        "Rerun the same command to retry it.",
    ),
    tableOf(
      "Failures by kind",
      [
        ["kind", samplesOf],
        ["task", (each) => each.task],
        ["count", (each) => count(each.count), "num bad"],
        ["for example", exampleOf, "wide"],
      ],
      run.failures,
    ),
  );
}
