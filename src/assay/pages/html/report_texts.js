// The texts of a report: rendered where that helps, with a switch that shows them as they were written.

import { button } from "./dom.js";
import { chooseText, isRendered, rendered } from "./render.js";

const page = document.documentElement;
/** @type {HTMLElement[]} */
const boxes = [];
for (const written of document.querySelectorAll("pre.written")) {
  const rendering = rendered(written.textContent || "");
  if (!rendering) continue;
  rendering.classList.add("rendering");
  written.classList.add("has-rendering");
  written.after(rendering);
  boxes.push(rendering, /** @type {HTMLElement} */ (written));
}

function show(/** @type {boolean} */ raw) {
  page.classList.toggle("raw", raw);
  choice.textContent = raw ? "Show rendered text" : "Show raw text";
  // what is longer than its box scrolls, and keys have to reach it
  const long = boxes.map((box) => box.scrollHeight > box.clientHeight);
  boxes.forEach((box, i) => (long[i] ? box.setAttribute("tabindex", "0") : box.removeAttribute("tabindex")));
}

const choice = button("", () => {
  const raw = !page.classList.contains("raw");
  chooseText(raw ? "raw" : "rendered");
  show(raw);
});
if (boxes.length) {
  document.querySelector("nav")?.append(choice);
  show(!isRendered());
}
