// An exported site has no server: tables are filtered and counted here, over data files that are loaded when needed.
// Means and intervals are not computed here: they are in the data files, or they are not shown.

import { compile, parse, schemaOf, textsOf } from "./query.js";
import { holdsWords, searchableText } from "./static_search.js";

export async function staticGet(what, params) {
  const list = await load("runs");
  if (what === "runs") return list;
  if (what === "compare") return compared(list, params.run);
  if (what === "charts") return charts(list, all(params.run));
  if (what === "history") return histories(params);
  const file = fileOf(list, first(params.run));
  if (what === "run") return load(file);
  if (what === "marks") return load(`${file}-marks`);
  if (what === "slices") return (await load(file)).slices[params.by];
  if (what === "sample") return oneSample(list, file, first(params.key), all(params.against));
  if (what === "samples" && all(params.run).length > 1) return together(list, all(params.run), params);
  const rows = await chosen(list, file, params);
  if (what === "neighbours") return neighbours(rows, first(params.key));
  return {
    ...pageOf(rows, params),
    summary: { ...counts(rows), ...scoreOf(await load(file), rows, params) },
    histogram: bins(
      rows.map((row) => valueOf(row, first(params.value) || "score")),
      first(params.value),
    ),
    ...(first(params.q) ? { search: { reach: 1, whole: true } } : {}),
  };
}

// The samples of several runs in one table.
async function together(list, names, params) {
  const runs = await Promise.all(
    names.map(async (name) => {
      const { model } = list.runs.find((each) => each.name === name) || {};
      const rows = await chosen(list, fileOf(list, name), { ...params, sort: "order", dir: "" }, names);
      return { name, model, rows, run: await load(fileOf(list, name)) };
    }),
  );
  const every = runs.flatMap(({ name, model, rows }) => rows.map((row) => ({ run: name, model, ...row })));
  const rows = sorted(every, fieldOf(first(params.sort) || "order"), first(params.dir) === "desc");
  return {
    ...pageOf(rows, params),
    runs: runs.map(({ name, model, rows, run }) => ({
      run: name,
      model,
      ...counts(rows),
      ...scoreOf(run, rows, params),
    })),
  };
}

function pageOf(rows, params) {
  const offset = Number(first(params.offset) || 0);
  return { total: rows.length, offset, rows: rows.slice(offset, offset + Number(first(params.limit) || 100)) };
}

const FILTERS = ["task", "outcome", "failure", "meta", "low", "high", "q", "flip", "mark"];

// The mean of exactly these rows, where the exporter wrote it: of all samples, of a task, of an outcome, of a label.
function scoreOf(run, rows, params) {
  const filters = FILTERS.flatMap((name) =>
    all(params[name])
      .filter((value) => value !== "")
      .map((value) => [name, value]),
  );
  if (rows.length === run.summary.rows) return { score: run.summary.score };
  const slice = filters.length === 1 ? sliceOf(run.slices, ...filters[0]) : null;
  if (slice && slice.rows === rows.length) return { score: slice.score };
  return { score: null, uncounted: "an exported copy has no mean for this selection; assay view computes it" };
}

function sliceOf(slices, name, value) {
  const at = value.indexOf("=");
  const [by, wanted] = name === "meta" ? [value.slice(0, at), value.slice(at + 1)] : [name, value];
  if (!["task", "outcome", "meta"].includes(name) || !slices[by]) return null;
  return slices[by].slices.find((each) => each.known && each.value === wanted) || null;
}

function counts(rows) {
  const outcomes = {};
  for (const row of rows) outcomes[row.outcome] = (outcomes[row.outcome] || 0) + 1;
  const sum = (name) => rows.reduce((total, row) => total + (row[name] || 0), 0);
  return {
    rows: rows.length,
    outcomes,
    tokens_in: sum("tokens_in"),
    tokens_out: sum("tokens_out"),
    seconds: rows.length ? sum("seconds") / rows.length : null,
  };
}

