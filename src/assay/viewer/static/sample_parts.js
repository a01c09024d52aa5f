// The parts of a sample's page: messages, targets with the difference marked, scores with their evidence.

import { fill, h, table, th } from "./dom.js";
import { likeness, textDiff } from "./text_diff.js";
import { count, number, seconds } from "./words.js";

const PIECE = 20000;

// Text as it is, in a box of its own, never as anything but text.
export function prose(text, props) {
  const { label, ...more } = props || {};
  return h("pre", { class: "prose", dir: "auto", "aria-label": label, tabindex: String(text).length > 2000 ? 0 : null, ...more }, text === "" ? h("span", { class: "quiet" }, "(empty)") : pieces(String(text)));
}

export function json(value) {
  return h("pre", { class: "json" }, pieces(JSON.stringify(value, null, 2)));
}

// Megabytes are laid out piece by piece as they come into view, so that the page stays quick.
function pieces(text) {
  if (text.length <= 2 * PIECE) return text;
  const found = [];
  for (let start = 0; start < text.length;) {
    let end = Math.min(text.length, start + PIECE);
    // a piece ends with a line where there is one, and never inside a character
    const line = text.lastIndexOf("\n", end) + 1;
    if (end < text.length && line > start) end = line;
    else if (/[\ud800-\udbff]/.test(text[end - 1])) end += 1;
    found.push(h("span", { class: "piece" }, text.slice(start, end)));
    start = end;
  }
  return found;
}

// Built when opened: most are never looked at.
export function fold(title, ...children) {
  const box = h("details", null, h("summary", null, title));
  box.addEventListener("toggle", () => { if (box.open && box.childElementCount === 1) box.append(...[children].flat(Infinity).filter(Boolean)); });
  return box;
}

export function conversation(trace) {
  if (Array.isArray(trace.messages)) return h("div", { class: "messages" }, trace.messages.map(message));
  if (typeof trace.prompt === "string") return prose(trace.prompt, { label: "prompt" });
  return h("p", { class: "quiet" }, "Nothing was asked: the attempt broke before.");
}

function message(each) {
  const role = String(each.role || "?");
  return h("div", { class: "message r-" + (/^(system|user|assistant|tool)$/.test(role) ? role : "other") }, h("div", { class: "role" }, role, each.name ? ` · ${each.name}` : ""),
    content(each.content), each.tool_calls ? json(each.tool_calls) : null);
}

function content(value) {
  if (typeof value === "string") return prose(value);
  if (Array.isArray(value)) return value.map((part) => (part && typeof part.text === "string" ? prose(part.text) : json(part)));
  return value === null || value === undefined ? null : json(value);
}

// What was compared, and the nearest target, with what differs marked in both.
export function targetsCard(record) {
  const scores = record.scores || [];
  const read = scores.find((score) => score.answer !== null && score.answer !== undefined);
  const answer = read ? read.answer : (record.trace || {}).prediction || "";
  const targets = record.targets || [];
  if (!targets.length) return h("div", null, read ? field("read out of it", prose(answer)) : null, h("p", { class: "quiet" }, "This sample has no targets."));
  // code is judged by its checks: marking where it differs from an expression would say nothing
  const checked = scores.some((score) => score.metadata && Array.isArray(score.metadata.checks));
  const nearest = [...targets].sort((a, b) => likeness(answer, b) - likeness(answer, a))[0];
  const parts = checked || answer === nearest ? null : textDiff(answer, nearest);
  const marked = (without) => (parts ? parts.filter(([kind]) => kind !== without).map(([kind, text]) => (kind === "same" ? text : h(kind === "removed" ? "del" : "ins", null, text))) : null);
  return h("div", { class: "compare-two" },
    field(read ? "post-processing made of it" : "the answer", marked("added") ? h("pre", { class: "prose", dir: "auto" }, marked("added")) : prose(answer)),
    field(targets.length > 1 ? `nearest of ${count(targets.length)} targets` : "target", marked("removed") ? h("pre", { class: "prose", dir: "auto" }, marked("removed")) : prose(nearest)),
    answer === nearest ? h("p", { class: "good" }, "✓ the same, character by character") : null,
    targets.length > 1 ? fold("All targets", targets.map((target) => prose(target))) : null);
}

