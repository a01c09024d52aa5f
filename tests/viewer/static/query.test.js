// The query language in the page: the cases that the server's engine is held to as well, and completion.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

globalThis.window = globalThis;
const { QueryError, compile, complete, parse, schemaOf, textsOf } =
  await import("../../../src/assay/viewer/static/query.js");
const { holdsWords, searchableText } = await import("../../../src/assay/viewer/static/static_search.js");

const read = (name) => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), "utf8"));
const { cases, errors, records } = read("query_cases.json");
const texts = new Map(records.map((record) => [record.key, searchableText(record)]));
// what an exported copy holds of the records of those cases; tests/viewer/test_export.py keeps it up to date
const { fields, rows } = read("query_rows.json");
const schema = schemaOf(fields);

function found(text) {
  const holds = compile(parse(text), schema, (row, words) => holdsWords(texts.get(row.key.slice(-2)), words));
  return rows.filter(holds).map((row) => row.key.slice(-2));
}

for (const { query, keys } of cases) {
  test(`finds: ${query}`, () => assert.deepEqual(found(query), keys));
}

for (const { query, at } of errors) {
  test(`refuses: ${query}`, () =>
    assert.throws(
      () => found(query),
      (error) => error instanceof QueryError && error.at === at,
    ));
}

test("words are told from comparisons", () => {
  assert.deepEqual(
    textsOf(parse('task:x and (duck or "two words")')).map((each) => each.words),
    ["duck", "two words"],
  );
});

const offered = (text, caret = text.length) => (complete(text, caret, fields)?.options || []).map((each) => each.text);

test("fields and values are completed where the caret is", () => {
  assert.ok(offered("sco").includes("score"));
  assert.deepEqual(offered("task:g"), ["gsm8k"]);
  assert.deepEqual(offered("outcome:wr"), ["wrong"]);
  assert.deepEqual(offered("outcome:wrong,ti"), ["timeout", "partial"]);
  assert.ok(offered("not (met").includes("metadata.topic:"));
  assert.deepEqual(offered("metadata.topic:od"), ['"odd topic"']);
  assert.deepEqual(offered("task:g and score<1", 6), ["gsm8k"]);
  assert.deepEqual(offered('"tas'), []);
  assert.deepEqual(complete("score<1 and ta", 14, fields).from, 12);
});
