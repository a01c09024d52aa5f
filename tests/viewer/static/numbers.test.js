// Numbers in the browser are written as `text/numbers.py` writes them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as numbers from "../../../src/assay/viewer/static/numbers.js";

const CASES = JSON.parse(readFileSync(new URL("../../text/number_cases.json", import.meta.url), "utf8"));
const NAMES = { p_value: "pValue" };

for (const [name, given, text] of CASES) {
  test(`${name} of ${given} is ${text}`, () => assert.equal(numbers[NAMES[name] || name](...given), text));
}

test("where there is no interval there is nothing, so that a page can say why", () => {
  assert.equal(numbers.interval(null), "");
  assert.equal(numbers.interval({ low: null, high: null }), "");
  assert.equal(numbers.interval({ low: -0.5, high: 0.25 }), "-0.500 – 0.250");
});
