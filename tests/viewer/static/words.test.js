// Numbers, times and amounts as the pages say them.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  copyNote,
  count,
  interval,
  lasted,
  moment,
  money,
  number,
  oneLineOf,
  pValue,
  percent,
  plural,
  seconds,
  short,
  signed,
} from "../../../src/assay/viewer/static/words.js";

test("what is not there is a dash, and never a number", () => {
  for (const say of [number, signed, count, percent, seconds, short, pValue]) {
    assert.equal(say(null), "–");
    assert.equal(say(undefined), "–");
  }
  assert.equal(interval(null), "");
  assert.equal(interval({ low: null, high: null }), "");
});

test("a difference has its sign, and minus is a minus", () => {
  assert.equal(signed(0.25), "+0.250");
  assert.equal(signed(-0.25), "−0.250");
  assert.equal(signed(0), "±0.000");
  assert.equal(number(-1.5, 1), "−1.5");
});

test("times have the unit that can be read", () => {
  assert.equal(seconds(0.0001), "100 µs");
  assert.equal(seconds(0.25), "250 ms");
  assert.equal(seconds(12.34), "12.3 s");
  assert.equal(seconds(600), "10 min");
  assert.equal(seconds(9000), "2.5 h");
});

test("large counts are short, small ones whole", () => {
  assert.deepEqual([0, 999, 1500, 25000, 3e6].map(short), ["0", "999", "1.5 k", "25 k", "3.0 M"]);
  assert.equal(count(1234567), "1,234,567");
  assert.equal(plural(1, "sample"), "1 sample");
  assert.equal(plural(2, "entry", "entries"), "2 entries");
});

test("a share near one is not rounded up to one", () => {
  assert.equal(percent(0.999), "99.9 %");
  assert.equal(percent(1), "100 %");
});

test("a cost that nobody knows is not shown as nothing", () => {
  assert.equal(money(null), null);
  assert.equal(money({ value: null, judged: true, judges: 0.5, currency: "USD" }), "unknown + judges USD 0.5000");
  assert.equal(money({ value: null, judged: true, judges: null, currency: "USD" }), "cost unknown");
  assert.equal(money({ value: 0, judged: true, judges: 0, currency: "USD" }), null, "what costs nothing has no cost");
  assert.equal(money({ value: 2, judged: false, currency: "USD" }), "USD 2.00");
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

test("a p-value below what can be told is said to be below", () => {
  assert.equal(pValue(0.0001), "< 0.001");
  assert.equal(pValue(0.04), "0.040");
});

test("a copy that is cut says so, and a whole one says nothing", () => {
  assert.equal(copyNote({ summary: { rows: 5 }, omitted: 0 }), null);
  assert.equal(copyNote({ summary: { rows: 5 } }), null);
  assert.match(copyNote({ summary: { rows: 50000 }, omitted: 30000 }) || "", /the first 20,000 of 50,000 samples/);
});
