// Selected rows: marked together, downloaded as a file, or made into a task.

import { isStatic, messageOf, query, sendMark } from "./api.js";
import { button, copy, el, fill, h, link, toast } from "./dom.js";
import { inQuotes } from "./query.js";
import { count } from "./numbers.js";
import { MARKS, plural } from "./wording.js";

const MOST = 300;
/** @type {[string, string][]} */
const FORMATS = [
  ["csv", "CSV"],
  ["jsonl", "JSON lines"],
  ["parquet", "Parquet"],
  ["task", "as a task"],
];

// `source` has what the table shows: its runs, its parameters, how many rows match, and the query for a terminal.
export function selection(source, onchange) {
  const picked = new Map();
  let all = false;
  const bar = h("div", { class: "selection", role: "region", "aria-label": "Selected samples" });

  const idOf = (row) => `${row.run || ""}/${row.key}`;
  const size = () => (all ? source().total : picked.size);

  function draw() {
    bar.hidden = size() === 0;
    if (bar.hidden) return fill(bar);
    const { total } = source();
    const offer = !all && picked.size < total;
    return fill(
      bar,
      el("b", `${plural(size(), "sample")} selected`),
      offer ? button(`Select all ${count(total)} that match`, () => set(() => (all = true))) : null,
      isStatic || all
        ? null
        : el(
            "span.row.tight",
            "mark ",
            Object.keys(MARKS).map((verdict) => button(MARKS[verdict], () => markAll(verdict))),
          ),
      isStatic ? null : el("span.row.tight", "download ", FORMATS.map(downloadLink)),
      button("Copy the command", () => copy(command(), "The command is copied.")),
      button("Clear", clear),
    );
  }

  function set(change) {
    change();
    draw();
    onchange();
  }

  const clear = () =>
    set(() => {
      all = false;
      picked.clear();
    });

  // the rows that were picked by hand are a query too
  function where() {
    if (all) return source().where;
    const { runs } = source();
    const keysOf = (run) => [...picked.values()].filter((row) => (row.run || runs[0]) === run).map((row) => row.key);
    const parts = runs.map((run) => [run, keysOf(run)]).filter(([, keys]) => keys.length);
    if (runs.length === 1) return `key:${parts[0][1].join(",")}`;
    return parts.map(([run, keys]) => `(run:${inQuotes(run)} and key:${keys.join(",")})`).join(" or ");
  }

  function downloadLink([format, label]) {
    const { runs, params } = source();
    const filters = all ? params : { q: where(), against: params.against };
    const address = `/api/download?${query({ run: runs, format, ...filters })}`;
    return link(address, { class: "button", download: "", onclick: (event) => save(event, address) }, label);
  }

  function command() {
    const { runs } = source();
    const quoted = (text) => `'${text.replace(/'/g, `'\\''`)}'`;
    const whereFlag = where() ? ` --where ${quoted(where())}` : "";
    return `assay export ${runs.map((run) => quoted(`runs/${run}`)).join(" ")}${whereFlag} --output selection.csv`;
  }

  async function markAll(verdict) {
    try {
      for (const row of picked.values()) {
        await sendMark({ run: row.run || source().runs[0], key: row.key, verdict, note: "" });
        row.mark = verdict;
      }
      toast(`${plural(picked.size, "sample")} marked ${verdict}.`);
    } catch (error) {
      toast(messageOf(error));
    }
    onchange();
  }

  function toggle(row, on) {
    if (on && picked.size >= MOST) {
      toast(`At most ${MOST} rows can be picked by hand; all that match can be selected at once.`);
      return onchange();
    }
    all = false;
    if (on) picked.set(idOf(row), row);
    else picked.delete(idOf(row));
    return draw();
  }

  draw();
  return {
    bar,
    draw,
    clear,
    has: (row) => all || picked.has(idOf(row)),
    toggle,
    togglePage: (rows, on) => set(() => rows.forEach((row) => toggle(row, on))),
  };
}

// Where a file cannot be made, the answer is an error message, which belongs on the page and not in a file.
async function save(event, address) {
  event.preventDefault();
  const answer = await fetch(address);
  if (!answer.ok) return toast((await answer.json()).error, 12000);
  const name = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition") || "");
  const file = URL.createObjectURL(await answer.blob());
  link(file, { download: name ? name[1] : "samples" }).click();
  setTimeout(() => URL.revokeObjectURL(file), 10000);
}
