// The texts of a report: rendered where that helps, with a switch that shows them as they were written.

import { button } from "./dom.js";
import { chooseText, isRendered, rendered } from "./render.js";

const page = document.documentElement;
const made = [...document.querySelectorAll("pre.written")].filter((written) => {
  const nodes = rendered(written.textContent || "");
  if (nodes) {
    nodes.classList.add("rendering");
    written.classList.add("has-rendering");
    written.after(nodes);
  }
  return nodes;
});

function show(/** @type {boolean} */ raw) {
  page.classList.toggle("raw", raw);
  choice.textContent = raw ? "Show rendered text" : "Show raw text";
}

const choice = button("", () => {
  const raw = !page.classList.contains("raw");
  chooseText(raw ? "raw" : "rendered");
  show(raw);
});
if (made.length) {
  document.querySelector("nav")?.append(choice);
  show(!isRendered());
}
