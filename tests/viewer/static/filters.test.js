// The state of the filter bar: what the address says, and nothing that is not set.

import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.window = globalThis;
const { paramsOf, stateOf } = await import("../../../src/assay/viewer/static/filters.js");

test("an address becomes a state and a state the same address", () => {
  const params = { task: ["a", "b"], outcome: ["wrong"], q: ["duck"], low: ["0.5"], offset: ["200"] };
  const state = stateOf(params);
  assert.deepEqual(state.task, ["a", "b"]);
  assert.equal(state.q, "duck");
  assert.deepEqual(
    stateOf(Object.fromEntries(Object.entries(paramsOf(state)).map(([k, v]) => [k, [v].flat()]))),
    state,
  );
});

test("what is not set is left out", () => {
  assert.deepEqual(paramsOf(stateOf({})), {});
});
