// The parts of a sample's page: turns, calls, targets with what differs, scores with their evidence.

import { button, copy, el, fill, h, table, th } from "./dom.js";
import { code, isRendered, picture, rendered, sound, tree } from "./render.js";
import { likeness, textDiff } from "./text_diff.js";
import { count, number, seconds } from "./numbers.js";

const PIECE = 20000;

// Text as it is, in a box of its own, never as anything but text.
export function prose(text, props) {
  const { label, ...more } = props || {};
  return h(
    "pre",
    { class: "prose", dir: "auto", "aria-label": label, tabindex: String(text).length > 2000 ? 0 : null, ...more },
    text === "" ? el("span.quiet", "(empty)") : pieces(String(text)),
  );
}

export function json(value) {
  return el("pre.json", pieces(JSON.stringify(value, null, 2)));
}

// Megabytes are laid out piece by piece as they come into view, so that the page stays fast.
function pieces(text) {
  if (text.length <= 2 * PIECE) return text;
  const spans = [];
  for (let start = 0; start < text.length;) {
    let end = Math.min(text.length, start + PIECE);
    // a piece ends with a line where there is one, and never inside a character
    const line = text.lastIndexOf("\n", end) + 1;
    if (end < text.length && line > start) end = line;
    else if (/[\ud800-\udbff]/.test(text[end - 1])) end += 1;
    spans.push(el("span.piece", text.slice(start, end)));
    start = end;
  }
  return spans;
}

// One of two texts, with what the other lacks marked; `parts` is their difference.
export function marked(parts, { without }) {
  return h(
    "pre",
    { class: "prose", dir: "auto" },
    parts
      .filter(([kind]) => kind !== without)
      .map(([kind, text]) => (kind === "same" ? text : h(kind === "removed" ? "del" : "ins", null, text))),
  );
}

// Built when opened: most never are.
export function fold(title, ...children) {
  const box = el("details", el("summary", title));
  box.addEventListener("toggle", () => {
    if (box.open && box.childElementCount === 1) box.append(...[children].flat(Infinity).filter(Boolean));
  });
  return box;
}

// A text to read, rendered where that helps, with a button that copies it as it is.
export function block(text, props) {
  const { label, language } = props || {};
  const shown = !isRendered() ? null : language ? code(text, language) : rendered(text);
  return h(
    "div",
    { class: "block", role: label ? "group" : null, "aria-label": label },
    shown || prose(text, isRendered() && !language ? { class: "prose plain-text" } : {}),
    text === ""
      ? null
      : button("Copy", () => copy(text, "Copied"), { class: "copy", "aria-label": `Copy ${label || "this text"}` }),
  );
}

export function data(value) {
  return isRendered() && value !== null && typeof value === "object"
    ? el("div.tree", tree(value, 2))
    : typeof value === "string"
      ? prose(value)
      : json(value);
}

// The turns in their order; what every sample of the task begins with is folded.
export function conversation(sample, language) {
  const { turns, shared } = sample;
  if (!turns.length) return el("p.quiet", "No request was sent: the attempt failed before that.");
  const begin = turns.findIndex((each) => each.role !== "system" && each.role !== "developer");
  const folded = begin >= 0 && shared.turns > begin ? turns.slice(begin, shared.turns) : [];
  const shownTurns = folded.length ? [...turns.slice(0, begin), ...turns.slice(shared.turns)] : turns;
  const first = folded.length ? begin : -1;
  const answer = turns[turns.length - 1];
  return el(
    "div.messages",
    shownTurns.map((each, i) => [
      i === first
        ? fold(
            sharedTitle(folded.filter((turn) => turn.role === "assistant").length),
            folded.map((turn) => turnCard(turn)),
          )
        : null,
      turnCard(each, {
        answer: each === answer && each.role === "assistant",
        language,
        cut: each === turns[shared.turns] ? shared : null,
      }),
    ]),
  );
}

function sharedTitle(examples) {
  return examples
    ? `${count(examples)} few-shot ${examples === 1 ? "example" : "examples"}, the same in every sample`
    : "The beginning, the same in every sample";
}

function turnCard(turn, about) {
  const { answer, language, cut } = about || {};
  const role = String(turn.role || "?");
  const parts = turn.parts.map((part, i) =>
    partOf(part, {
      label: answer && part.kind === "text" ? "answer" : null,
      language: answer ? language : null,
      cut: i === 0 ? cut : null,
    }),
  );
  return h(
    "div",
    { class: "turn r-" + (/^(system|user|assistant|tool)$/.test(role) ? role : "other") },
    el("div.role", role, turn.name ? ` · ${turn.name}` : ""),
    parts.length ? parts : el("p.quiet", "(empty)"),
  );
}

