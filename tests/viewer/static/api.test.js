// Requests to the server, against a real one on loopback.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";

globalThis.window = globalThis;
const { get, messageOf, query } = await import("../../../src/assay/viewer/static/api.js");

const answers = {
  runs: [200, '{"runs": []}'],
  run: [404, '{"error": "there is no run x"}'],
  samples: [500, "Internal Server Error"],
  sample: [403, "this link has ended"],
};
const server = createServer((request, answer) => {
  const [status, body] = answers[new URL(request.url || "", "http://localhost").pathname.replace("/api/", "")];
  answer.writeHead(status).end(body);
});
await new Promise((done) => server.listen(0, "127.0.0.1", () => done(null)));
const base = `http://127.0.0.1:${/** @type {any} */ (server.address()).port}`;
const real = globalThis.fetch;
globalThis.fetch = (path, options) => real(base + path, options);
after(() => server.close());

test("an answer is its data, and a refusal its sentence", async () => {
  assert.deepEqual(await get("runs"), { runs: [] });
  await assert.rejects(get("run"), /there is no run x/);
  await assert.rejects(get("samples"), /the viewer answered with 500/);
  await assert.rejects(get("sample"), /this link has ended/);
});

test("lists are sent name by name, and what is not set is not sent", () => {
  assert.equal(query({ task: ["a", "b c"], q: "", low: null, offset: 0 }), "task=a&task=b+c&offset=0");
});

test("whatever was thrown has a message", () => {
  assert.equal(messageOf(new Error("broken")), "broken");
  assert.equal(messageOf("words"), "words");
});
