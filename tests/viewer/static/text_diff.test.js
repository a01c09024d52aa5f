// Where two texts differ: words, not letters, and both texts can be put together again.

import assert from "node:assert/strict";
import { test } from "node:test";
import { likeness, otherwise, textDiff } from "../../../src/assay/viewer/static/text_diff.js";

const side = (parts, without) =>
  parts
    .filter(([kind]) => kind !== without)
    .map(([, text]) => text)
    .join("");

test("what differs is a word, not the letters that two words share", () => {
  assert.deepEqual(textDiff("a green square", "a red square"), [
    ["same", "a "],
    ["removed", "green"],
    ["added", "red"],
    ["same", " square"],
  ]);
});

test("both texts can be put together again from the parts", () => {
  const pairs = [
    ["", "something"],
    ["the cat sat", "the dog sat down"],
    ["東京 は 首都", "京都 は 古都"],
    ["a\n\nb", "a b"],
  ];
  for (const [a, b] of pairs) {
    const parts = textDiff(a, b);
    assert.ok(parts);
    assert.equal(side(parts, "added"), a);
    assert.equal(side(parts, "removed"), b);
  }
});

test("texts that are too long for it are not compared", () => {
  assert.equal(textDiff("x".repeat(60000), "y"), null);
  assert.equal(textDiff("a ".repeat(2000), "b ".repeat(2000)), null);
  assert.ok(textDiff("a ".repeat(9000) + "x", "a ".repeat(9000) + "y"));
});

test("the nearest target is the one that shares most words", () => {
  const targets = ["a blue circle", "a red square", "nothing"];
  const nearest = targets.sort((a, b) => likeness("one red square", b) - likeness("one red square", a))[0];
  assert.equal(nearest, "a red square");
  assert.equal(likeness("same", "same"), 2);
});

test("what leads to a difference begins with a whole word", () => {
  const long = "a number of downloads in the second month and in the third month that adds up to 126+240 = ";
  const [[, before], [differs, after]] = otherwise(long + "366", long + "363");
  assert.equal(before, " … third month that adds up to 126+240 = ");
  assert.deepEqual([differs, after], [true, "363"]);
});
