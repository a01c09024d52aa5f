// Charts as the server draws them, made into nodes of our own: tips for pointer and keyboard, links, table, download.

import { button, h, section, table, th } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";
const ELEMENTS = new Set(["svg", "g", "rect", "line", "path", "circle", "text", "tspan", "title", "desc"]);
const STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "paint-order",
  "font-size",
  "font-weight",
  "font-family",
];

// Several charts under one heading; nothing where there is none.
export function chartSection(title, found) {
  if (!found.charts.length) return found.reason ? section(title, h("p", { class: "quiet" }, found.reason)) : null;
  return section(title, h("div", { class: "plots" }, found.charts.map(plotted)));
}

export function plotted(chart) {
  const tip = h("div", { class: "tip", role: "status", "aria-live": "polite", hidden: true });
  const drawings = [chart.wide, chart.narrow].map(build);
  drawings.forEach((svg) => liven(svg, tip));
  const shown = () => drawings.find((svg) => svg.getBoundingClientRect().width) || drawings[0];
  return h(
    "figure",
    { class: chart.full_width ? "plotted across" : "plotted" },
    h("figcaption", null, chart.title),
    drawings,
    tip,
    chart.note ? h("p", { class: "reading" }, chart.note) : null,
    h(
      "div",
      { class: "row tight tools" },
      button("SVG", () => save(`${chart.name}.svg`, svgFile(shown(), chart.title)), {
        class: "plain",
        "aria-label": `Download as SVG: ${chart.title}`,
      }),
      button("PNG", () => savePng(`${chart.name}.png`, shown(), chart.title), {
        class: "plain",
        "aria-label": `Download as PNG: ${chart.title}`,
      }),
      behind(chart),
    ),
  );
}

function behind(chart) {
  const kind = (place) => (place >= chart.numeric_from ? "num" : "");
  return h(
    "details",
    { class: "behind" },
    h("summary", { "aria-label": `Table: ${chart.title}` }, "Table"),
    table(
      chart.title,
      chart.header.map((name, place) => th(name, { class: kind(place) })),
      chart.rows.map((row) =>
        h(
          "tr",
          null,
          row.map((cell, place) => h("td", { class: kind(place) }, cell)),
        ),
      ),
    ),
  );
}

// [name, attributes, children], of elements that a drawing is made of and of no others.
function build(part) {
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

// One stop for Tab; arrows go from mark to mark; what a mark stands for is shown and said, and Enter follows it.
function liven(svg, tip) {
  const marks = [...svg.querySelectorAll(".m")].filter((mark) => mark.querySelector(":scope > title"));
  marks.forEach((mark, place) => {
    const title = mark.querySelector(":scope > title");
    const text = title.textContent;
    title.remove();
    // what is written beside a mark is part of its name
    const seen = [...mark.querySelectorAll("text")].map((each) => each.textContent).join(" ");
    mark.setAttribute("aria-label", text.includes(seen) ? text : `${seen}: ${text}`);
    mark.setAttribute("role", mark.dataset.link ? "link" : "img");
    mark.setAttribute("tabindex", place ? "-1" : "0");
    const show = () => showTip(tip, mark, text);
    const hide = () => (tip.hidden = true);
    mark.addEventListener("pointerenter", show);
    mark.addEventListener("pointerleave", hide);
    mark.addEventListener("focus", show);
    mark.addEventListener("blur", hide);
    mark.addEventListener("click", () => go(mark));
    mark.addEventListener("keydown", (event) => step(event, marks, place));
  });
}

function step(event, marks, place) {
  if (event.key === "Enter" && marks[place].dataset.link) {
    event.stopPropagation();
    go(marks[place]);
    return;
  }
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const next = event.key === "Home" ? 0 : event.key === "End" ? marks.length - 1 : by ? place + by : -1;
  if (!marks[next]) return;
  event.preventDefault();
  event.stopPropagation();
  marks[place].setAttribute("tabindex", "-1");
  marks[next].setAttribute("tabindex", "0");
  marks[next].focus();
}

function go(mark) {
  if (mark.dataset.link && mark.dataset.link.startsWith("#/")) location.hash = mark.dataset.link;
}

function showTip(tip, mark, text) {
  tip.textContent = text;
  tip.hidden = false;
  const around = tip.parentElement.getBoundingClientRect();
  const box = (mark.querySelector(".m-sign, .m-bar, .m-tile") || mark).getBoundingClientRect();
  const left = box.left + box.width / 2 - around.left;
  const room = around.width - tip.offsetWidth;
  tip.style.left = `${Math.max(0, Math.min(left - tip.offsetWidth / 2, room))}px`;
  tip.style.top = `${box.top - around.top - tip.offsetHeight - 8}px`;
}

// The drawing with its colours written into it, and its title above: it stands alone.
function svgFile(svg, title) {
  const copy = svg.cloneNode(true);
  const [originals, copies] = [svg, copy].map((each) => [each, ...each.querySelectorAll("*")]);
  originals.forEach((original, place) => {
    const style = getComputedStyle(original);
    for (const name of STYLES) copies[place].setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "tabindex", "data-link", "role"]) copies[place].removeAttribute(name);
  });
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const ground = getComputedStyle(svg.closest(".plotted")).getPropertyValue("--chart-ground").trim();
  const back = build(["rect", { x: "0", y: "-34", width, height: height + 34, fill: ground }, []]);
  const ink = getComputedStyle(svg.closest(".plotted")).color;
  const font = getComputedStyle(svg).fontFamily;
  const head = { x: "8", y: "-14", "font-size": "15", "font-weight": "600", fill: ink, "font-family": font };
  copy.prepend(back, build(["text", head, [title]]));
  copy.setAttribute("viewBox", `0 -34 ${width} ${height + 34}`);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height + 34);
  copy.setAttribute("xmlns", SVG);
  return new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
}

async function savePng(name, svg, title) {
  const text = await svgFile(svg, title).text();
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = h("canvas", { width: image.width * 2, height: image.height * 2 });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => save(name, blob), "image/png");
}

function save(name, blob) {
  const address = URL.createObjectURL(blob);
  const anchor = h("a", { href: address, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
