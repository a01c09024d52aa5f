// The filter bar of the sample table: a state kept in the address, and controls that change it.

import { button, el, fill, h, select, toggle } from "./dom.js";
import { queryBox } from "./query_box.js";
import { count, seconds, short } from "./numbers.js";
import { OUTCOMES } from "./wording.js";

const LISTS = ["task", "outcome", "failure", "meta", "against"];
const SINGLE = ["q", "value", "low", "high", "flip", "mark", "sort", "dir", "offset"];

export function stateOf(params) {
  const state = {};
  for (const name of LISTS) state[name] = params[name] || [];
  for (const name of SINGLE) state[name] = (params[name] || [""])[0];
  return state;
}

// What to send, or to put into an address: only what is set.
/** @returns {Record<string, any>} */
export function paramsOf(state) {
  return Object.fromEntries(
    Object.entries(state).filter(([, value]) => (Array.isArray(value) ? value.length : value !== "")),
  );
}

export function filterBar(run, runs, state, change, { chooser, together }) {
  const set = (changes) => change({ ...changes, offset: "" });
  const box = queryBox(run.fields, state.q, (q) => {
    if (q !== state.q) set({ q });
  });
  const search = box.input;
  const failures = [...new Set(run.failures.map((each) => each.kind))];
  const keyBox = el("span.row.tight");
  // only a phone hides the choices, and shows this
  const more = button(
    "Filters",
    () => {
      const open = bar.classList.toggle("open");
      more.setAttribute("aria-expanded", open);
    },
    { class: "more", "aria-expanded": "false" },
  );
  const bar = el(
    "div.filters",
    el(
      "div.row",
      box.element,
      chooser,
      button(
        "Clear filters",
        () => {
          search.value = "";
          change(null);
        },
        { class: "clear" },
      ),
      more,
    ),
    el(
      "div.row.wrap.choices",
      list(
        "Task",
        run.distributions.map((each) => each.task),
        state.task,
        (task) => set({ task }),
      ),
      failures.length ? list("Failure kind", failures, state.failure, (failure) => set({ failure })) : null,
      keyBox,
      range(run, state, set),
      together ? null : against(run, runs, state, set),
      select(
        "Marked by people",
        [
          ["", "any mark"],
          ["any", "marked"],
          ["none", "not marked"],
          ["right", "marked right"],
          ["wrong", "marked wrong"],
          ["unclear", "marked unclear"],
          ["disagree", "mark against score"],
        ],
        state.mark,
        (mark) => set({ mark }),
      ),
    ),
  );
  metadata(keyBox, run, state, set);
  bar.search = search;
  return bar;
}

function list(label, names, chosen, onchange) {
  return select(label, [["", `${label}: all`], ...names], chosen[0] || "", (value) => onchange(value ? [value] : []));
}

function metadata(box, run, state, set) {
  if (!run.keys.length) return;
  let key = "";
  const draw = () => {
    const known = run.keys.find((each) => each.key === key);
    const chips = state.meta.map((pair) =>
      button([pair, " ×"], () => set({ meta: state.meta.filter((each) => each !== pair) }), {
        class: "chip on",
        "aria-label": `remove the filter ${pair}`,
      }),
    );
    const values =
      known &&
      (known.more
        ? h("input", {
            type: "text",
            placeholder: "value",
            "aria-label": `value of ${key}`,
            onchange: (event) => pick(event.target.value),
          })
        : select(
            `value of ${key}`,
            [["", "value…"], ...known.values.map((value) => [value, value === "" ? "(empty)" : value])],
            "",
            pick,
          ));
    fill(
      box,
      select("Metadata key", [["", "Metadata…"], ...run.keys.map((each) => each.key)], key, (value) => {
        key = value;
        draw();
      }),
      values,
      chips,
    );
  };
  const pick = (value) =>
    set({ meta: [...state.meta.filter((each) => !each.startsWith(key + "=")), `${key}=${value}`] });
  draw();
}

function range(run, state, set) {
  const names = [
    "score",
    ...run.values.filter((name) => name !== "score").map((name) => [name, name.replace("value:", "")]),
    "seconds",
    ["tokens_out", "tokens out"],
    "retries",
  ];
  const box = (name, label) =>
    h("input", {
      type: "number",
      step: "any",
      class: "tiny",
      value: state[name],
      placeholder: label,
      "aria-label": `${label} ${state.value || "score"}`,
      onchange: (event) => set({ [name]: event.target.value }),
    });
  return el(
    "span.row.tight",
    select("Value", names, state.value || "score", (value) => set({ value: value === "score" ? "" : value })),
    box("low", "from"),
    el("span.quiet", "–"),
    box("high", "to"),
  );
}

function against(run, runs, state, set) {
  const others = runs.filter((each) => each.name !== run.name && each.kind === "run");
  if (!others.length) return null;
  const names = [
    ["", "compare with another run…"],
    ...others.map((each) => [each.name, `${each.model} · ${each.name}`]),
  ];
  return el(
    "span.row.tight",
    select(
      "Compare with another run",
      names,
      state.against[0] || "",
      (value) => set({ against: value ? [value] : [], flip: value ? state.flip : "" }),
      { class: "narrow" },
    ),
    state.against.length
      ? select(
          "Change",
          [
            ["", "changed or not"],
            ["flipped", "flipped"],
            ["same", "not flipped"],
            ["better", "better there"],
            ["worse", "worse there"],
          ],
          state.flip,
          (flip) => set({ flip }),
        )
      : null,
  );
}

// Outcomes as toggles, with how many of the matching samples there are; those of the whole run stay to be added.
export function outcomeBar(counts, everywhere, state, change) {
  return h(
    "div",
    { class: "row wrap outcomes", role: "group", "aria-label": "Outcome" },
    Object.keys(OUTCOMES)
      .filter((name) => counts[name] || everywhere[name] || state.outcome.includes(name))
      .map((name) => {
        const on = state.outcome.includes(name);
        const next = on ? state.outcome.filter((each) => each !== name) : [...state.outcome, name];
        const label = [
          h("span", { class: `sign o-${name}`, "aria-hidden": "true" }, OUTCOMES[name][0]),
          OUTCOMES[name][1],
          counts[name] === undefined ? null : el("b", " " + count(counts[name])),
        ];
        return toggle(label, on, () => change({ outcome: next, offset: "" }), { title: OUTCOMES[name][2] });
      }),
  );
}

// A range to choose by how many samples lie where: each bar is a button.
export function rangeBars(histogram, what, onpick) {
  if (!histogram) return el("p.quiet", "nothing to show yet");
  const most = Math.max(...histogram.counts, 1);
  const tidy = what === "seconds" ? seconds : short;
  const box = h("div", { class: "bars", role: "group", "aria-label": `distribution of ${what}` });
  histogram.counts.forEach((n, i) => {
    const [low, high] = [histogram.edges[i], histogram.edges[i + 1]];
    const label = `${what} ${tidy(low)} to ${tidy(high)}: ${count(n)}`;
    const fillBar = h("span", { class: "fill", style: { height: n ? Math.max(2, (n / most) * 100) + "%" : "0" } });
    box.append(
      n
        ? h(
            "button",
            { type: "button", class: "bar", title: label, "aria-label": label, onclick: () => onpick(low, high) },
            fillBar,
          )
        : h("span", { class: "bar", title: label }, fillBar),
    );
  });
  return el(
    "div.chart",
    box,
    el(
      "div.axis",
      el("span", tidy(histogram.low)),
      histogram.mean === undefined ? null : el("span", `mean ${tidy(histogram.mean)}`),
      el("span", tidy(histogram.high)),
    ),
  );
}
