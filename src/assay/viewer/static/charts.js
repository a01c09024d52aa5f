// Small pictures of numbers, made of elements: bars to click, whiskers for intervals, stacks of outcomes.

import { h } from "./dom.js";
import { OUTCOMES, count, interval, number, seconds } from "./words.js";

// A histogram; each bar is a button when `onpick` is given.
export function bars(histogram, what, onpick) {
  if (!histogram) return h("p", { class: "quiet" }, "nothing to show yet");
  const most = Math.max(...histogram.counts, 1);
  const tidy = what === "seconds" ? seconds : plainly;
  const box = h("div", { class: "bars", role: "group", "aria-label": `distribution of ${what}` });
  histogram.counts.forEach((n, i) => {
    const [low, high] = [histogram.edges[i], histogram.edges[i + 1]];
    const label = `${what} ${tidy(low)} to ${tidy(high)}: ${count(n)}`;
    const fillBar = h("span", { class: "fill", style: { height: n ? Math.max(2, (n / most) * 100) + "%" : "0" } });
    box.append(
      onpick && n
        ? h(
            "button",
            { type: "button", class: "bar", title: label, "aria-label": label, onclick: () => onpick(low, high) },
            fillBar,
          )
        : h("span", { class: "bar", title: label }, fillBar),
    );
  });
  return h(
    "div",
    { class: "chart" },
    box,
    h(
      "div",
      { class: "axis" },
      h("span", null, tidy(histogram.low)),
      histogram.mean === undefined ? null : h("span", null, `mean ${tidy(histogram.mean)}`),
      h("span", null, tidy(histogram.high)),
    ),
  );
}

function plainly(value) {
  return String(Number(value.toPrecision(3)));
}

// A point with its interval on a scale from 0 to 1.
export function whisker(value, found) {
  if (value === null || value === undefined) return h("span", { class: "whisker none" });
  const at = (x) => Math.min(100, Math.max(0, x * 100)) + "%";
  const box = h("span", {
    class: "whisker",
    role: "img",
    "aria-label": `${number(value)}, interval ${interval(found) || "none"}`,
  });
  if (found && found.low !== null && found.low !== undefined) {
    const span = h("span", {
      class: "span",
      style: { left: at(found.low), width: `calc(${at(found.high)} - ${at(found.low)})` },
    });
    box.append(span);
  }
  box.append(h("span", { class: "dot", style: { left: at(value) } }));
  return box;
}

// A difference with its interval on a scale around 0.
export function differenceWhisker(value, found, reach, sure) {
  if (value === null || value === undefined) return h("span", { class: "whisker none" });
  const at = (x) => Math.min(100, Math.max(0, 50 + (x / reach) * 50)) + "%";
  const box = h("span", {
    class: "whisker centred",
    role: "img",
    "aria-label": `difference ${number(value)}, interval ${interval(found) || "none"}`,
  });
  if (found && found.low !== null && found.low !== undefined) {
    box.append(
      h("span", { class: "span", style: { left: at(found.low), width: `calc(${at(found.high)} - ${at(found.low)})` } }),
    );
  }
  box.append(h("span", { class: "dot", style: { left: at(value) } }));
  if (sure) box.classList.add(value > 0 ? "up" : "down");
  return box;
}

// What became of the attempts, as one bar; its legend is what can be chosen, in sizes that a finger can hit.
export function stack(outcomes) {
  const total = Object.values(outcomes).reduce((a, b) => a + b, 0) || 1;
  const said = Object.keys(OUTCOMES).filter((name) => outcomes[name]);
  const all = said.map((name) => `${count(outcomes[name])} ${OUTCOMES[name][1]}`).join(", ");
  const box = h("div", { class: "stack", role: "img", "aria-label": `outcomes: ${all || "none yet"}` });
  for (const name of said) {
    const style = { width: (outcomes[name] / total) * 100 + "%" };
    box.append(h("span", { class: `part o-${name}`, title: `${count(outcomes[name])} ${OUTCOMES[name][1]}`, style }));
  }
  return box;
}

export function badge(outcome, long) {
  const [sign, word, meaning] = OUTCOMES[outcome] || ["·", outcome, ""];
  return h(
    "span",
    { class: `badge o-${outcome}`, title: long ? meaning : `${word}: ${meaning}` },
    h("span", { class: "sign", "aria-hidden": "true" }, sign),
    h("span", { class: long ? "" : "said" }, word),
  );
}

// Marks that a program earned on its own word, where no comparison outside of it proves them.
export function weakTag(row) {
  return row.weak
    ? h("span", { class: "bad small", title: "weak pass: the tests took the program's own word for it" }, " weak")
    : null;
}

export function progressBar(progress) {
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
