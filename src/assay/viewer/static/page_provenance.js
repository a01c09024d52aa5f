// What produced the numbers: the command that repeats the run, settings, versions, hashes, and the tasks as data.

import { get } from "./api.js";
import { button, copy, el, fill, h, section, tableOf } from "./dom.js";
import { fold, json } from "./sample_parts.js";

export async function pageProvenance(root, route) {
  const run = await get("run", { run: route.run });
  const from = run.provenance;
  const board = run.board;
  const scoring = (task) => {
    const row = board ? board.tasks.find((each) => each.task === task.name) : null;
    return el("code", row ? row.signature : task.metric);
  };
  fill(
    root,
    el("h1", "Provenance"),
    section(
      "The command that repeats this run",
      from.command
        ? el(
            "div.row",
            el("pre.grow.command", from.command),
            button("Copy", () => copy(from.command, "Command copied")),
          )
        : el("p.quiet", "This run was started from Python: it has no command."),
    ),
    section(
      "Tasks",
      tableOf(
        "Tasks",
        [
          ["task", (task) => task.name, "strong"],
          ["source", (task) => task.source || task.format, "quiet"],
          ["scoring", scoring],
          ["content sha256", (task) => hash(task.dataset.sha256)],
          ["task fingerprint", (task) => hash(from.tasks[task.name])],
        ],
        from.definitions,
      ),
    ),
    scorers(board),
    el(
      "div.cards",
      pairs("Model", from.model),
      pairs("Versions", board ? board.versions : from.versions),
      pairs("Run", {
        created: from.created,
        schema: from.schema,
        fingerprint: from.fingerprint,
        ...(board ? { "result fingerprint": board.fingerprint } : {}),
      }),
      pairs("Settings", from.config),
    ),
    fold("Tasks as data", json(from.definitions)),
    from.sandbox ? fold("Sandbox", json(from.sandbox)) : null,
    board ? fold("What answered and what scored, for each start and resume", json(board.stretches)) : null,
  );
  return {};
}

function scorers(board) {
  const rows = (board ? board.tasks : []).flatMap((row) => (row.scorers || []).map((scorer) => ({ row, scorer })));
  if (!rows.length) return null;
  return section(
    "Scorers",
    tableOf(
      "Scorers",
      [
        ["task", ({ row }) => row.task, "strong"],
        ["called", ({ row }) => row.display_name],
        ["scorer", ({ scorer }) => scorer.display_name || scorer.key],
        ["purpose", ({ scorer }) => scorer.purpose, "quiet"],
      ],
      rows,
    ),
  );
}

function hash(text) {
  return h("code", { title: text || "" }, (text || "").slice(0, 16));
}

function pairs(title, values) {
  const shown = Object.entries(values || {}).filter(
    ([, value]) => value !== null && value !== "" && !["{}", "[]", "false"].includes(JSON.stringify(value)),
  );
  return el(
    "div.card",
    el("h3", title),
    el(
      "dl.facts",
      shown.map(([name, value]) => [
        el("dt", name.replaceAll("_", " ")),
        el("dd", typeof value === "string" ? value : JSON.stringify(value)),
      ]),
    ),
  );
}
