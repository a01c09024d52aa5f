// Costs, times and sentences as the pages say them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { copyNote, lasted, moment, money, oneLineOf, plural } from "../../../src/assay/viewer/static/wording.js";

test("a noun has the number that its count has", () => {
  assert.equal(plural(1, "sample"), "1 sample");
  assert.equal(plural(2, "entry", "entries"), "2 entries");
});

test("a cost that nobody knows is not shown as nothing", () => {
  assert.equal(money(null), null);
  assert.equal(money({ value: null, judged: true, judges: 0.5, currency: "USD" }), "unknown + judges $0.5");
  assert.equal(money({ value: null, judged: true, judges: null, currency: "USD" }), "cost unknown");
  assert.equal(money({ value: 0, judged: true, judges: 0, currency: "USD" }), null, "what costs nothing has no cost");
  assert.equal(money({ value: 2, judged: false, currency: "USD" }), "$2.00");
});

test("a run has a start and a length, where both are known", () => {
  assert.equal(lasted("2026-11-17T12:00:00+00:00", Date.parse("2026-11-17T12:05:00Z") / 1000), "5 min");
  assert.equal(lasted("2026-11-17T12:00:00Z", 0), null);
  assert.match(moment("2026-11-17T12:00:00Z"), /^2026-11-1[678] \d\d:\d\d$/);
  assert.equal(moment("no time"), "");
});

test("one line is one line", () => {
  assert.equal(oneLineOf(" a\n b\tc "), "a b c");
  assert.equal(oneLineOf(null), "");
});

test("a copy that is cut says so, and a whole one says nothing", () => {
  assert.equal(copyNote({ summary: { rows: 5 }, omitted: 0 }), null);
  assert.equal(copyNote({ summary: { rows: 5 } }), null);
  assert.match(copyNote({ summary: { rows: 50000 }, omitted: 30000 }) || "", /the first 20,000 of 50,000 samples/);
});