function partOf(part, about) {
  const { label, language, cut } = about || {};
  const text = part.text || "";
  switch (part.kind) {
    case "text":
      if (!cut || !cut.characters) return block(text, { label, language });
      return [
        fold(sharedTitle(cut.examples), prose(text.slice(0, cut.characters))),
        block(text.slice(cut.characters), { label, language }),
      ];
    case "reasoning":
      return el("div.reasoning", el("div.label", "reasoning"), block(text, { label: "reasoning" }));
    case "refusal":
      return el("p.bad", "refused: ", text);
    case "image":
      return picture(text, part.name);
    case "audio":
      return sound(text, part.name);
    case "call":
      return callCard(part);
    default:
      return data(part.value);
  }
}

function callCard(call) {
  return el(
    "div.call",
    el("div.tool", "→ ", call.name),
    el("div.inside", data(call.value ?? null)),
    call.result
      ? el(
          "div.result",
          el("div.label", "result"),
          call.result.map((part) => partOf(part)),
        )
      : el("p.quiet.result", "no result in this record"),
  );
}

// What was compared, and what was expected. Only what was not right is shown with what differs; a right answer is
// never red.
export function targetsCard(sample) {
  const { record } = sample;
  const scores = record.scores || [];
  const read = scores.find((score) => score.answer !== null && score.answer !== undefined);
  const answer = read ? read.answer : (record.trace || {}).prediction || sample.answer;
  const targets = record.targets || [];
  if (!targets.length) return null;
  const marks = scores
    .flatMap((score) => evidenceOf(score))
    .filter((each) => each.kind === "span" && each.in !== "prediction");
  // code is judged by its checks, which stand with the score
  if (scores.some((score) => score.metadata && Array.isArray(score.metadata.checks))) return null;
  // where a scorer reports its evidence, a diff adds nothing
  const settled = marks.length || sample.outcome === "right" || scores.some((score) => evidenceOf(score).length);
  if (sample.outcome === "right" && !marks.length && targets.length === 1) return null; // both stand at the top already
  const nearest = [...targets].sort((a, b) => likeness(answer, b) - likeness(answer, a))[0];
  const parts = settled || answer === nearest ? null : textDiff(answer, nearest);
  const spans = () => h("pre", { class: "prose", dir: "auto" }, withMarks(answer, marks));
  return el(
    "div.compare-two",
    field("answer, as read", parts ? marked(parts, { without: "added" }) : marks.length ? spans() : prose(answer)),
    field(
      targets.length > 1 ? `nearest of ${count(targets.length)} targets` : "target",
      parts ? marked(parts, { without: "removed" }) : prose(nearest),
    ),
    answer === nearest ? el("p.good", "✓ the same, character by character") : null,
    targets.length > 1
      ? fold(
          "All targets",
          targets.map((target) => prose(target)),
        )
      : null,
  );
}

export function evidenceOf(score) {
  const evidence = score.metadata && score.metadata.evidence;
  return Array.isArray(evidence) ? evidence.filter((each) => each && typeof each === "object") : [];
}

// A text with the spans that a scorer reported marked: a match is good, unless it was forbidden.
export function withMarks(text, marks) {
  const characters = Array.from(text);
  const pieces = [];
  let at = 0;
  for (const mark of [...marks].sort((a, b) => a.start - b.start)) {
    if (!(mark.start >= at && mark.end > mark.start && mark.end <= characters.length)) continue;
    pieces.push(
      characters.slice(at, mark.start).join(""),
      h(
        "mark",
        { class: mark.good === false ? "bad-hit" : null, title: mark.note || null },
        characters.slice(mark.start, mark.end).join(""),
      ),
    );
    at = mark.end;
  }
  pieces.push(characters.slice(at).join(""));
  return pieces;
}

function field(label, ...children) {
  return el("div.field", el("div.label", label), ...children);
}

// A share has its decimals; what is a count by nature is shown as one.
export function amountOf(name, value) {
  if (typeof value !== "number") return String(value);
  return Number.isInteger(value) && !/(^|[._])(score|correct)$/.test(name) ? count(value) : number(value);
}

