// The box that takes a query: completes fields and values as they are typed, and shows where a query is wrong.

import { el, fill, h } from "./dom.js";
import { compile, complete, parse, schemaOf } from "./query.js";

let boxes = 0;

// `onquery` gets every valid query, a moment after it was typed.
export function queryBox(fields, value, onquery) {
  const list = h("ul", { class: "options", role: "listbox", id: `options-${++boxes}`, hidden: true });
  const wrong = h("p", { class: "wrong", role: "alert", hidden: true });
  const input = h("input", {
    type: "search",
    class: "search",
    value,
    spellcheck: "false",
    autocomplete: "off",
    placeholder: 'Search, or ask: score<1 and outcome:wrong and "two words"',
    "aria-label": "Search samples",
    title: 'Words to look for, or a query such as: score<1 and task:gsm8k and metadata.steps>=3 and "duck"',
    role: "combobox",
    "aria-expanded": "false",
    "aria-autocomplete": "list",
    "aria-controls": list.id,
  });
  let offered = null;
  let active = -1;
  let waiting;

  function show(completion) {
    offered = completion;
    active = -1;
    list.hidden = !completion;
    input.setAttribute("aria-expanded", String(Boolean(completion)));
    input.removeAttribute("aria-activedescendant");
    fill(list, completion ? completion.options.map(option) : null);
  }

  function option({ text, about }, i) {
    const press = (event) => {
      event.preventDefault(); // the box keeps the focus
      take(i);
    };
    return h(
      "li",
      { role: "option", id: `${list.id}-${i}`, "aria-selected": "false", onmousedown: press },
      el("code", text),
      about ? el("span.quiet.small", ` ${about}`) : null,
    );
  }

  function move(by) {
    const shown = [...list.children];
    if (active >= 0) shown[active].setAttribute("aria-selected", "false");
    active = (active + by + shown.length) % shown.length;
    shown[active].setAttribute("aria-selected", "true");
    shown[active].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", shown[active].id);
  }

  function take(i) {
    const { from, to, options } = offered;
    const text = options[i].text;
    input.setRangeText(text + (text.endsWith(":") ? "" : " "), from, to, "end");
    typed();
  }

  function typed() {
    show(complete(input.value, input.selectionStart, fields));
    clearTimeout(waiting);
    waiting = setTimeout(send, 250);
  }

  function send() {
    clearTimeout(waiting);
    const error = errorIn(input.value, fields);
    wrong.hidden = !error;
    input.setAttribute("aria-invalid", String(Boolean(error)));
    if (error) {
      const at = Math.min(error.at, input.value.length);
      const rest = input.value.slice(at);
      const mark = el("mark", rest || "▏");
      fill(wrong, el("code", input.value.slice(0, at), mark), " ", error.message);
    } else onquery(input.value);
  }

  input.addEventListener("input", typed);
  input.addEventListener("blur", () => show(null));
  input.addEventListener("keydown", (event) => {
    if (!offered) {
      if (event.key === "Enter") send();
      return;
    }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
    else if ((event.key === "Enter" || event.key === "Tab") && active >= 0) take(active);
    else if (event.key === "Escape") {
      show(null);
      event.stopPropagation(); // it closes the list, not the box
    } else {
      if (event.key === "Enter") {
        show(null);
        send();
      }
      return;
    }
    event.preventDefault();
  });
  if (value && errorIn(value, fields)) send();
  return { element: el("div.query", input, list, wrong), input };
}

// The error of a query; null where it is valid.
/** @returns {any} */
export function errorIn(text, fields) {
  try {
    compile(parse(text), schemaOf(fields), () => true);
    return null;
  } catch (error) {
    return error;
  }
}
