// One sample: the prompt, the answer, its scores, and people's marks.

import { get, isStatic } from "./api.js";
import { button, copy, el, fill, h, link, section, toggle } from "./dom.js";
import { badge, weakTag } from "./signs.js";
import { isBlindTo, markingBar } from "./marking.js";
import { paramsOf, stateOf } from "./filters.js";
import { conversation, facts, failureCard, fold, json, prose, scoreCard, targetsCard } from "./sample_parts.js";
import { chooseText, code, isRendered, rendered } from "./render.js";
import { sampleSides } from "./sample_sides.js";
import { lastSeen, noteStep, replace, returnTo, toCompare, toSample, toSamples } from "./route.js";
import { count, number } from "./numbers.js";
import { oneLineOf } from "./wording.js";

const isLong = (value) => String(value).length > 200 || String(value).includes("\n");

export async function pageSample(root, route) {
  const from = (route.params.from || [""])[0];
  /** @type {Record<string, any>} */
  const params = { ...paramsOf(stateOf(route.params)), ...(from ? { from } : {}) };
  let whole = false;
  let sample = await get("sample", { run: route.run, key: route.key });
  const back = () =>
    from === "compare" && params.against
      ? toCompare([route.run, ...params.against], { flip: params.flip || "all" })
      : toSamples(route.run, params);
  root.dataset.key = sample.key;
  lastSeen.set(route.run, sample.key);
  let near = { position: null, total: 0, previous: null, next: null };
  // answers that are executed are shown as code, even without a fence
  const isRun = (sample.record.scores || []).some((score) => score.metadata && Array.isArray(score.metadata.checks));
  const [fence, fenced] = /```(\w*)/.exec((sample.record.trace || {}).prediction || "") || [];
  const language = isRun ? fenced || "python" : null;
  const glance = el("div.card.glance");
  const places = el("div.places");
  const body = el("div.sample-body");
  let marking = markingBar(route.run, sample, () => draw());
  const sides = sampleSides(route.run, sample, params, () => isBlindTo(sample));

  function draw() {
    const { record } = sample;
    const blind = isBlindTo(sample);
    const compared = record.trace && !blind ? targetsCard(sample) : null;
    fill(glance, glanceAt(blind));
    fill(
      body,
      el(
        "div.column",
        section(
          "Conversation",
          conversation(sample, fence ? null : language),
          cutNote("trace.prediction"),
          completionNotes(record.trace || {}),
        ),
      ),
      el(
        "div.column",
        (record.failures || []).length ? section("What broke", record.failures.map(failureCard)) : null,
        compared ? section("Answer and target", compared) : null,
        (record.scores || []).length && !blind
          ? section(
              "Scores",
              record.scores.map((score) => scoreCard(score, sample.score_labels)),
            )
          : null,
        (record.excluded || []).length && !blind
          ? section("Excluded", el("p", `taken out of the aggregates by: ${record.excluded.join(", ")}`))
          : null,
        section("Facts", facts(sample)),
      ),
      el(
        "div.column.all",
        sample.sent && (sample.sent.texts.length || sample.sent.note)
          ? fold(
              "The prompt as it was sent",
              sample.sent.note ? el("p.note", sample.sent.note) : null,
              sample.sent.note ? null : sample.sent.texts.map((text) => prose(text)),
            )
          : null,
        fold("The exact request", sample.request ? json(sample.request) : null),
        sample.earlier.length
          ? fold(`Earlier lines of this attempt (${sample.earlier.length})`, sample.earlier.map(json))
          : null,
        blind ? null : fold("The whole record as JSON", json(record)),
      ),
    );
    marking.draw();
    sides.draw();
  }

  // Input, target, answer, score, outcome and attempts, before anything has to be scrolled or opened.
  function glanceAt(blind) {
    const { record } = sample;
    const box = (label, ...children) => el("div", el("div.label", label), ...children);
    // a question, and whatever is long, is read here as it is below: rendered, unless the reader wants it raw
    const text = (value, { render = isLong(value), as = /** @type {string | null} */ (null) } = {}) => {
      const made = render && isRendered() ? (as ? code(String(value), as) : rendered(String(value))) : null;
      return h("div", { class: "text", dir: "auto", tabindex: isLong(value) ? 0 : null }, made || value || "(empty)");
    };
    const targets = record.targets || [];
    const expected = targets.length ? targets.slice(0, 5).join("\n") : sample.expected;
    return [
      box("Input", text(sample.input, { render: true })),
      box(
        targets.length > 1 ? `Target (${count(targets.length)} accepted)` : "Target",
        expected === null ? el("div.quiet", "none") : text(expected),
      ),
      box(
        sample.extracted === null ? "Answer" : "Answer (as read)",
        answered() ? text(answered(), { as: language }) : el("div.quiet", unanswered()),
      ),
      blind
        ? box("Score", el("div.quiet", "hidden until you have marked it"))
        : box(
            "Score",
            el("div.value", number(sample.score)),
            badge(sample.outcome, true),
            weakTag(sample),
            attemptLinks(),
          ),
    ];
  }

  const answered = () => sample.record.trace && (sample.extracted ?? sample.answer);

  // No text: what the model did instead, if anything.
  function unanswered() {
    if (!sample.record.trace) return "none";
    const last = sample.turns[sample.turns.length - 1] || { parts: [] };
    const names = last.parts.filter((part) => part.kind === "call").map((part) => part.name);
    return names.length ? `no text, only calls: ${names.join(", ")}` : "(empty)";
  }

  function attemptLinks() {
    if (sample.attempts.length < 2) return null;
    return h(
      "div",
      { class: "attempts", role: "group", "aria-label": "Attempts" },
      sample.attempts.map((each) =>
        each.key === sample.key
          ? h("span", { class: "here", "aria-current": "true" }, badge(each.outcome), count(each.attempt))
          : link(
              toSample(route.run, each.key, params),
              { "aria-label": `attempt ${each.attempt}, ${each.outcome}` },
              badge(each.outcome),
              count(each.attempt),
            ),
      ),
    );
  }

  function textSwitch() {
    const choice = (kind, label) =>
      toggle(label, isRendered() === (kind === "rendered"), () => {
        chooseText(kind);
        made.replaceWith(textSwitch());
        draw();
      });
    const made = h(
      "span",
      { class: "row tight", role: "group", "aria-label": "Show texts" },
      choice("rendered", "Rendered"),
      choice("raw", "Raw"),
    );
    return made;
  }

  function cutNote(path) {
    const cut = sample.cut.find((each) => each.path === path);
    if (!cut || whole) return null;
    return el(
      "p.note",
      `the first 100,000 of ${count(cut.length)} characters `,
      isStatic ? null : button("Show everything", showAll),
    );
  }

  async function showAll() {
    whole = true;
    const all = await get("sample", { run: route.run, key: route.key, whole: 1 });
    sample = { ...all, request: sample.request, sent: sample.sent };
    const before = marking.bar;
    marking = markingBar(route.run, sample, () => draw());
    before.replaceWith(marking.bar);
    draw();
  }

  function completionNotes(trace) {
    const answers = trace.completions || [];
    const cut = Math.max(0, ...answers.map((each) => each.cut || 0));
    return [
      cut ? el("p.note", `the first ${count(cut)} tokens of the prompt were cut: it was beyond the context`) : null,
      ...answers.map((each) =>
        each.finish_reason === "length" ? el("p.note", "the answer was cut off at the token limit") : null,
      ),
    ];
  }

  async function drawPlaces() {
    near = await get("neighbours", { run: route.run, key: route.key, ...params });
    const to = (key, label, name) =>
      key
        ? link(toSample(route.run, key, params), { class: "button", "aria-label": name, title: name }, label)
        : h("span", { class: "button off", "aria-hidden": "true" }, label);
    fill(
      places,
      to(near.previous, "‹", "previous sample (k)"),
      el(
        "span.quiet",
        near.position === null
          ? `not among the ${count(near.total)}`
          : `${count(near.position + 1)} of ${count(near.total)}`,
      ),
      to(near.next, "›", "next sample (j)"),
    );
  }

  const step = (key) => {
    if (key) {
      replace(toSample(route.run, key, params));
      noteStep();
      dispatchEvent(new HashChangeEvent("hashchange"));
    }
  };
  const copyJson = async () => {
    const all =
      sample.cut.length && !isStatic ? await get("sample", { run: route.run, key: route.key, whole: 1 }) : sample;
    copy(JSON.stringify(all.record, null, 2), "Copied as JSON");
  };
  const here = () => location.href.split("#")[0] + toSample(route.run, sample.key);

  fill(
    root,
    el(
      "div.headline",
      link(back(), { class: "button" }, from === "compare" ? "‹ Compare" : "‹ Samples"),
      el("h1.name", sample.id || sample.key),
      el("span.quiet", sample.task, sample.attempt > 1 ? ` · attempt ${sample.attempt}` : ""),
      el("span.room"),
      textSwitch(),
      button("Copy JSON", copyJson),
      button("Copy link", () => copy(here(), "Link copied")),
      sample.curl
        ? button("Copy as curl", () => copy(sample.curl, "Copied as curl: the key comes from a variable"), {
            title: "the request as a command for a shell; the key is a variable",
          })
        : null,
      sample.command
        ? button("Copy as assay run", () => copy(sample.command, "Copied as assay run --only"), {
            title: "the command that runs this sample alone",
          })
        : null,
      places,
    ),
    glance,
    marking.bar,
    sides.box,
    body,
  );
  draw();
  await drawPlaces();

  return {
    keys: {
      j: () => step(near.next),
      k: () => step(near.previous),
      ArrowRight: () => step(near.next),
      ArrowLeft: () => step(near.previous),
      c: copyJson,
      1: () => isStatic || marking.mark("right"),
      2: () => isStatic || marking.mark("wrong"),
      3: () => isStatic || marking.mark("unclear"),
      0: () => isStatic || marking.mark(null),
      Escape: () => returnTo(back()),
    },
    refresh: drawPlaces,
    title: oneLineOf(sample.id).slice(0, 80) || sample.key,
  };
}
