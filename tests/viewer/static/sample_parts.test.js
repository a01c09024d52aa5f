// How the values of a scorer are written: shares with decimals, counts without.

import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.window = globalThis;
const { amountOf } = await import("../../../src/assay/viewer/static/sample_parts.js");

test("counts are whole and scores have decimals", () => {
  assert.equal(amountOf("questions", 2), "2");
  assert.equal(amountOf("score", 1), "1.000");
  assert.equal(amountOf("is_correct", 1), "1.000");
  assert.equal(amountOf("judge.score", 0), "0.000");
  assert.equal(amountOf("f1", 0.5), "0.500");
  assert.equal(amountOf("grade", "good"), "good");
});