function bins(values, name) {
  const there = values.filter((value) => value !== null);
  if (!there.length) return null;
  const bounded = !name || name === "score" || /\.(score|is_correct)$/.test(name);
  const low = there.reduce((a, b) => Math.min(a, b), bounded ? 0 : Infinity);
  let high = there.reduce((a, b) => Math.max(a, b), bounded ? 1 : -Infinity);
  if (high <= low) high = low + 1;
  const binned = new Array(20).fill(0);
  for (const value of there) binned[Math.min(19, Math.floor(((value - low) / (high - low)) * 20))]++;
  const edges = Array.from({ length: 21 }, (_, i) => Number((low + ((high - low) * i) / 20).toFixed(9)));
  return { low, high, counts: binned, edges, n: there.length };
}

const first = (value) => (Array.isArray(value) ? value[0] : value) ?? "";
const all = (value) => (value === undefined ? [] : Array.isArray(value) ? value : [value]);
const loading = {};

function load(name) {
  loading[name] ||= new Promise((resolve, reject) => {
    if (window.ASSAY_STATIC[name]) return resolve(window.ASSAY_STATIC[name]);
    const script = document.createElement("script");
    script.src = `data/${name}.js`;
    script.onload = () => resolve(window.ASSAY_STATIC[name]);
    script.onerror = () => reject(new Error(`the file data/${name}.js is missing from this copy`));
    document.head.append(script);
  });
  return loading[name];
}

function fileOf(list, name) {
  const run = list.runs.find((each) => each.name === name);
  if (!run || !run.file) throw new Error(`there is no run ${name} in this copy`);
  return run.file;
}

async function charts(list, names) {
  const files = names.map((name) => fileOf(list, name));
  if (files.length === 1) return load(`${files[0]}-charts`);
  try {
    return await load(`charts-${files.map((file) => file.slice(1)).join("-")}`);
  } catch {
    return { charts: [], reason: "this copy holds charts of every two of its first eight runs, and of all of them" };
  }
}

async function histories(params) {
  const loaded = await load("history");
  if (!["task", "model", "baseline"].some((name) => first(params[name]))) return loaded;
  return { ...loaded, histories: [], reason: "an exported copy holds the histories of whole task sets only" };
}

async function compared(list, names) {
  const comparisons = await load(`${fileOf(list, names[0])}-compare`);
  const pairs = names.slice(1).map((name) => comparisons[name]);
  if (pairs.includes(undefined)) throw new Error("this copy holds comparisons of its first eight runs only");
  return { runs: names, pairs, level: pairs[0].level };
}

async function oneSample(list, file, key, against) {
  const row = (await load(`${file}-rows`)).find((each) => each.key === key);
  if (!row) throw new Error(`there is no sample with the key ${key} in this copy`);
  const others = {};
  for (const name of against) {
    const same = (await load(`${fileOf(list, name)}-rows`)).find(
      (each) => each.id === row.id && each.task === row.task && each.attempt === row.attempt,
    );
    others[name] = same ? same.key : null;
  }
  return { ...(await load(`${file}-s${row.chunk}`))[key], others };
}

function neighbours(rows, key) {
  const at = rows.findIndex((row) => row.key === key);
  const keyAt = (i) => (rows[i] ? rows[i].key : null);
  return at < 0
    ? { position: null, total: rows.length, previous: null, next: keyAt(0) }
    : { position: at, total: rows.length, previous: keyAt(at - 1), next: keyAt(at + 1) };
}

async function chosen(list, file, params, names = []) {
  // a query may name a field that only one of the runs has
  const fields = await Promise.all([file, ...names.map((name) => fileOf(list, name))].map(load));
  let rows = await load(`${file}-rows`);
  const others = await Promise.all(all(params.against).map((name) => load(`${fileOf(list, name)}-rows`)));
  if (others.length) rows = joined(rows, others);
  const query = queryOf(params);
  const texts = textsOf(query).length ? await searchTexts(file, rows) : new Map();
  const schema = schemaOf([...fields.flatMap((run) => run.fields), ...chosenFields(params)]);
  const kept = rows.filter(compile(query, schema, (row, text) => holdsWords(texts.get(row.key), text)));
  return sorted(kept, fieldOf(first(params.sort) || "order"), first(params.dir) === "desc");
}

