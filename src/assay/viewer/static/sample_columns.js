// The columns of the sample table: those there are, those that were chosen, and how many lines a row has.

import { badge, weakTag } from "./signs.js";
import { button, el, fill, h, select } from "./dom.js";
import { keep, kept } from "./kept.js";
import { withoutMarks } from "./render.js";
import { count, number, seconds, short } from "./numbers.js";
import { MARKS, oneLineOf } from "./wording.js";

// Columns that every run has: name, head, class, what to sort by, cell.
const PLAIN = [
  ["score", "score", "num", "score", (row) => (row.score === null ? "–" : number(row.score, 2))],
  ["input", "question", "text", "", (row) => questionOf(row)],
  ["tail", "end of the question", "text", "", (row) => readable(row.tail)],
  ["answer", "answer", "text", "", (row) => answerCell(row)],
  ["read", "read answer", "text", "", (row) => oneLineOf(row.extracted)],
  ["target", "target", "target", "", (row) => oneLineOf(row.target)],
  ["reason", "reason", "text", "", (row) => (row.reason ? readable(row.reason) : oneLineOf(row.failure))],
  ["task", "task", "quiet c-task", "", (row) => row.task],
  ["time", "time", "num quiet c-time", "seconds", (row) => seconds(row.seconds)],
  ["tokens_out", "tokens out", "num quiet c-tokens", "tokens_out", (row) => count(row.tokens_out)],
];
export const USUAL = ["score", "input", "answer", "target", "task", "time", "tokens_out"];
const NEVER = new Set(["score", "task", "id", "outcome", "answer", "target", "seconds", "tokens_out", "mark", "flip"]);
const PLAINLY = new Set(["score", "input", "answer"]);
const HIDDEN = new Set(["run", "model", "key"]);

// Every column of a run: the plain ones, then a field each.
export function columnsOf(fields) {
  const plain = PLAIN.map(([name, label, kind, sort, cell]) => ({ name, label, kind, sort, cell, field: null }));
  const more = fields
    .filter((each) => !NEVER.has(each.name) && !HIDDEN.has(each.name))
    .map((each) => ({
      name: each.name,
      label: each.name,
      kind: each.kind === "number" ? "num quiet" : "quiet c-field",
      sort: each.kind === "text" ? "" : each.name,
      field: each.name,
      about: each.about,
      cell: (row) => shownValue((row.fields || {})[each.name]),
    }));
  return [...plain, ...more];
}

// A number, texts, or a number n with its texts t.
export function shownValue(value) {
  if (value === undefined || value === null) return "–";
  if (typeof value === "number") return Number.isInteger(value) ? count(value) : short(value);
  return Array.isArray(value) ? value[0] : oneLineOf(value.t[0] ?? value.n);
}

// Prose as a reader wants it in a line or six. What was read and what was expected are never shown so: readers compare
// them character by character.
export const readable = (text) => oneLineOf(withoutMarks(String(text ?? "")));

// The fence that every question about code begins with is useless in a single line.
export function questionOf(row) {
  return readable(String(row.prompt ?? "").replace(/^\s*```\w*\n/, ""));
}

const LONG_READ = 80;
export const isLongRead = (each) => oneLineOf(each.extracted).length > LONG_READ;

// What was scored stands first: the answer as it was read, then what the model wrote; code that was read stands alone.
export function answerOf(each) {
  const read = each.extracted === null ? "" : oneLineOf(each.extracted);
  const whole = readable(each.answer);
  if (isLongRead(each)) return read;
  return read && read !== whole
    ? [h("b", { class: "read", title: "the answer as it was read" }, read), el("span.quiet", " " + whole)]
    : whole;
}

// Whether there is no answer to show but what broke; a scorer that broke leaves the answer and the other scores.
export function isBroken(row) {
  return row.failure !== null && (row.outcome === "failed" || row.outcome === "timeout" || !row.answer);
}

function answerCell(row) {
  return isBroken(row) ? el("span.bad", `${row.kind}: ${oneLineOf(row.failure)}`) : answerOf(row);
}

export function signCell(row) {
  return el(
    "td.c-sign",
    badge(row.outcome),
    weakTag(row),
    row.mark ? h("span", { class: "mark", title: `marked ${row.mark}` }, MARKS[row.mark][0]) : null,
  );
}

export function cellOf(column, row, lines) {
  const content = column.cell(row);
  return h(
    "td",
    // a phone shows no column heads: cells that need a label carry one
    { class: `${column.kind} f-${column.name}`, "data-label": PLAINLY.has(column.name) ? null : column.label },
    lines > 1 ? el("div.lines", content) : content,
  );
}

const chosen = (name, otherwise) => {
  try {
    return JSON.parse(kept(name)) ?? otherwise;
  } catch {
    return otherwise; // nothing was chosen yet
  }
};

// What the reader chose, in this browser: names of columns that this run lacks are left out, and not forgotten.
export function chosenColumns(columns) {
  const names = chosen("assay-columns", USUAL);
  return columns.filter((each) => names.includes(each.name));
}

export const chosenLines = () => Math.min(6, Math.max(1, Number(chosen("assay-lines", 1)) || 1));

// A button that opens the list of columns and the choice of lines.
export function columnChooser(columns, onchange) {
  const panel = h("div", { class: "panel", hidden: true });
  const opener = button("Columns", () => show(panel.hidden), { "aria-expanded": "false", class: "columns" });
  const names = () => chosen("assay-columns", USUAL);

  function show(open) {
    panel.hidden = !open;
    opener.setAttribute("aria-expanded", String(open));
    if (open) draw();
  }

  function change(next) {
    keep("assay-columns", JSON.stringify(next));
    onchange();
  }

  function box(column) {
    return h(
      "label",
      { title: column.about || null },
      h("input", {
        type: "checkbox",
        checked: names().includes(column.name),
        onchange: (event) => {
          const others = names().filter((each) => each !== column.name);
          change(event.target.checked ? [...others, column.name] : others);
        },
      }),
      " ",
      column.label,
    );
  }

  function draw() {
    const usual = () => {
      change(USUAL);
      draw();
    };
    fill(
      panel,
      el(
        "div.row.wrap",
        el("b", "Columns"),
        button("The usual ones", usual, { class: "small" }),
        el("span.room"),
        linesChooser(onchange),
      ),
      el("div.choices-of-columns", columns.map(box)),
    );
  }

  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    show(false);
    opener.focus();
    event.stopPropagation();
  });
  return el("span.chooser", opener, panel);
}

function linesChooser(onchange) {
  const options = [1, 2, 3, 4, 5, 6].map((n) => [String(n), n === 1 ? "1 line a row" : `${n} lines a row`]);
  return select("Lines a row", options, String(chosenLines()), (value) => {
    keep("assay-lines", value);
    onchange();
  });
}
