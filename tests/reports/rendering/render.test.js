// What is read as JSON, and what is left as it stands.

import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonIn } from "../../../src/assay/reports/rendering/render.js";

test("objects and lists are data, everything else is text", () => {
  assert.deepEqual(jsonIn(' {"a": [1, 2]} '), { a: [1, 2] });
  assert.deepEqual(jsonIn("[]"), []);
  for (const text of ["", "42", '"words"', "null", "{broken", "[1] and more"]) assert.equal(jsonIn(text), undefined);
});
