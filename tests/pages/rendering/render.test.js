// What is read as JSON, what is left as it stands, and what a preview shows of Markdown.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runInThisContext } from "node:vm";
import { jsonIn, withoutMarks } from "../../../src/assay/pages/rendering/render.js";

test("objects and lists are data, everything else is text", () => {
  assert.deepEqual(jsonIn(' {"a": [1, 2]} '), { a: [1, 2] });
  assert.deepEqual(jsonIn("[]"), []);
  for (const text of ["", "42", '"words"', "null", "{broken", "[1] and more"]) assert.equal(jsonIn(text), undefined);
});

test("a preview has no marks of Markdown, and nothing else is taken from it", () => {
  const vendored = new URL("../../../src/assay/pages/rendering/vendor/markdown-it.min.js", import.meta.url);
  globalThis.window = /** @type {any} */ (globalThis);
  runInThisContext(readFileSync(vendored, "utf8"));
  const cases = [
    ["### Result\n\nThe **answer** is `18`, or *so*.", "Result\nThe answer is 18, or so."],
    ["1. one\n2. two\n\n- three", "1. one\n2. two\n• three"],
    ["| x | y |\n|--:|---|\n| 1 | *two* |", "x · y\n1 · two"],
    ["so **$a*b*c$** holds", "so $a*b*c$ holds"],
    ["```python\nx = 2**3\n```", "x = 2**3"],
    ["see [the page](https://example.org/x)", "see the page"],
    ["a __name__ in prose", "a name in prose"],
  ];
  for (const [text, shown] of cases) assert.equal(withoutMarks(text), shown);
  const whole = [
    "3*60 = 180, and 30*2",
    "def f(x):\n    return x**2",
    '{"a": "**b**"}',
    "It costs $5.",
    "x_1 and x_2",
    "<b>raw</b>",
    "東京です。",
    "",
  ];
  for (const text of whole) assert.equal(withoutMarks(text), text);
});
