// The course of a search as a picture: the best score over evaluator calls, what was kept and what was rejected.

import { h } from "./dom.js";
import { count, number } from "./words.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [720, 200, 44, 24];

// Points are texts that were kept, crosses those that were rejected, at the mean of their minibatch.
export function searchCurve(summary) {
  const kept = summary.lineage.filter((each) => each.mean !== null);
  const rejected = summary.rejected.filter((each) => each.score !== null);
  if (!kept.length) return h("p", { class: "quiet" }, "Nothing was scored.");
  const scores = [...kept.map((each) => each.mean), ...rejected.map((each) => each.score)];
  const unit = summary.score_range === "unit";
  const [low, high] = unit ? [0, 1] : [Math.min(...scores), Math.max(...scores)];
  const last = Math.max(summary.calls.used || 0, ...kept.map((each) => each.calls), 1);
  const x = (calls) => LEFT + (calls / last) * (WIDTH - LEFT - 8);
  const y = (score) => 8 + (1 - (score - low) / (high - low || 1)) * (HEIGHT - BOTTOM - 8);
  const label = `best score over evaluator calls, from ${number(kept[0].mean)} to ${number(best(kept))}`;
  return h(
    "figure",
    { class: "curve" },
    svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
      [low, high].map((score) => [
        svg("line", { class: "grid", x1: LEFT, x2: WIDTH - 8, y1: y(score), y2: y(score) }),
        svg("text", { x: LEFT - 6, y: y(score) + 4, "text-anchor": "end" }, number(score, 2)),
      ]),
      svg("text", { x: LEFT, y: HEIGHT - 6 }, "0"),
      svg("text", { x: WIDTH - 8, y: HEIGHT - 6, "text-anchor": "end" }, `${count(last)} calls`),
      svg("path", { class: "best", d: steps(kept, last, x, y) }),
      rejected.map((each) => cross(x(each.calls), y(each.score), `#${each.number}: ${number(each.score)}, rejected`)),
      kept.map((each) =>
        svg("circle", { class: "kept", cx: x(each.calls), cy: y(each.mean), r: 4 }, title(each, summary.best_number)),
      ),
    ),
    h(
      "figcaption",
      { class: "quiet small" },
      `line: the best on the ${summary.selected_on} so far · points: kept · crosses: rejected, on their minibatch`,
    ),
  );
}

function best(kept) {
  return Math.max(...kept.map((each) => each.mean));
}

// The best so far stays until a better one is found, and to the end.
function steps(kept, last, x, y) {
  let top = -Infinity;
  let path = "";
  for (const each of kept) {
    if (each.mean <= top) continue;
    path += path ? `H${x(each.calls)}V${y(each.mean)}` : `M${x(each.calls)} ${y(each.mean)}`;
    top = each.mean;
  }
  return `${path}H${x(last)}`;
}

function title(each, chosen) {
  const name = each.number === 0 ? "seed" : `#${each.number}`;
  return svg("title", {}, `${name}${each.number === chosen ? " (best)" : ""}: ${number(each.mean)}`);
}

function cross(x, y, said) {
  const path = `M${x - 3} ${y - 3}l6 6m0 -6l-6 6`;
  return svg("path", { class: "rejected", d: path }, svg("title", {}, said));
}

function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  for (const child of children.flat(Infinity)) element.append(child);
  return element;
}