// The chosen filters and the typed query as one query, as on the server.
export function queryOf(params) {
  const given = (name) => all(params[name]).filter((value) => value !== "");
  const value = (text) => ({ text, quoted: true, at: 0 });
  const compare = (field, sign, values) => ({ type: "compare", field, sign, values, at: 0 });
  const parts = [];
  for (const name of ["task", "outcome", "failure", "flip", "mark"]) {
    if (given(name).length) parts.push(compare(name, ":", given(name).map(value)));
  }
  for (const pair of given("meta")) {
    const at = pair.indexOf("=");
    parts.push(compare(fieldOf(pair.slice(0, at), true), ":", [value(pair.slice(at + 1))]));
  }
  for (const [name, sign] of [
    ["low", ">="],
    ["high", "<="],
  ]) {
    const field = fieldOf(first(params.value) || "score");
    if (given(name).length) parts.push(compare(field, sign, [{ text: given(name)[0], quoted: false, at: 0 }]));
  }
  const typed = parse(first(params.q));
  if (typed) parts.push(typed);
  return parts.length ? { type: "and", parts } : null;
}

// A field by the name that addresses have for it.
function fieldOf(key, isMetadata = false) {
  const [, kind, name] = /^(value|label):(.*)$/s.exec(key) || [];
  if (kind) return name;
  return isMetadata && !key.startsWith("sample.") ? `metadata.${key}` : key;
}

// Keys that were chosen, which no sample may have.
const chosenFields = (params) =>
  all(params.meta).map((pair) => ({ name: fieldOf(pair.slice(0, pair.indexOf("=")), true), kind: "text" }));

async function searchTexts(file, rows) {
  const texts = new Map();
  for (const chunk of new Set(rows.map((row) => row.chunk))) {
    for (const [key, sample] of Object.entries(await load(`${file}-s${chunk}`)))
      texts.set(key, searchableText(sample.record));
  }
  return texts;
}

function joined(rows, others) {
  const same = (row) => `${row.task}\u0000${row.id}\u0000${row.attempt}`;
  const maps = others.map((other) => new Map(other.map((row) => [same(row), row])));
  return rows.map((row) => {
    const there = maps.map((map) => map.get(same(row)) || null).map((other) => other && withAnswer(row, other));
    return { ...row, others: there, fields: { ...row.fields, flip: flips(there.map((other) => movedTo(row, other))) } };
  });
}

const withAnswer = (row, other) => ({ ...other, same_answer: other.said === row.said });

// An attempt with another answer key compares nothing.
function movedTo(row, other) {
  return other && other.targets === row.targets && other.worth !== null && row.worth !== null
    ? other.worth - row.worth
    : null;
}

function flips(moved) {
  if (moved.every((each) => each === 0)) return ["same"];
  const directions = [];
  if (moved.some((each) => each > 0)) directions.push("better");
  if (moved.some((each) => each < 0)) directions.push("worse");
  return directions.length ? [...directions, "flipped"] : [];
}

function valueOf(row, name) {
  const value = row.fields[fieldOf(name)] ?? row[name];
  return value === null || value === undefined ? null : typeof value === "number" ? value : (value.n ?? null);
}

function sorted(rows, sort, down) {
  if (sort === "order" || sort === "written") return down ? [...rows].reverse() : rows;
  const key = (row) => (sort === "changed" ? movedTo(row, row.others[0]) : valueOf(row, sort));
  return rows
    .map((row, i) => [key(row), i, row])
    .sort(([a, i], [b, j]) =>
      a === null || b === null ? Number(a === null) - Number(b === null) || i - j : (down ? b - a : a - b) || i - j,
    )
    .map(([, , row]) => row);
}
