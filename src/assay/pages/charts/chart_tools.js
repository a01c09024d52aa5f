// What a drawn chart can do in any page, the viewer's and a report's: tips for pointer and keyboard, links, downloads.
// Nothing is imported: a report carries this file inside.

const SVG = "http://www.w3.org/2000/svg";
const STYLES =
  "fill fill-opacity stroke stroke-width stroke-dasharray stroke-linejoin paint-order " +
  "font-size font-weight font-family";

// Adds tips to the drawings of a figure and, next to the table behind it, buttons that save it.
export function enliven(/** @type {HTMLElement} */ figure) {
  const tip = made("div", { class: "tip", role: "status", "aria-live": "polite" });
  tip.hidden = true;
  const drawings = /** @type {SVGSVGElement[]} */ ([...figure.querySelectorAll(":scope > svg")]);
  const title = figure.querySelector("figcaption")?.textContent || "";
  drawings.forEach((svg) => liven(svg, tip));
  const shown = () => drawings.find((svg) => svg.getBoundingClientRect().width) || drawings[0];
  const file = (/** @type {string} */ ending) => `${figure.dataset.name || "chart"}.${ending}`;
  const behind = figure.querySelector("details.behind");
  const tools = made("div", { class: "tools" });
  figure.insertBefore(tools, behind);
  tools.append(
    saving("SVG", title, () => save(file("svg"), svgFile(shown(), title))),
    saving("PNG", title, () => savePng(file("png"), shown(), title)),
  );
  if (behind) tools.append(behind);
  figure.insertBefore(tip, tools);
}

function saving(/** @type {string} */ kind, /** @type {string} */ title, /** @type {() => void} */ onclick) {
  const button = made("button", { type: "button", "aria-label": `Download as ${kind}: ${title}` });
  button.textContent = kind;
  button.addEventListener("click", onclick);
  return button;
}

function made(/** @type {string} */ name, /** @type {Record<string, string>} */ attributes) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// One stop for Tab; arrows go from mark to mark; what a mark stands for is shown and announced, Enter follows its link.
function liven(/** @type {SVGSVGElement} */ svg, /** @type {HTMLElement} */ tip) {
  const every = /** @type {SVGElement[]} */ ([...svg.querySelectorAll(".m")]);
  const marks = every.filter((mark) => mark.querySelector(":scope > title"));
  marks.forEach((mark, place) => {
    const title = mark.querySelector(":scope > title");
    const text = title?.textContent || "";
    title?.remove();
    // the text next to a mark is part of its name
    const seen = [...mark.querySelectorAll("text")].map((each) => each.textContent).join(" ");
    mark.setAttribute("aria-label", text.includes(seen) ? text : `${seen}: ${text}`);
    mark.setAttribute("role", mark.dataset.link ? "link" : "img");
    mark.setAttribute("tabindex", place ? "-1" : "0");
    const show = () => showTip(tip, mark, text);
    const hide = () => {
      tip.hidden = true;
    };
    mark.addEventListener("pointerenter", show);
    mark.addEventListener("pointerleave", hide);
    mark.addEventListener("focus", show);
    mark.addEventListener("blur", hide);
    mark.addEventListener("click", () => go(mark));
    mark.addEventListener("keydown", (event) => step(event, marks, place));
  });
}

function step(/** @type {KeyboardEvent} */ event, /** @type {SVGElement[]} */ marks, /** @type {number} */ place) {
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

function go(/** @type {SVGElement} */ mark) {
  if (mark.dataset.link && mark.dataset.link.startsWith("#/")) location.hash = mark.dataset.link;
}

function showTip(/** @type {HTMLElement} */ tip, /** @type {SVGElement} */ mark, /** @type {string} */ text) {
  tip.textContent = text;
  tip.hidden = false;
  const around = /** @type {HTMLElement} */ (tip.parentElement).getBoundingClientRect();
  const box = (mark.querySelector(".m-sign, .m-bar, .m-tile") || mark).getBoundingClientRect();
  const left = box.left + box.width / 2 - around.left;
  const room = around.width - tip.offsetWidth;
  tip.style.left = `${Math.max(0, Math.min(left - tip.offsetWidth / 2, room))}px`;
  tip.style.top = `${box.top - around.top - tip.offsetHeight - 8}px`;
}

// The drawing with its colours written into it, and its title above: it stands alone.
function svgFile(/** @type {SVGSVGElement} */ svg, /** @type {string} */ title) {
  const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true));
  const [originals, copies] = [svg, copy].map((each) => [each, ...each.querySelectorAll("*")]);
  originals.forEach((original, place) => {
    const style = getComputedStyle(original);
    for (const name of STYLES.split(" ")) copies[place].setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "tabindex", "data-link", "role"]) copies[place].removeAttribute(name);
  });
  const { width, height } = svg.viewBox.baseVal;
  const around = getComputedStyle(svg.closest(".plotted") || svg);
  const back = drawn("rect", { x: 0, y: -34, width, height: height + 34 });
  back.setAttribute("fill", around.getPropertyValue("--page-ground").trim());
  const head = drawn("text", { x: 8, y: -14, "font-size": 15, "font-weight": 600 });
  head.setAttribute("fill", around.color);
  head.setAttribute("font-family", getComputedStyle(svg).fontFamily);
  head.textContent = title;
  copy.prepend(back, head);
  copy.setAttribute("viewBox", `0 -34 ${width} ${height + 34}`);
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height + 34));
  copy.setAttribute("xmlns", SVG);
  return new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
}

function drawn(/** @type {string} */ name, /** @type {Record<string, number>} */ attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

async function savePng(/** @type {string} */ name, /** @type {SVGSVGElement} */ svg, /** @type {string} */ title) {
  const text = await svgFile(svg, title).text();
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width * 2;
  canvas.height = image.height * 2;
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => blob && save(name, blob), "image/png");
}

function save(/** @type {string} */ name, /** @type {Blob} */ blob) {
  const address = URL.createObjectURL(blob);
  const anchor = made("a", { href: address, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