export function scoreCard(score, labels) {
  const values = Object.entries(score.values || {}).map(([name, value]) =>
    el("div.value-pair", el("span.quiet", name), " ", el("b", amountOf(name, value))),
  );
  return el(
    "div.card.score",
    el("h3", labels[score.name] || score.name),
    el("div.row.wrap", values),
    score.extracted === false ? el("p.bad", "nothing could be extracted from the answer") : null,
    evidenceOf(score)
      .filter((each) => each.kind !== "span")
      .map((each) =>
        h(
          "p",
          { class: each.good === false ? "bad" : each.good ? "good" : "" },
          each.good === false ? "✗ " : each.good ? "✓ " : "",
          String(each.note ?? ""),
        ),
      ),
    score.reason ? field("reason", block(score.reason)) : null,
    score.metadata ? evidence(score.metadata, score.reason) : null,
  );
}

// Checks as a table, texts as texts, the rest as JSON: whatever a scorer left behind can be read.
function evidence(metadata, reason) {
  const parts = [];
  for (const [name, value] of Object.entries(metadata)) {
    // spans are marked in the answer, and a judge's reasoning stands above as the reason
    if (name === "evidence" || (name === "reasoning" && value === reason)) continue;
    if (name === "checks" && Array.isArray(value)) parts.push(field("checks", checks(value)));
    else if (typeof value === "string" && (value.length > 60 || value.includes("\n")))
      parts.push(open(name, prose(value)));
    else if (value !== null && typeof value === "object") parts.push(open(name, json(value)));
    else parts.push(el("div.value-pair", el("span.quiet", name), " ", el("b", String(value))));
  }
  return el("div.evidence", parts);
}

function open(name, child) {
  const box = fold(name, child);
  if (name === "stderr" || name === "verdict") {
    box.open = true;
    fill(box, el("summary", name), child);
  }
  return box;
}

function checks(list) {
  const rows = list.map((each) => {
    const passed = each && (each.outcome === "pass" || each.outcome === "passed" || each.passed === true);
    return el(
      "tr",
      el(
        "td",
        h("span", { class: passed ? "good" : "bad" }, passed ? "✓ " : "✗ ", String((each && each.outcome) ?? "")),
      ),
      el("td", el("code", String((each && (each.check ?? each.name)) ?? JSON.stringify(each)))),
      el("td", String((each && each.detail) ?? "")),
    );
  });
  return table("Checks", [th("outcome"), th("check"), th("detail")], rows, { class: "checks" });
}

export function failureCard(failure) {
  return el(
    "div.card.failure",
    el("h3", `${failure.stage} / ${failure.kind}`),
    failure.part ? el("p.quiet", failure.part) : null,
    prose(failure.message || ""),
    failure.traceback ? prose(failure.traceback, { label: "traceback" }) : null,
    el(
      "p.quiet.small",
      failure.retryable
        ? "Rerun the same command to retry this attempt; it may pass then."
        : "Rerun the same command to retry this attempt.",
    ),
  );
}

// Metadata, and the short columns of the dataset's row, which a record keeps under `sample`.
function columnsOf({ sample, ...metadata }) {
  const row = sample && typeof sample === "object" && !Array.isArray(sample) ? sample : null;
  const rest = Object.entries(row || sample === undefined ? metadata : { ...metadata, sample });
  return [
    ...rest.map(([name, value]) => [`metadata: ${name}`, value]),
    ...Object.entries(row || {}).map(([name, value]) => [`column: ${name}`, value]),
  ];
}

export function facts(sample) {
  const { record } = sample;
  const completions = (record.trace || {}).completions || [];
  const sum = (name) => completions.reduce((total, each) => total + (each[name] || 0), 0);
  const rows = [
    [
      "tokens",
      `${count(sum("tokens_in"))} in, ${count(sum("tokens_out"))} out` +
        (sum("tokens_cached") ? `, ${count(sum("tokens_cached"))} cached` : ""),
    ],
    [
      "latency",
      `${seconds(record.seconds)} in total${sum("seconds") ? `, ${seconds(sum("seconds"))} of it in the model` : ""}`,
    ],
    ["retries", count(sum("retries"))],
    ["finish reason", completions.map((each) => each.finish_reason || "not given").join(", ")],
    ["from the cache", completions.some((each) => each.cached) ? "yes" : "no"],
    ["attempt", count(record.attempt || 1)],
    ["position", count(record.index)],
    ["journal line", count(sample.line)],
    ["key", sample.key],
    ...columnsOf(record.metadata || {}).map(([name, value]) => [
      name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  ];
  return el(
    "dl.facts",
    rows.map(([name, value]) => [el("dt", name), el("dd", value === "" ? "–" : value)]),
  );
}
