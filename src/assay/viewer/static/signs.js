// Signs inside of rows and lines: badges, a score with its whisker, a stack of outcomes, progress.

import { el, h } from "./dom.js";
import { count, interval, number } from "./numbers.js";
import { OUTCOMES } from "./wording.js";

/** @typedef {import("./numbers.js").Interval} Interval */

// A point with its interval on a scale from 0 to 1.
export function whisker(/** @type {number | null | undefined} */ value, /** @type {Interval} */ ends) {
  return pointAndSpan(value, ends, { kind: "", label: "", place: (x) => x });
}

// A difference with its interval on a scale around 0.
export function differenceWhisker(
  /** @type {number | null | undefined} */ value,
  /** @type {Interval} */ ends,
  /** @type {number} */ reach,
  /** @type {boolean} */ sure,
) {
  const side = sure && value ? (value > 0 ? " up" : " down") : "";
  return pointAndSpan(value, ends, {
    kind: ` centred${side}`,
    label: "difference ",
    place: (x) => 0.5 + x / reach / 2,
  });
}

function pointAndSpan(
  /** @type {number | null | undefined} */ value,
  /** @type {Interval} */ ends,
  /** @type {{ kind: string, label: string, place: (value: number) => number }} */ { kind, label, place },
) {
  if (value === null || value === undefined) return el("span.whisker.none");
  const at = (/** @type {number} */ x) => Math.min(100, Math.max(0, place(x) * 100)) + "%";
  const name = `${label}${number(value)}, interval ${interval(ends) || "none"}`;
  const low = ends?.low ?? null;
  const span = low !== null && { left: at(low), width: `calc(${at(ends?.high ?? 1)} - ${at(low)})` };
  return h(
    "span",
    { class: `whisker${kind}`, role: "img", "aria-label": name },
    span ? h("span", { class: "span", style: span }) : null,
    h("span", { class: "dot", style: { left: at(value) } }),
  );
}

// A large number in the head of a page, with what it is and a note.
export function figure(/** @type {string} */ label, /** @type {any} */ value, /** @type {any} */ note, kind = "") {
  return el(
    "div.figure",
    el("div.label", label),
    h("div", { class: `value ${kind}` }, value),
    note === null ? null : el("div.quiet.small", note),
  );
}

// The outcomes of the attempts, as one bar; its legend is the filter, in sizes that a finger can hit.
export function stack(/** @type {Record<string, number>} */ outcomes) {
  const total = Object.values(outcomes).reduce((a, b) => a + b, 0) || 1;
  const present = Object.keys(OUTCOMES).filter((name) => outcomes[name]);
  const all = present.map((name) => `${count(outcomes[name])} ${OUTCOMES[name][1]}`).join(", ");
  const box = h("div", { class: "stack", role: "img", "aria-label": `outcomes: ${all || "none yet"}` });
  for (const name of present) {
    const style = { width: (outcomes[name] / total) * 100 + "%" };
    box.append(h("span", { class: `part o-${name}`, title: `${count(outcomes[name])} ${OUTCOMES[name][1]}`, style }));
  }
  return box;
}

export function badge(/** @type {string} */ outcome, long = false) {
  const [sign, word, meaning] = OUTCOMES[outcome] || ["·", outcome, ""];
  return h(
    "span",
    { class: `badge o-${outcome}`, title: long ? meaning : `${word}: ${meaning}` },
    h("span", { class: "sign", "aria-hidden": "true" }, sign),
    h("span", { class: long ? "" : "visually-hidden" }, word),
  );
}

// Marks based on what a program itself reported, without a comparison outside of it.
export function weakTag(/** @type {{ weak?: boolean }} */ row) {
  return row.weak
    ? h("span", { class: "bad small", title: "weak pass: the tests took the program's own word for it" }, " weak")
    : null;
}

export function progressBar(/** @type {{ total: number, done: number, running: boolean }} */ progress) {
  const share = progress.total ? progress.done / progress.total : 0;
  const label = `${count(progress.done)} of ${count(progress.total)} attempts`;
  return h(
    "span",
    {
      class: "progress" + (progress.running ? " running" : ""),
      role: "progressbar",
      "aria-valuenow": Math.round(share * 100),
      "aria-valuemin": 0,
      "aria-valuemax": 100,
      "aria-label": label,
      title: label,
    },
    h("span", { class: "fill", style: { width: Math.min(100, share * 100) + "%" } }),
  );
}
