// Elements and text. Every string becomes a text node: nothing a model wrote is ever markup.

// the characters of printable.py, without the carriage return, which a page shows as a blank
const INVISIBLE = new RegExp(
  String.raw`[\u{0}-\u{8}\u{b}\u{c}\u{e}-\u{1f}\u{7f}-\u{9f}\u{ad}\u{61c}\u{180e}\u{200b}\u{200e}\u{200f}` +
    String.raw`\u{2028}-\u{202e}\u{2060}-\u{206f}\u{d800}-\u{dfff}\u{feff}\u{fff9}-\u{fffb}\u{fffe}\u{ffff}` +
    String.raw`\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}]`,
  "u",
);
const INVISIBLE_EACH = new RegExp(INVISIBLE.source, "gu");
const MOST_CHIPS = 2000;

/** @typedef {Record<string, any> | null | undefined} Props attributes, properties, and listeners as onclick */

/** @returns {any} the element, whichever it is */
export function h(/** @type {string} */ tag, /** @type {Props} */ props = null, /** @type {any[]} */ ...children) {
  /** @type {any} */
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (name in PROPERTIES) element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value).replace(INVISIBLE_EACH, symbol));
  }
  add(element, children);
  return element;
}

// An element with classes and no other attribute: el("p.quiet.small", "text").
export function el(/** @type {string} */ tag, /** @type {any[]} */ ...children) {
  const [name, ...classes] = tag.split(".");
  return h(name, { class: classes.join(" ") || null }, ...children);
}

// properties that an attribute does not set after the fact
const PROPERTIES = { value: 1, checked: 1, disabled: 1, selected: 1, indeterminate: 1, className: 1 };

/** @template {ParentNode} T */
export function add(/** @type {T} */ element, /** @type {any[]} */ children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : shown(String(child)));
  }
  return element;
}

/** @template {Element} T */
export function fill(/** @type {T} */ element, /** @type {any[]} */ ...children) {
  element.replaceChildren();
  return add(element, children);
}

// Fills a box again only when its content has changed, and keeps the focus, so that a page that follows a run stays
// usable.
const states = new WeakMap();
export function follow(/** @type {Element} */ box, /** @type {unknown} */ value, /** @type {() => any} */ make) {
  const state = JSON.stringify(value);
  if (states.get(box) === state) return box;
  states.set(box, state);
  const path = pathTo(box, document.activeElement);
  fill(box, make());
  /** @type {any} */
  let focused = path && box;
  for (const place of path || []) focused = focused && focused.children[place];
  if (focused) focused.focus({ preventScroll: true });
  return box;
}

function pathTo(/** @type {Element} */ box, /** @type {Element | null} */ element) {
  if (!element || element === box || !box.contains(element)) return null;
  const path = [];
  for (let each = element; each !== box;) {
    const around = /** @type {Element} */ (each.parentElement);
    path.unshift([...around.children].indexOf(each));
    each = around;
  }
  return path;
}

// Text with what cannot be seen made visible: control characters, direction overrides, zero widths.
export function shown(/** @type {string} */ text) {
  if (!INVISIBLE.test(text)) return document.createTextNode(text);
  const invisible = text.match(INVISIBLE_EACH) || [];
  if (invisible.length > MOST_CHIPS) return document.createTextNode(text.replace(INVISIBLE_EACH, symbol));
  const fragment = document.createDocumentFragment();
  let start = 0;
  for (const match of text.matchAll(INVISIBLE_EACH)) {
    if (match.index > start) fragment.append(text.slice(start, match.index));
    const chip = document.createElement("span");
    chip.className = "invisible";
    chip.title = "U+" + (match[0].codePointAt(0) || 0).toString(16).toUpperCase().padStart(4, "0");
    chip.textContent = symbol(match[0]);
    fragment.append(chip);
    start = match.index + match[0].length;
  }
  fragment.append(text.slice(start));
  return fragment;
}

/** @type {Record<number, string>} */
const NAMES = {
  0: "NUL",
  7: "BEL",
  8: "BS",
  27: "ESC",
  127: "DEL",
  0xad: "SHY",
  0x200b: "ZWSP",
  0x200e: "LRM",
  0x200f: "RLM",
  0x202a: "LRE",
  0x202b: "RLE",
  0x202c: "PDF",
  0x202d: "LRO",
  0x202e: "RLO",
  0x2066: "LRI",
  0x2067: "RLI",
  0x2068: "FSI",
  0x2069: "PDI",
  0xfeff: "BOM",
};

