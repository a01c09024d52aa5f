// What produced the numbers: the command that repeats the run, settings, versions, hashes, and the tasks as data.

import { get } from "./api.js";
import { button, copy, fill, h, section, table, th } from "./dom.js";
import { fold, json } from "./sample_parts.js";

export async function pageProvenance(root, route) {
  const run = await get("run", { run: route.run });
  const from = run.provenance;
  const board = run.board;
  const rows = from.definitions.map((task) => {
    const row = board ? board.tasks.find((each) => each.task === task.name) : null;
    return h(
      "tr",
      null,
      h("td", { class: "strong" }, task.name),
      h("td", { class: "quiet" }, task.source || task.format),
      h("td", null, h("code", null, row ? row.signature : task.metric)),
      hash(task.dataset.sha256),
      hash(from.tasks[task.name]),
    );
  });
  fill(
    root,
    h("h1", null, "Provenance"),
    section(
      "The command that repeats this run",
      from.command
        ? h(
            "div",
            { class: "row" },
            h("pre", { class: "grow command" }, from.command),
            button("Copy", () => copy(from.command, "Command copied")),
          )
        : h("p", { class: "quiet" }, "This run was started from Python: it has no command."),
    ),
    section(
      "Tasks",
      table("Tasks", [th("task"), th("source"), th("scoring"), th("content sha256"), th("task fingerprint")], rows),
    ),
    scorers(board),
    h(
      "div",
      { class: "cards" },
      pairs("Model", from.model),
      pairs("Versions", from.versions),
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
  );
  return {};
}

function scorers(board) {
  const rows = (board ? board.tasks : []).flatMap((row) =>
    (row.scorers || []).map((scorer) =>
      h(
        "tr",
        null,
        h("td", { class: "strong" }, row.task),
        h("td", null, row.display_name || ""),
        h("td", null, scorer.display_name || scorer.key),
        h("td", { class: "quiet" }, scorer.purpose),
      ),
    ),
  );
  if (!rows.length) return null;
  return section("Scorers", table("Scorers", [th("task"), th("called"), th("scorer"), th("purpose")], rows));
}

function hash(text) {
  return h("td", null, h("code", { title: text || "" }, (text || "").slice(0, 16)));
}

function pairs(title, values) {
  const shown = Object.entries(values || {}).filter(
    ([, value]) => value !== null && value !== "" && !["{}", "[]", "false"].includes(JSON.stringify(value)),
  );
  return h(
    "div",
    { class: "card" },
    h("h3", null, title),
    h(
      "dl",
      { class: "facts" },
      shown.map(([name, value]) => [
        h("dt", null, name.replaceAll("_", " ")),
        h("dd", null, typeof value === "string" ? value : JSON.stringify(value)),
      ]),
    ),
  );
}
