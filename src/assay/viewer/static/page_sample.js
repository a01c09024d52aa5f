// One sample: what was asked, what was answered, what was made of it, and what a person says to that.

import { get, isStatic, sendMark } from "./api.js";
import { button, copy, fill, h, link, section, toast } from "./dom.js";
import { badge, weakTag } from "./charts.js";
import { paramsOf, stateOf } from "./filters.js";
import { conversation, failureCard, fold, facts, json, prose, scoreCard, targetsCard } from "./sample_parts.js";
import { replace, toSample, toSamples } from "./route.js";
import { count, number } from "./words.js";

export async function pageSample(root, route) {
  const params = paramsOf(stateOf(route.params));
  let whole = false;
  let sample = await get("sample", { run: route.run, key: route.key, against: route.params.against });
  let near = { position: null, total: 0, previous: null, next: null };
  const places = h("div", { class: "places" });
  const body = h("div", { class: "sample-body" });
  const marking = h("div", { class: "marking" });

  function draw() {
    const { record } = sample;
    const trace = record.trace || {};
    fill(body,
      h("div", { class: "column" },
        section("Asked", conversation(record.trace || { prompt: record.asked })),
        record.trace ? section("Answered", prose(trace.prediction, { label: "raw answer" }), cutNote("trace.prediction"), completionNotes(trace)) : null,
        record.unreadable !== undefined ? section("This line of the journal is no record", prose(record.unreadable)) : null),
      h("div", { class: "column" },
        (record.failures || []).length ? section("What broke", record.failures.map(failureCard)) : null,
        record.trace ? section("Against the targets", targetsCard(record)) : null,
        (record.scores || []).length ? section("Scores", record.scores.map(scoreCard)) : null,
        (record.excluded || []).length ? section("Excluded", h("p", null, `taken out of the aggregates by: ${record.excluded.join(", ")}`)) : null,
        section("Facts", facts(sample))),
      h("div", { class: "column all" },
        fold("The exact request", sample.request ? json(sample.request) : null),
        sample.earlier.length ? fold(`Earlier lines of this attempt (${sample.earlier.length})`, sample.earlier.map(json)) : null,
        fold("The whole record as JSON", json(record))));
    drawMark();
  }

  function cutNote(path) {
    const cut = sample.cut.find((each) => each.path === path);
    if (!cut || whole) return null;
    return h("p", { class: "note" }, `the first 100,000 of ${count(cut.length)} characters `, isStatic ? null : button("Show everything", showAll));
  }

  async function showAll() {
    whole = true;
    const all = await get("sample", { run: route.run, key: route.key, whole: 1 });
    sample = { ...all, request: sample.request, others: sample.others };
    draw();
    await besides();
  }

  function completionNotes(trace) {
    return (trace.completions || []).map((each) => [
      each.reasoning ? fold("Reasoning", prose(each.reasoning)) : null,
      each.refusal ? h("p", { class: "bad" }, "refused: ", each.refusal) : null,
      each.finish_reason === "length" ? h("p", { class: "note" }, "the answer was cut off at the token limit") : null,
      each.tool_calls ? fold("Tool calls", json(each.tool_calls)) : null]);
  }

  function drawMark() {
    if (isStatic) {
      fill(marking, sample.mark ? h("p", null, `marked ${sample.mark.verdict}`, sample.mark.note ? `: ${sample.mark.note}` : "") : null);
      return;
    }
    const now = sample.mark ? sample.mark.verdict : null;
    const note = h("input", { type: "text", class: "grow", placeholder: "a note", "aria-label": "Note", value: sample.mark ? sample.mark.note || "" : "", maxlength: 10000, onchange: () => mark(now || "unclear", note.value) });
    const choice = (verdict, sign, key) => button([h("span", { "aria-hidden": "true" }, sign + " "), verdict, h("kbd", null, key)], () => mark(now === verdict ? null : verdict, note.value), { class: now === verdict ? `toggle on m-${verdict}` : "toggle", "aria-pressed": now === verdict });
    fill(marking, h("span", { class: "label" }, "Your mark"), choice("right", "✓", "1"), choice("wrong", "✗", "2"), choice("unclear", "~", "3"), note);
  }

  async function mark(verdict, note) {
    try {
      const done = await sendMark({ run: route.run, key: sample.key, verdict, note: verdict === null ? "" : note ?? (sample.mark ? sample.mark.note || "" : "") });
      sample.mark = verdict === null ? null : done.mark;
      toast(verdict === null ? "Mark taken back" : `Marked ${verdict}`);
      drawMark();
    } catch (error) {
      toast(error.message);
    }
  }

  async function drawPlaces() {
    near = await get("neighbours", { run: route.run, key: route.key, ...params });
    const to = (key, label, name) => (key ? link(toSample(route.run, key, params), { class: "button", "aria-label": name, title: name }, label) : h("span", { class: "button off", "aria-hidden": "true" }, label));
    fill(places, to(near.previous, "‹", "previous sample (k)"), h("span", { class: "quiet" }, near.position === null ? `not among the ${count(near.total)}` : `${count(near.position + 1)} of ${count(near.total)}`), to(near.next, "›", "next sample (j)"));
  }

  const step = (key) => { if (key) { replace(toSample(route.run, key, params)); dispatchEvent(new HashChangeEvent("hashchange")); } };
  const copyJson = async () => {
    const all = sample.cut.length && !isStatic ? await get("sample", { run: route.run, key: route.key, whole: 1 }) : sample;
    copy(JSON.stringify(all.record, null, 2), "Copied as JSON");
  };
  const here = () => location.href.split("#")[0] + toSample(route.run, sample.key);

  fill(root, h("div", { class: "headline" },
    link(toSamples(route.run, params), { class: "button", "aria-label": "back to the table" }, "‹ Samples"),
    h("h1", { class: "name" }, sample.id || sample.key), h("span", { class: "quiet" }, sample.task, sample.attempt > 1 ? ` · attempt ${sample.attempt}` : ""), badge(sample.outcome, true), weakTag(sample), sample.score !== null ? h("b", { class: "big" }, number(sample.score)) : null,
    h("span", { class: "room" }), button("Copy JSON", copyJson), button("Copy link", () => copy(here(), "Link copied")), places),
    marking, body);
  draw();
  await Promise.all([drawPlaces(), besides()]);

  async function besides() {
    for (const name of route.params.against || []) {
      const key = (sample.others || {})[name];
      const other = key ? await get("sample", { run: name, key }).catch(() => null) : null;
      body.querySelector(".column").append(section(`In ${name}`, other ? [badge(other.outcome, true), other.score !== null ? h("b", null, " " + number(other.score)) : null, prose((other.record.trace || {}).prediction || other.failure || "")] : h("p", { class: "quiet" }, "this run has no such sample")));
    }
  }

  return {
    keys: {
      j: () => step(near.next), k: () => step(near.previous), ArrowRight: () => step(near.next), ArrowLeft: () => step(near.previous), c: copyJson,
      1: () => isStatic || mark("right"), 2: () => isStatic || mark("wrong"), 3: () => isStatic || mark("unclear"), 0: () => isStatic || mark(null), Escape: () => { location.hash = toSamples(route.run, params); },
    },
    refresh: drawPlaces,
  };
}