function symbol(/** @type {string} */ character) {
  const code = character.codePointAt(0) || 0;
  return "⟦" + (NAMES[code] || code.toString(16).toUpperCase().padStart(4, "0")) + "⟧";
}

export function button(
  /** @type {any} */ label,
  /** @type {(event: any) => any} */ onclick,
  /** @type {Props} */ props = null,
) {
  return h("button", { type: "button", onclick, ...props }, label);
}

// A button that is pressed or not.
export function toggle(
  /** @type {any} */ label,
  /** @type {boolean} */ on,
  /** @type {() => any} */ onclick,
  /** @type {Props} */ props = null,
) {
  return button(label, onclick, { class: on ? "toggle on" : "toggle", "aria-pressed": on, ...props });
}

export function link(/** @type {string} */ href, /** @type {Props} */ props, /** @type {any[]} */ ...children) {
  return h("a", { href, ...props }, ...children);
}

// Options are values with their labels, or names that are both.
/** @param {string} label @param {(string | string[])[]} options @param {string} value
 * @param {(value: string) => any} onchange @param {Props} props */
export function select(label, options, value, onchange, props = null) {
  const box = h("select", {
    "aria-label": label,
    onchange: (/** @type {any} */ event) => onchange(event.target.value),
    ...props,
  });
  for (const option of options) {
    const [name, text] = typeof option === "string" ? [option, option] : option;
    box.append(h("option", { value: name, selected: name === value }, text));
  }
  return box;
}

// What is wider than its room scrolls, and can be reached by keys for as long as it does.
/** @type {WeakMap<Element, Element>} */
const boxOf = new WeakMap();
const reachable =
  typeof ResizeObserver === "undefined"
    ? null
    : new ResizeObserver((seen) => {
        for (const { target } of seen) {
          const box = boxOf.get(target) || target;
          if (box.scrollWidth > box.clientWidth) box.setAttribute("tabindex", "0");
          else box.removeAttribute("tabindex");
        }
      });

export function scrolling(/** @type {string} */ tag, /** @type {Props} */ props, /** @type {any[]} */ ...children) {
  const made = h(tag, props, ...children);
  if (!reachable) return made;
  reachable.observe(made);
  for (const child of made.children) {
    boxOf.set(child, made); // it may grow while its box stays as wide as it is
    reachable.observe(child);
  }
  return made;
}

export function table(
  /** @type {string} */ label,
  /** @type {any} */ head,
  /** @type {any} */ rows,
  /** @type {Props} */ props = null,
) {
  return scrolling(
    "div",
    { class: "scroll" },
    h("table", { "aria-label": label, ...props }, h("thead", null, h("tr", null, head)), h("tbody", null, rows)),
  );
}

export function th(/** @type {any} */ text, /** @type {Props} */ props = null) {
  return h("th", { scope: "col", ...props }, text);
}

/** @typedef {[any, (row: any) => any, string?]} Column its head, what its cells show, and their class */

// A table by its columns; the head of a column of numbers stands above them.
export function tableOf(
  /** @type {string} */ label,
  /** @type {Column[]} */ columns,
  /** @type {any[]} */ rows,
  /** @type {(row: any) => Props} */ propsOf = () => null,
) {
  const head = columns.map(([name, , kind]) => th(name, { class: kind?.startsWith("num") ? "num" : null }));
  const body = rows.map((row) =>
    h(
      "tr",
      propsOf(row),
      columns.map(([, cell, kind]) => h("td", { class: kind }, cell(row))),
    ),
  );
  return table(label, head, body);
}

export function listed(/** @type {any[]} */ items, tag = "ul") {
  return el(tag, ...items.map((item) => el("li", item)));
}

export function section(/** @type {string} */ title, /** @type {any[]} */ ...children) {
  return h("section", null, h("h2", null, title), ...children);
}

// An element of index.html.
export function byId(/** @type {string} */ id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element;
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let fading;
export function toast(/** @type {string} */ sentence, milliseconds = 2600) {
  const box = byId("toast");
  box.textContent = sentence;
  box.classList.add("on");
  clearTimeout(fading);
  fading = setTimeout(() => box.classList.remove("on"), milliseconds);
}

export async function copy(/** @type {string} */ text, /** @type {string} */ message) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // a file:// page has no clipboard: a selection does as well
    const box = h("textarea", { class: "hidden", value: text });
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
  toast(message);
}
