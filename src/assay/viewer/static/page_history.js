// Runs of the same tasks in order: the score with its interval, what changed, and where it first got worse.

import { get } from "./api.js";
import { el, fill, h, link, section, select, tableOf } from "./dom.js";
import { plotted } from "./figures.js";
import { replace, toCompare, toHistory, toRun } from "./route.js";
import { interval, number, pValue, signed } from "./numbers.js";
import { plural } from "./wording.js";

export async function pageHistory(root, route) {
  const one = (name) => (route.params[name] || [""])[0];
  let state = { task: one("task"), model: one("model"), baseline: one("baseline") };
  const [bar, body] = [el("div.row.wrap"), h("div")];

  async function load() {
    const answer = await get("history", state);
    drawBar(answer);
    fill(
      body,
      answer.histories.length
        ? answer.histories.map((each) => historyOf(each, (baseline) => change({ baseline })))
        : el("p.empty", answer.reason || "No two runs of the same tasks here yet."),
    );
  }

  function change(changes) {
    state = { ...state, ...changes };
    if (root.isConnected) replace(toHistory(state));
    return load();
  }

  function drawBar(answer) {
    const choice = (name, label, values) =>
      select(label, [["", `${label}: all`], ...values], state[name], (value) =>
        change({ [name]: value, baseline: "" }),
      );
    fill(bar, choice("task", "Task", answer.tasks), choice("model", "Model", answer.models));
  }

  fill(root, el("div.headline", el("h1", "History"), el("span.room"), bar), body);
  await load();
  return { refresh: load };
}

function historyOf(history, choose) {
  const against = (run) =>
    run.run === history.baseline
      ? el("span.quiet", "baseline")
      : link(toCompare([history.baseline, run.run]), { class: run.worse ? "bad" : "" }, signed(run.difference));
  const unchanged = (run) => el("span.quiet", run === history.runs[0] ? "–" : "only answers");
  const names = history.runs.map((run) => run.run);
  return section(
    history.tasks.join(", "),
    el("p.verdict", history.verdict),
    el("div.row", el("label", "baseline ", select("Baseline", names, history.baseline, choose))),
    plotted(history.chart),
    tableOf(
      `${plural(history.runs.length, "run")} in order`,
      [
        ["when", (run) => run.created.slice(0, 16).replace("T", " "), "when"],
        ["run", (run) => [link(toRun(run.run), { class: "strong" }, run.run), quietly(run.model)]],
        ["score", (run) => el("b", number(run.score)), "num"],
        ["interval", (run) => interval(run.interval), "num quiet"],
        ["against the baseline", against, "num"],
        ["p (Holm)", (run) => (run.adjusted_p === null ? "" : pValue(run.adjusted_p)), "num"],
        ["what changed", (run) => (run.changes.length ? run.changes.join("; ") : unchanged(run))],
      ],
      history.runs,
      (run) => ({ class: run.run === history.first_worse ? "overall" : null }),
    ),
  );
}

const quietly = (text) => el("div.quiet.small", text);
