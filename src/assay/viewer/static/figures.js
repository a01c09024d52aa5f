// Charts as the server draws them, made into nodes of our own; what they can do is the same in a report.

import { enliven } from "./chart_tools.js";
import { el, h, section, tableOf } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";
const ELEMENTS = new Set(["svg", "g", "rect", "line", "path", "circle", "text", "tspan", "title", "desc"]);

/**
 * @typedef {[string, Record<string, string>, (Drawing | string)[]]} Drawing
 * @typedef {{ name: string, title: string, note: string, full_width: boolean, wide: Drawing, narrow: Drawing,
 *   header: string[], rows: string[][], numeric_from: number }} Chart a figure of reports/charts/figure.py
 */

// Several charts under one heading; nothing where there is none.
export function chartSection(
  /** @type {string} */ title,
  /** @type {{ charts: Chart[], reason: string | null }} */ { charts, reason },
) {
  if (!charts.length) return reason ? section(title, el("p.quiet", reason)) : null;
  return section(title, el("div.plots", charts.map(plotted)));
}

export function plotted(/** @type {Chart} */ chart) {
  const figure = h(
    "figure",
    { class: chart.full_width ? "plotted across" : "plotted", "data-name": chart.name },
    el("figcaption", chart.title),
    [chart.wide, chart.narrow].map(build),
    chart.note ? el("p.reading", chart.note) : null,
    behind(chart),
  );
  enliven(figure);
  return figure;
}

function behind(/** @type {Chart} */ chart) {
  const column = (/** @type {string} */ name, /** @type {number} */ place) =>
    /** @type {import("./dom.js").Column} */ ([name, (row) => row[place], place >= chart.numeric_from ? "num" : ""]);
  return el(
    "details.behind",
    h("summary", { "aria-label": `Table: ${chart.title}` }, "Table"),
    tableOf(chart.title, chart.header.map(column), chart.rows),
  );
}

// [name, attributes, children], of elements that a drawing is made of and of no others.
/** @returns {Node} */
function build(/** @type {Drawing | string} */ part) {
  if (typeof part === "string") return document.createTextNode(part);
  const [name, attributes, children] = part;
  if (!ELEMENTS.has(name)) throw new Error(`a chart is not made of <${name}>`);
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (!key.startsWith("on") && key !== "style" && key !== "href") element.setAttribute(key, value);
  }
  element.append(...children.map(build));
  return element;
}