function field(label, ...children) {
  return h("div", { class: "field" }, h("div", { class: "label" }, label), ...children);
}

export function scoreCard(score) {
  const values = Object.entries(score.values || {}).map(([name, value]) => h("div", { class: "value-pair" }, h("span", { class: "quiet" }, name), " ", h("b", null, typeof value === "number" ? number(value) : String(value))));
  return h("div", { class: "card score" }, h("h3", null, score.name), h("div", { class: "row wrap" }, values),
    score.extracted === false ? h("p", { class: "bad" }, "nothing could be read out of the answer") : null,
    score.answer !== null && score.answer !== undefined ? field("compared", prose(score.answer)) : null,
    score.reason ? field("reason", prose(score.reason)) : null, score.metadata ? evidence(score.metadata) : null);
}

// Checks as a table, texts as texts, the rest as JSON: whatever a scorer left behind can be read.
function evidence(metadata) {
  const parts = [];
  for (const [name, value] of Object.entries(metadata)) {
    if (name === "checks" && Array.isArray(value)) parts.push(field("checks", checks(value)));
    else if (typeof value === "string" && (value.length > 60 || value.includes("\n"))) parts.push(open(name, prose(value)));
    else if (value !== null && typeof value === "object") parts.push(open(name, json(value)));
    else parts.push(h("div", { class: "value-pair" }, h("span", { class: "quiet" }, name), " ", h("b", null, String(value))));
  }
  return h("div", { class: "evidence" }, parts);
}

function open(name, child) {
  const box = fold(name, child);
  if (name === "stderr" || name === "verdict") { box.open = true; fill(box, h("summary", null, name), child); }
  return box;
}

function checks(list) {
  const rows = list.map((each) => {
    const passed = each && (each.outcome === "pass" || each.outcome === "passed" || each.passed === true);
    return h("tr", null, h("td", null, h("span", { class: passed ? "good" : "bad" }, passed ? "✓ " : "✗ ", String((each && each.outcome) ?? ""))), h("td", null, h("code", null, String((each && (each.check ?? each.name)) ?? JSON.stringify(each)))), h("td", null, String((each && each.detail) ?? "")));
  });
  return table("Checks", [th("outcome"), th("check"), th("detail")], rows, { class: "checks" });
}

export function failureCard(failure) {
  return h("div", { class: "card failure" }, h("h3", null, `${failure.stage} / ${failure.kind}`), failure.part ? h("p", { class: "quiet" }, failure.part) : null, prose(failure.message || ""),
    h("p", { class: "quiet small" }, failure.retryable ? "The same command makes this attempt again; it may pass then." : "The same command makes this attempt again."));
}

export function facts(sample) {
  const { record } = sample;
  const completions = (record.trace || {}).completions || [];
  const sum = (name) => completions.reduce((total, each) => total + (each[name] || 0), 0);
  const rows = [
    ["tokens", `${count(sum("tokens_in"))} in, ${count(sum("tokens_out"))} out${sum("tokens_cached") ? `, ${count(sum("tokens_cached"))} cached` : ""}`],
    ["latency", `${seconds(record.seconds)} in all${completions.length ? `, ${seconds(sum("seconds"))} of it the model` : ""}`],
    ["retries", count(sum("retries"))],
    ["finish reason", completions.map((each) => each.finish_reason || "not told").join(", ")],
    ["from the cache", completions.some((each) => each.cached) ? "yes" : "no"],
    ["attempt", count(record.attempt || 1)], ["position", count(record.index)], ["journal line", count(sample.line)], ["key", sample.key],
    ...Object.entries(record.metadata || {}).map(([name, value]) => [`metadata: ${name}`, typeof value === "string" ? value : JSON.stringify(value)]),
  ];
  return h("dl", { class: "facts" }, rows.map(([name, value]) => [h("dt", null, name), h("dd", null, value === "" ? "–" : value)]));
}
