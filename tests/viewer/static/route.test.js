// Addresses: every place has a link, and the link leads back to the place, whatever a run is called.

import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.window = globalThis;
const { current, toCompare, toRun, toRuns, toSample, toSamples } =
  await import("../../../src/assay/viewer/static/route.js");

function at(hash) {
  globalThis.location = { hash };
  return current();
}

test("a link leads to the place it names", () => {
  for (const run of ["small", "a/b", "100% of it", "ü ?&#=", "..", "東京"]) {
    assert.equal(at(toRun(run)).run, run);
    assert.equal(at(toRun(run)).page, "overview");
    const sample = at(toSample(run, "k/1", { task: ["a", "b"], q: "x & y" }));
    assert.deepEqual([sample.page, sample.run, sample.key], ["sample", run, "k/1"]);
    assert.deepEqual(sample.params, { task: ["a", "b"], q: ["x & y"] });
  }
  assert.deepEqual(at(toCompare(["a", "b c"])).runs, ["a", "b c"]);
  assert.equal(at(toRuns()).page, "runs");
});

test("what is not set is not in the address", () => {
  assert.equal(toSamples("r", { q: "", task: [], low: null, high: undefined }), "#/run/r/samples");
});

test("an address that nobody wrote leads somewhere all the same", () => {
  assert.equal(at("").page, "runs");
  assert.equal(at("#/run/%E0%A4%A").run, "%E0%A4%A");
  assert.equal(at("#/compare").runs.length, 0);
  for (const view of ["nonsense", "runs", "compare", "constructor"])
    assert.equal(at(`#/run/r/${view}`).page, "unknown");
});
