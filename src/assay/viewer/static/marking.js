// A person's mark of a sample: who marks, their verdict, and, where they mark blind, no score before it.

import { isStatic, messageOf, sendMark } from "./api.js";
import { button, el, fill, h, toast, toggle } from "./dom.js";
import { keep, kept } from "./kept.js";

const NAME = "assay-annotator";
const BLIND = "assay-blind";

const ownMark = (sample) => (sample.marks || []).find((mark) => (mark.by || "") === kept(NAME)) || null;

// Blind: score, outcome, reasons and other people's marks stay hidden until this person has marked the sample.
export function isBlindTo(sample) {
  return !isStatic && kept(BLIND) === "1" && !ownMark(sample);
}

// The bar under the glance; `redraw` redraws the sample after a mark or a change of who looks.
export function markingBar(run, sample, redraw) {
  const bar = h("div", { class: "marking", role: "group", "aria-label": "Mark" });

  function draw() {
    if (isStatic) return fill(bar, othersOf(sample.marks || []));
    const own = ownMark(sample);
    const now = own ? own.verdict : null;
    const note = h("input", {
      type: "text",
      class: "grow",
      placeholder: "a note",
      "aria-label": "Note",
      value: (own && own.note) || "",
      maxlength: 10000,
      onchange: () => mark(now || "unclear", note.value),
    });
    const choice = (verdict, sign, key) =>
      button(
        [h("span", { "aria-hidden": "true" }, sign + " "), verdict, el("kbd", key)],
        () => mark(now === verdict ? null : verdict, note.value),
        { class: now === verdict ? `toggle on m-${verdict}` : "toggle", "aria-pressed": now === verdict },
      );
    return fill(
      bar,
      el("span.label", "Your mark"),
      choice("right", "✓", "1"),
      choice("wrong", "✗", "2"),
      choice("unclear", "~", "3"),
      note,
      nameBox(),
      blindSwitch(),
      isBlindTo(sample) ? null : othersOf((sample.marks || []).filter((each) => each !== own)),
    );
  }

  function nameBox() {
    const choose = (event) => {
      keep(NAME, event.target.value.trim());
      redraw();
    };
    return h("input", {
      type: "text",
      class: "name-box",
      placeholder: "your name",
      "aria-label": "Your name",
      value: kept(NAME),
      maxlength: 100,
      onchange: choose,
    });
  }

  function blindSwitch() {
    const on = kept(BLIND) === "1";
    const turn = () => {
      keep(BLIND, on ? "" : "1");
      redraw();
    };
    const title = "Hide score, outcome, reasons and other people's marks until you have marked the sample";
    return toggle("Blind", on, turn, { title });
  }

  async function mark(verdict, note) {
    const own = ownMark(sample);
    const blind = isBlindTo(sample) || Boolean(own && own.blind);
    const noteText = verdict === null ? "" : (note ?? ((own && own.note) || ""));
    try {
      const done = await sendMark({ run, key: sample.key, verdict, note: noteText, by: kept(NAME), blind });
      sample.marks = (sample.marks || []).filter((each) => each !== own);
      if (verdict !== null) sample.marks.push(done.mark);
      toast(verdict === null ? "Mark removed" : `Marked ${verdict}`);
      redraw();
    } catch (error) {
      toast(messageOf(error));
    }
  }

  draw();
  return { bar, draw, mark };
}

function othersOf(marks) {
  if (!marks.length) return null;
  const each = (mark) =>
    `${mark.by || "somebody"} marked ${mark.verdict}` +
    (mark.blind ? " (blind)" : "") +
    (mark.note ? `: ${mark.note}` : "");
  return el("p.quiet", marks.map(each).join("; "));
}
