// What a model wrote, rendered: Markdown, maths, highlighted code and JSON trees. The vendored libraries only read the
// text; every node is made here with h(), so nothing they return is ever taken for markup.

import { h, scrolling } from "./dom.js";
import { keep, kept } from "./kept.js";

const LONGEST = 60000;
const MARKDOWN = /^ {0,3}(#{1,6} |[-*+] |\d+[.)] |>|~~~|\|)|\*\*|__|`|\[[^\]]+\]\(/m;
const MATHS = /\$\$|\\\(|\\\[|\\begin\{|\$[^$\s]([^$\n]*[^$\s])?\$(?!\d)/;
// a program without a fence, whose indentation and asterisks Markdown would take for its own
const PYTHON = /^\s*((async )?def \w+\(|class \w+[(:]|from [\w.]+ import |import [\w.]+( as \w+)?\s*(\n|$))/;
const PICTURE = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/;
const SOUND = /^data:audio\/(wav|mpeg|mp3|ogg|flac|webm);base64,[A-Za-z0-9+/=\s]+$/;

// Rendered or raw, as the reader chose last.
export const isRendered = () => kept("assay-text") !== "raw";
export const chooseText = (kind) => keep("assay-text", kind);

// Nodes for a text, or null where it is better read as it stands.
export function rendered(text) {
  if (text.length > LONGEST || !text.trim()) return null;
  const value = jsonIn(text);
  if (value !== undefined) return h("div", { class: "tree" }, tree(value, 2));
  if (PYTHON.test(text) && !text.includes("```")) return code(text, "python");
  if (!window.markdownit || !(MARKDOWN.test(text) || MATHS.test(text))) return null;
  return h("div", { class: "markdown", dir: "auto" }, nodesOf(parser().parse(text, {})));
}

// A preview of a few lines: the text without the marks of its Markdown. Maths keeps its marks, and so do JSON and code.
export function withoutMarks(text) {
  if (!isRendered() || !window.markdownit || text.length > LONGEST || !MARKDOWN.test(text)) return text;
  if (jsonIn(text) !== undefined || (PYTHON.test(text) && !text.includes("```"))) return text;
  return wordsOf(parser().parse(text, {}))
    .replaceAll(CELL_END + "\n", "\n")
    .replace(/\n+/g, "\n")
    .trim();
}

const CELL_END = " · ";

function wordsOf(tokens) {
  return tokens
    .map((token) => {
      switch (token.type) {
        case "inline":
          return wordsOf(token.children);
        case "maths":
          return token.meta.display ? token.content : `$${token.content}$`;
        case "softbreak":
        case "hardbreak":
          return "\n";
        case "list_item_open":
          return token.info ? token.info + token.markup + " " : "• ";
        case "th_close":
        case "td_close":
          return CELL_END;
        default:
          return token.nesting === -1 && token.block ? "\n" : token.content;
      }
    })
    .join("");
}

export function jsonIn(text) {
  const start = text.trimStart()[0];
  if (start !== "{" && start !== "[") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// Pictures and sounds that are in the record itself; whatever lies elsewhere is named and not fetched.
export function picture(address, alt) {
  return PICTURE.test(address)
    ? h("img", { class: "picture", src: address, alt: alt || "picture" })
    : elsewhere("picture", address);
}

export function sound(address, name) {
  return SOUND.test(address)
    ? h("audio", { controls: true, src: address, "aria-label": name || "sound" })
    : elsewhere("sound", address);
}

function elsewhere(what, address) {
  const shown = address.length > 200 ? address.slice(0, 200) + "…" : address;
  return h("p", { class: "quiet" }, `${what}, not loaded: `, h("code", null, shown));
}

export function code(text, language) {
  return scrolling("pre", { class: "code" }, h("code", null, highlighted(text, language)));
}

function highlighted(text, language) {
  const known = window.hljs && language && window.hljs.getLanguage(language);
  if (!known || text.length > LONGEST) return text;
  return coloured(window.hljs.highlight(text, { language, ignoreIllegals: true })._emitter.rootNode);
}

function coloured(node) {
  return node.children.map((child) =>
    typeof child === "string"
      ? child
      : h("span", { class: "hl-" + String(child.scope || "").split(".")[0] }, coloured(child)),
  );
}

// Data as a tree that opens and closes.
export function tree(value, open = 1) {
  if (value === null || typeof value !== "object") return leaf(value);
  const entries = Object.entries(value);
  const [left, right] = Array.isArray(value) ? "[]" : "{}";
  if (!entries.length) return h("span", { class: "quiet" }, left + right);
  const box = h("details", { class: "node", open: open > 0 }, h("summary", null, `${left}${entries.length}${right}`));
  const fillIn = () => {
    if (box.childElementCount > 1) return;
    box.append(
      h(
        "ul",
        null,
        entries
          .slice(0, 500)
          .map(([name, inner]) => h("li", null, h("span", { class: "tree-key" }, name), ": ", tree(inner, open - 1))),
        entries.length > 500 ? h("li", { class: "quiet" }, `${entries.length - 500} more`) : null,
      ),
    );
  };
  if (open > 0) fillIn();
  else box.addEventListener("toggle", fillIn);
  return box;
}

function leaf(value) {
  return typeof value === "string"
    ? h("span", { class: "tree-text", dir: "auto" }, value)
    : h("span", { class: "hl-number" }, String(value));
}

let made;
function parser() {
  if (made) return made;
  // no HTML of the model's own, no links out of bare words; what is not switched on stays text
  made = window.markdownit({ html: false, linkify: false, breaks: true });
  made.inline.State = withProducts(made.inline.State);
  made.inline.ruler.before("escape", "maths", inlineMaths);
  made.block.ruler.before("fence", "maths", blockMaths, { alt: ["paragraph", "blockquote", "list"] });
  return made;
}

// "3*60 = 180, and 30*2" is two products and no emphasis: an asterisk between letters or digits stays what it is.
function withProducts(State) {
  return class extends State {
    scanDelims(start, canSplitWord) {
      const delimiters = super.scanDelims(start, canSplitWord);
      const beside = this.src[start - 1] + this.src[start + delimiters.length];
      const isProduct = this.src[start] === "*" && /^[0-9A-Za-z]{2}$/.test(beside);
      return isProduct ? { ...delimiters, can_open: false, can_close: false } : delimiters;
    }
  };
}

/** @type {[string, string, boolean][]} */
const INLINE = [
  ["$$", "$$", true],
  ["\\[", "\\]", true],
  ["\\(", "\\)", false],
  ["$", "$", false],
];

function inlineMaths(state, silent) {
  for (const [left, right, display] of INLINE) {
    if (!state.src.startsWith(left, state.pos)) continue;
    const start = state.pos + left.length;
    const end = state.src.indexOf(right, start);
    const inside = end < 0 ? "" : state.src.slice(start, end);
    if (!inside.trim() || (left === "$" && !isSum(inside, state.src[end + 1]))) continue;
    if (!silent) push(state, inside, display);
    state.pos = end + right.length;
    return true;
  }
  return false;
}

// "$5 and $6" is money: maths begins and ends at its signs, and no digit follows.
function isSum(inside, next) {
  return !/^\s|\s$|\n/.test(inside) && !/[0-9]/.test(next || "");
}

function blockMaths(state, startLine, endLine, silent) {
  const lineAt = (n) => state.src.slice(state.bMarks[n] + state.tShift[n], state.eMarks[n]);
  const first = lineAt(startLine);
  const [, left, name] = /^(\$\$|\\\[|\\begin\{([a-z]+\*?)\})/.exec(first) || [];
  if (!left) return false;
  const right = name ? `\\end{${name}}` : left === "$$" ? "$$" : "\\]";
  let text = first.slice(left.length);
  let line = startLine;
  while (!text.includes(right)) {
    line += 1;
    if (line >= endLine) return false;
    text += "\n" + lineAt(line);
  }
  const [inside, after] = text.split(right, 2);
  if (after.trim()) return false;
  if (!silent) {
    push(state, name ? left + inside + right : inside, true);
    state.line = line + 1;
  }
  return true;
}

function push(state, content, display) {
  const token = state.push("maths", "math", 0);
  token.content = content;
  token.meta = { display };
}

const PLAIN = wordsIn("p ul ol li blockquote table thead tbody tr th td em strong s");

// Tokens in a row become nodes inside each other.
function nodesOf(tokens) {
  /** @type {{ opened: any, children: any[] }[]} */
  const stack = [{ opened: null, children: [] }];
  const add = (node) => stack[stack.length - 1].children.push(node);
  for (const token of tokens) {
    if (token.nesting === 1) stack.push({ opened: token, children: [] });
    else if (token.nesting === -1) {
      const { opened, children } = /** @type {any} */ (stack.pop());
      add(element(token, children, opened));
    } else add(single(token));
  }
  return stack[0].children;
}

function element(token, children, opened) {
  if (token.type === "link_close") return h("span", { class: "link-text" }, children);
  if (token.type === "paragraph_close" && token.hidden) return children;
  if (token.tag === "table") return scrolling("div", { class: "scroll" }, h("table", null, children));
  // a heading of the model's is no part of the page's outline
  if (/^h[1-6]$/.test(token.tag)) return h("div", { class: "heading", dir: "auto" }, children);
  return PLAIN.has(token.tag)
    ? h(token.tag, { dir: "auto", style: aligned(opened) }, children)
    : h("span", null, children);
}

// The cells of a column stand as its head says: `---:` is on the right.
function aligned(opened) {
  const [, side] = /^text-align:(left|center|right)$/.exec((opened && opened.attrGet("style")) || "") || [];
  return side ? { textAlign: side } : null;
}

function single(token) {
  switch (token.type) {
    case "inline":
      return nodesOf(withAddresses(token.children));
    case "text":
    case "text_special":
      return token.content;
    case "softbreak":
    case "hardbreak":
      return h("br");
    case "code_inline":
      return h("code", null, token.content);
    case "fence":
      return code(token.content.replace(/\n$/, ""), token.info.trim().split(/\s+/)[0].toLowerCase());
    case "code_block":
      return code(token.content.replace(/\n$/, ""), "");
    case "hr":
      return h("hr");
    case "image":
      return picture(token.attrGet("src") || "", token.content);
    case "maths":
      return maths(token.content, token.meta.display);
    default:
      return token.content;
  }
}

// A link's address is shown, not followed: a model wrote it.
function withAddresses(tokens) {
  const open = [];
  return tokens.flatMap((token) => {
    if (token.type === "link_open") open.push(token.attrGet("href") || "");
    if (token.type !== "link_close") return [token];
    const address = open.pop();
    return [token, { type: "text", nesting: 0, content: address ? ` (${address})` : "" }];
  });
}

const MATHML = "http://www.w3.org/1998/Math/MathML";
const ELEMENTS = wordsIn(`
  math semantics mrow mi mn mo mtext mspace ms mfrac msqrt mroot mstyle merror mpadded mphantom menclose msub msup
  msubsup munder mover munderover mmultiscripts mtable mtr mtd mlabeledtr mglyph
`);
const ATTRIBUTES = wordsIn(`
  display displaystyle scriptlevel mathvariant fence stretchy symmetric separator form lspace rspace minsize
  maxsize accent accentunder movablelimits largeop linethickness columnalign rowalign columnspacing rowspacing
  columnlines rowlines frame width height depth voffset notation mathcolor mathbackground mathsize
`);

function wordsIn(text) {
  return new Set(text.trim().split(/\s+/));
}

function maths(text, display) {
  if (!window.katex) return h("code", null, text);
  try {
    const tree = window.katex.__renderToDomTree(text, {
      output: "mathml",
      displayMode: display,
      throwOnError: true,
      trust: false,
      strict: "ignore",
      maxExpand: 200,
      maxSize: 20,
    });
    return h("span", { class: display ? "maths display" : "maths", title: text }, tree.children.map(mathNode));
  } catch {
    return h("code", { class: "maths-raw" }, text);
  }
}

function mathNode(node) {
  if (typeof node.text === "string") return document.createTextNode(node.text);
  if (node.type === "annotation") return null;
  const children = (node.children || []).map(mathNode).filter(Boolean);
  if (!ELEMENTS.has(node.type)) return h("span", null, children);
  const made = document.createElementNS(MATHML, node.type);
  for (const [name, value] of Object.entries(node.attributes || {}))
    if (ATTRIBUTES.has(name)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}
