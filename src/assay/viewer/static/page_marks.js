// People's marks of the samples of a run, and how far the scores agree with them.

import { get, isStatic } from "./api.js";
import { button, el, fill, h, link, section, table, tableOf, th } from "./dom.js";
import { toSample, toSamples } from "./route.js";
import { count, interval, number, percent } from "./numbers.js";
import { MARKS, plural } from "./wording.js";

export async function pageMarks(root, route) {
  async function load() {
    const { marks, agreement, people } = await get("marks", { run: route.run });
    fill(
      root,
      el(
        "div.headline",
        el("h1", "Marks"),
        el("span.quiet", plural(marks.length, "mark")),
        el("span.room"),
        marks.length ? button("Download as JSON Lines", () => download(route.run, marks)) : null,
      ),
      marks.length
        ? null
        : el(
            "div.empty",
            el("h2", "Nobody has marked a sample yet"),
            el(
              "p",
              isStatic
                ? "This is a copy, in which no marks can be made: open the run with assay view."
                : "Open a sample and press 1 (right), 2 (wrong) or 3 (unclear). Choose Blind there, and the score " +
                    "stays hidden until you have marked it. Marks are kept in marks.jsonl in the run folder, and " +
                    "show how far the scores can be trusted.",
            ),
            link(toSamples(route.run), { class: "button primary" }, "Read the samples"),
          ),
      marks.length ? agreementCard(agreement, route.run) : null,
      marks.length ? peopleTable(people || [], marks) : null,
      marks.length ? list(marks, route.run) : null,
    );
  }
  await load();
  return { refresh: load };
}

function agreementCard(agreement, run) {
  const { overall, counts } = agreement;
  const cell = (name) => el("td.num", el("b", count(counts[name])));
  const tasks = Object.entries(agreement.tasks).map(([task, each]) => ({ name: task, agreement: each }));
  return section(
    "People and scores",
    el(
      "p.quiet",
      `A score from ${agreement.threshold} on counts as right. `,
      agreement.unclear ? plural(agreement.unclear, "unclear mark") + " and " : "",
      `${plural(agreement.unscored, "sample")} without a score are left out.`,
    ),
    el(
      "div.cards",
      el(
        "div.card",
        el("div.label", "raw agreement"),
        el("div.value", percent(overall.raw)),
        el("p.quiet", interval(overall.raw_interval, 2), ` over ${plural(overall.n, "sample")}`),
      ),
      el(
        "div.card",
        el("div.label", "Cohen’s kappa"),
        el("div.value", number(overall.kappa, 2)),
        el("p.quiet", kappaInterval(overall), h("br"), "1 is perfect, 0 is what chance alone would give"),
      ),
      el(
        "div.card",
        table(
          "People against scores",
          [th("people"), th("score: right", { class: "num" }), th("score: wrong", { class: "num" })],
          [
            el("tr", h("th", { scope: "row" }, "people: right"), cell("right_right"), cell("right_wrong")),
            el("tr", h("th", { scope: "row" }, "people: wrong"), cell("wrong_right"), cell("wrong_wrong")),
          ],
        ),
        isStatic ? null : link(toSamples(run, { mark: "disagree" }), null, "Read where they disagree"),
      ),
    ),
    tasks.length > 1 ? agreements("Agreement by task", ["task", "marks"], tasks) : null,
  );
}

function agreements(label, [who, samples], rows) {
  return tableOf(
    label,
    [
      [who, (row) => row.name],
      [samples, (row) => count(row.agreement.n), "num"],
      ["agreement", (row) => percent(row.agreement.raw), "num"],
      ["kappa", (row) => number(row.agreement.kappa, 2), "num"],
      ["interval", (row) => kappaInterval(row.agreement), "quiet"],
    ],
    rows,
  );
}

const kappaInterval = ({ kappa, reason, kappa_interval }) => (kappa === null ? reason : interval(kappa_interval, 2));

// How far people agree with each other: no score can be expected to agree with them better than that.
function peopleTable(people, marks) {
  const blind = marks.filter((mark) => mark.blind).length;
  const rows = people.map(({ first, second, agreement }) => ({
    name: `${first || "somebody"} and ${second || "somebody"}`,
    agreement,
  }));
  return section(
    "People and people",
    el("p.quiet", `${count(blind)} of ${plural(marks.length, "mark")} made blind.`),
    rows.length
      ? agreements("Agreement of people", ["people", "samples of both"], rows)
      : el("p.quiet", "No sample has two marks."),
  );
}

function list(marks, run) {
  return section(
    "All marks",
    tableOf(
      "Marks",
      [
        ["mark", (mark) => MARKS[mark.verdict]],
        ["by", (mark) => [mark.by || "–", mark.blind ? " (blind)" : ""], "quiet"],
        ["sample", (mark) => link(toSample(run, mark.key), null, mark.sample_id)],
        ["task", (mark) => mark.task, "quiet"],
        ["note", (mark) => mark.note],
        ["when", (mark) => (mark.time || "").replace("T", " ").replace(/:\d\dZ$/, ""), "num quiet"],
      ],
      marks,
    ),
  );
}

function download(run, marks) {
  const lines = marks.map((mark) => JSON.stringify(mark)).join("\n") + "\n";
  const address = URL.createObjectURL(new Blob([lines], { type: "application/jsonl" }));
  const anchor = h("a", { href: address, download: `${run.replace(/[^\w.-]+/g, "-")}-marks.jsonl` });
  anchor.click();
  URL.revokeObjectURL(address);
}
