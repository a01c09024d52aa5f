// An exported site has no server: tables are filtered and counted here, over data files that are loaded when needed.
// Means and intervals are not computed here: they are in the data files, or they are not shown.

export async function staticGet(what, params) {
  const list = await load("runs");
  if (what === "runs") return list;
  if (what === "compare") return compared(list, params.run);
  const file = fileOf(list, first(params.run));
  if (what === "run") return load(file);
  if (what === "marks") return load(`${file}-marks`);
  if (what === "slices") return (await load(file)).slices[params.by];
  if (what === "sample") return oneSample(list, file, first(params.key), all(params.against));
  const rows = await chosen(list, file, params);
  if (what === "neighbours") return neighbours(rows, first(params.key));
  const offset = Number(first(params.offset) || 0);
  return {
    total: rows.length,
    offset,
    rows: rows.slice(offset, offset + Number(first(params.limit) || 100)),
    summary: { ...counts(rows), ...scoreOf(await load(file), rows, params) },
    histogram: bins(
      rows.map((row) => valueOf(row, first(params.value) || "score")),
      first(params.value),
    ),
    ...(first(params.q) ? { search: { reach: 1, whole: true } } : {}),
  };
}

const FILTERS = ["task", "outcome", "failure", "meta", "low", "high", "q", "flip", "mark"];

// The mean of exactly these rows, where the exporter wrote it: of all samples, of a task, of an outcome, of a label.
function scoreOf(run, rows, params) {
  const asked = FILTERS.flatMap((name) =>
    all(params[name])
      .filter((value) => value !== "")
      .map((value) => [name, value]),
  );
  if (rows.length === run.summary.rows) return { score: run.summary.score };
  const slice = asked.length === 1 ? sliceOf(run.slices, ...asked[0]) : null;
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
  const found = new Array(20).fill(0);
  for (const value of there) found[Math.min(19, Math.floor(((value - low) / (high - low)) * 20))]++;
  const edges = Array.from({ length: 21 }, (_, i) => Number((low + ((high - low) * i) / 20).toFixed(9)));
  return { low, high, counts: found, edges, n: there.length };
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

async function compared(list, names) {
  const found = await load(`${fileOf(list, names[0])}-compare`);
  const pairs = names.slice(1).map((name) => found[name]);
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

async function chosen(list, file, params) {
  let rows = await load(`${file}-rows`);
  const others = await Promise.all(all(params.against).map((name) => load(`${fileOf(list, name)}-rows`)));
  if (others.length) rows = joined(rows, others);
  const hits = first(params.q).trim() ? await search(file, rows, first(params.q)) : null;
  const [low, high] = [first(params.low), first(params.high)];
  const value = first(params.value) || "score";
  const tests = [
    [params.task, (row, wanted) => wanted.includes(row.task)],
    [params.outcome, (row, wanted) => wanted.includes(row.outcome)],
    [params.failure, (row, wanted) => wanted.includes(row.kind)],
    [
      params.meta,
      (row, wanted) =>
        wanted.every((pair) => labelOf(row, pair.slice(0, pair.indexOf("="))) === pair.slice(pair.indexOf("=") + 1)),
    ],
    [low, (row) => (valueOf(row, value) ?? -Infinity) >= Number(low)],
    [high, (row) => (valueOf(row, value) ?? Infinity) <= Number(high)],
    [params.flip, (row, [flip]) => flipped(row, flip)],
    [params.mark, (row, [mark]) => marked(row, mark)],
  ].filter(([wanted]) => all(wanted).some((each) => each !== ""));
  const kept = rows.filter(
    (row) => (!hits || hits.has(row.key)) && tests.every(([wanted, holds]) => holds(row, all(wanted))),
  );
  return sorted(kept, first(params.sort) || "order", first(params.dir) === "desc");
}

function joined(rows, others) {
  const same = (row) => `${row.task}\u0000${row.id}\u0000${row.attempt}`;
  const maps = others.map((other) => new Map(other.map((row) => [same(row), row])));
  return rows.map((row) => ({ ...row, others: maps.map((map) => map.get(same(row)) || null) }));
}

function labelOf(row, key) {
  const value = key.startsWith("label:") ? row.values[key.slice(6)] : row.metadata[key];
  return value === undefined ? undefined : typeof value === "string" ? value : JSON.stringify(value);
}

function valueOf(row, name) {
  const value = name.startsWith("value:") ? row.values[name.slice(6)] : row[name];
  return value === null || value === undefined ? null : Number(value);
}

// An attempt with another answer key compares nothing.
function movedTo(row, other) {
  return other && other.targets === row.targets && other.worth !== null && row.worth !== null
    ? other.worth - row.worth
    : null;
}

function flipped(row, flip) {
  const moved = row.others.map((other) => movedTo(row, other));
  if (flip === "same") return moved.every((each) => each === 0);
  return moved.some(
    (each) => each !== null && (flip === "better" ? each > 0 : flip === "worse" ? each < 0 : each !== 0),
  );
}

function marked(row, wanted) {
  if (wanted === "none") return row.mark === null;
  if (wanted === "disagree") return row.disagrees;
  return wanted === "any" ? row.mark !== null : row.mark === wanted;
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

// Scripts without blanks between words: looked for as they stand, wherever they stand.
const UNSPACED = new RegExp(
  String.raw`[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff` +
    String.raw`\uff66-\uff9f\u{20000}-\u{3ffff}]+`,
  "gu",
);
const WORD = /[\p{L}\p{M}\p{N}]+/gu;

async function search(file, rows, query) {
  const asked = query.toLowerCase();
  const quoted = [...asked.matchAll(/"([^"]+)"/g)].map((found) => found[1].split(/\s+/).join(" "));
  quoted.push(...(asked.match(UNSPACED) || []));
  const words = asked.replace(UNSPACED, " ").match(WORD) || [];
  const openEnded = /[\p{L}\p{M}\p{N}]$/u.test(asked);
  const found = new Set();
  for (const chunk of new Set(rows.map((row) => row.chunk))) {
    for (const [key, sample] of Object.entries(await load(`${file}-s${chunk}`))) {
      const text = saidIn(sample.record).toLowerCase().replace(/\s+/g, " ");
      const known = new Set(text.match(WORD));
      const last = words.length - 1;
      const has = (word, i) =>
        known.has(word) || (i === last && openEnded && [...known].some((each) => each.startsWith(word)));
      if (words.every(has) && quoted.every((phrase) => text.includes(phrase))) found.add(key);
    }
  }
  return found;
}

// Everything in words about a sample, as the server's search has it.
function saidIn(record) {
  const { prompt, messages, prediction, items, completions } = record.trace || {};
  return texts([
    record.sample_id,
    record.asked,
    prompt,
    messages,
    prediction,
    items,
    record.targets,
    record.metadata,
    (completions || []).map((each) => [each.reasoning, each.refusal, each.tool_calls]),
    (record.scores || []).map((each) => [each.answer, each.reason, each.metadata]),
    (record.failures || []).map((each) => [`${each.stage} ${each.kind}`, each.message]),
  ]).join("\n");
}

const NO_WORDS = new Set(["role", "type", "logprobs", "raw"]);

function texts(value) {
  if (typeof value === "string") return value.startsWith("data:") ? [] : [value];
  if (typeof value === "number") return [String(value)];
  if (Array.isArray(value)) return value.flatMap(texts);
  if (!value || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, inner]) => (NO_WORDS.has(name) ? [] : texts(inner)));
}
