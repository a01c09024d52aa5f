// Runs of the same tasks by one model in order: the score with its interval, what is said of each run, what changed.

import { get } from "./api.js";
import { el, fill, h, link, section, select, tableOf } from "./dom.js";
import { plotted } from "./figures.js";
import { replace, toCompare, toHistory, toRun } from "./route.js";
import { interval, number, pValue, signed } from "./numbers.js";
import { plural } from "./wording.js";

export async function pageHistory(root, route) {
  const one = (name) => (route.params[name] || [""])[0];
  let state = { task: one("task"), model: one("model"), baseline: one("baseline"), line: one("line") };
  const [bar, body] = [el("div.row.wrap"), h("div")];

  async function load() {
    const answer = await get("history", state);
    drawBar(answer);
    fill(
      body,
      answer.histories.length
        ? answer.histories.map((each) => historyOf(each, (baseline) => change({ baseline })))
        : el("p.empty", answer.reason || "No two runs of the same tasks by one model here yet."),
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
    const per = answer.lines.map((line) => [line, line === "all" ? "one line" : `a line per ${line}`]);
    fill(
      bar,
      choice("task", "Task", answer.tasks),
      choice("model", "Model", answer.models),
      select("Lines", per, answer.line, (line) => change({ line, baseline: "" })),
    );
  }

  fill(root, el("div.headline", el("h1", "History"), el("span.room"), bar), body);
  await load();
  return { refresh: load };
}

function historyOf(history, choose) {
  const marked = { worse: "bad", better: "good" };
  const against = (run) => {
    const before = history.baseline ?? run.reference[run.reference.length - 1];
    if (run.difference === null || before === undefined) return "";
    return link(toCompare([before, run.run]), { class: marked[run.verdict] ?? "" }, signed(run.difference));
  };
  const said = (run) => [el("span", { class: marked[run.verdict] ?? "quiet" }, run.verdict), quietly(run.reason)];
  const unchanged = (run) => el("span.quiet", run === history.runs[0] ? "–" : "only answers");
  const names = history.runs.map((run) => run.run);
  const baselines = [["", "the level before"], ...names];
  return section(
    [history.tasks.join(", "), history.line].filter(Boolean).join(" · "),
    el("p.verdict", history.verdict),
    el("div.row", el("label", "compared with ", select("Baseline", baselines, history.baseline ?? "", choose))),
    plotted(history.chart),
    tableOf(
      `${plural(history.runs.length, "run")} in order`,
      [
        ["when", (run) => run.created.slice(0, 16).replace("T", " "), "when"],
        ["run", (run) => [link(toRun(run.run), { class: "strong" }, run.run), quietly(run.model)]],
        ["score", (run) => el("b", number(run.score)), "num"],
        ["interval", (run) => interval(run.interval), "num quiet"],
        [history.baseline ? "against the baseline" : "against the level before", against, "num"],
        ["verdict", said],
        ["p", (run) => (run.step ? pValue(run.step.p_value) : ""), "num"],
        ["what changed", (run) => (run.changes.length ? run.changes.join("; ") : unchanged(run))],
      ],
      history.runs,
      (run) => ({ class: run.step ? "overall" : null }),
    ),
  );
}

const quietly = (text) => el("div.quiet.small", text);
