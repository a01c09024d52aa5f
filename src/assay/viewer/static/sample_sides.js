// The same sample in several runs, side by side: what was read, how it was scored, and where the answers differ.

import { get } from "./api.js";
import { badge, weakTag } from "./signs.js";
import { button, el, fill, h, link } from "./dom.js";
import { prose } from "./sample_parts.js";
import { replace, toSample } from "./route.js";
import { textDiff } from "./text_diff.js";
import { number } from "./numbers.js";
import { plural } from "./wording.js";

const MOST = 12;

// A box below the marks, with a choice of runs to compare with and a column for each. `isBlind` says whether scores
// stay hidden; the runs are kept in `params`, and so in the address.
export function sampleSides(run, sample, params, isBlind) {
  const [chooser, columns] = [h("div"), h("div")];
  const box = h("section", { class: "beside", hidden: true }, chooser, columns);
  let base = 0;
  let entries = [];
  let runs = [];

  async function load() {
    const names = params.against || [];
    const { others } = names.length ? await get("sample", { run, key: sample.key, against: names }) : { others: {} };
    const there = await Promise.all(
      names.map((name) => (others[name] ? get("sample", { run: name, key: others[name] }).catch(() => null) : null)),
    );
    entries = [{ name: run, sample }, ...names.map((name, i) => ({ name, sample: there[i] }))];
    base = Math.min(base, entries.length - 1);
    draw();
  }

  function draw() {
    const reached = runs.filter((each) => each.kind === "run" && each.name !== run && each.tasks.includes(sample.task));
    box.hidden = entries.length < 2 && !reached.length;
    fill(chooser, choice(reached));
    fill(columns, entries.length > 1 ? sides() : null);
  }

  function choice(reached) {
    const chosen = params.against || [];
    const open = chooser.querySelector("details")?.open || false;
    const pick = (name) =>
      el(
        "label",
        h("input", {
          type: "checkbox",
          checked: chosen.includes(name),
          disabled: !chosen.includes(name) && chosen.length >= MOST - 1,
          onchange: () => change(chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name]),
        }),
        ` ${nameOf(name)}`,
      );
    return h(
      "details",
      { open },
      el("summary", chosen.length ? `Compared with ${plural(chosen.length, "other run")}` : "Compare with other runs…"),
      h(
        "div",
        { class: "choices-of-columns", role: "group", "aria-label": "Runs to compare with" },
        reached.map((each) => pick(each.name)),
      ),
    );
  }

  function change(names) {
    if (names.length) params.against = names;
    else delete params.against;
    replace(toSample(run, sample.key, params));
    return load();
  }

  const nameOf = (name) => {
    const { model } = runs.find((each) => each.name === name) || {};
    return model && runs.filter((each) => each.model === model).length === 1 ? model : name;
  };

  function sides() {
    const blind = isBlind();
    return [
      el("h2.visually-hidden", "The same sample in several runs"),
      el("p.quiet.small", "Marked: differences from the answer of ", el("b", nameOf(entries[base].name)), "."),
      h(
        "div",
        { class: "sides-of-sample", tabindex: 0, role: "group", "aria-label": "The same sample in several runs" },
        entries.map((each, i) => column(each, i, blind)),
      ),
    ];
  }

  function column(each, i, blind) {
    const name = nameOf(each.name);
    const head = el(
      "h3",
      i && each.sample ? link(toSample(each.name, each.sample.key), { title: "read it there" }, name) : name,
    );
    const props = { class: i === base ? "side-of base" : "side-of", "data-run": each.name };
    if (!each.sample) return h("div", props, head, el("p.quiet", "this run has no such sample"));
    const first = entries[base].sample;
    return h(
      "div",
      props,
      head,
      el(
        "div.row.tight.wrap",
        blind ? null : [badge(each.sample.outcome, true), weakTag(each.sample), el("b", number(each.sample.score))],
        el("span.room"),
        i === base || !first
          ? null
          : button(
              "Compare with this",
              () => {
                base = i;
                draw();
              },
              { class: "plain small", "aria-label": `Compare with this: ${name}` },
            ),
      ),
      readOf(each.sample, first, i === base),
      each.sample.record.trace ? answerOf(each.sample, i) : el("p.bad", `${each.sample.kind}: ${each.sample.failure}`),
    );
  }

  function answerOf(there, i) {
    const text = answer(there);
    // of two, both sides are marked; of more, each against the one they are compared with
    const other = i !== base ? entries[base] : entries.length === 2 ? entries[1 - base] : null;
    const before = other && other.sample && other.sample.record.trace ? answer(other.sample) : null;
    if (i !== base && text === before) return [el("p.quiet.small", "the same answer"), prose(text)];
    const parts = before === null ? null : textDiff(before, text);
    if (!parts) return prose(text);
    return h(
      "pre",
      { class: "prose", dir: "auto" },
      parts
        .filter(([kind]) => kind !== "removed")
        .map(([kind, text]) => (kind === "added" ? el("mark.differs", text) : text)),
    );
  }

  get("runs").then((listed) => {
    runs = listed.runs;
    draw();
  });
  load();
  return { box, draw };
}

const answer = (there) => (there.record.trace || {}).prediction || there.answer;

function readOf(there, first, isBase) {
  if (there.extracted === null || there.extracted === answer(there)) return null;
  const differs = !isBase && first && there.extracted !== first.extracted;
  return h(
    "p",
    { class: "read-of", dir: "auto" },
    el("span.label", "as read "),
    h("b", { class: differs ? "differs" : null }, there.extracted === "" ? "(empty)" : there.extracted),
  );
}
