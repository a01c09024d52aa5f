// Search in an exported copy: as the server's full-text index finds words, over the records themselves.

// Scripts without blanks between words: matched anywhere in the text.
const UNSPACED = new RegExp(
  String.raw`[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff` +
    String.raw`\uff66-\uff9f\u{20000}-\u{3ffff}]+`,
  "gu",
);
const WORD = /[\p{L}\p{M}\p{N}]+/gu;

// Whether a text holds these words; in quotes next to each other, unfinished as the beginning of one.
export function holdsWords(text, { words, quoted, unfinished }) {
  const lowered = words.toLowerCase().replace(/"/g, " ");
  const phrases = lowered.match(UNSPACED) || [];
  const wanted = lowered.replace(UNSPACED, " ").match(WORD) || [];
  if (!phrases.length && !wanted.length) return false;
  if (quoted && wanted.length > 1) phrases.push(lowered.trim().replace(/\s+/g, " "));
  const known = new Set(text.match(WORD));
  const last = wanted.length - 1;
  const isOpen = unfinished && wanted.length > 0 && lowered.endsWith(wanted[last]);
  const has = (word, i) =>
    known.has(word) || (i === last && isOpen && word.length > 1 && [...known].some((each) => each.startsWith(word)));
  return wanted.every(has) && phrases.every((phrase) => text.includes(phrase));
}

// All text of a sample that can be searched, as on the server.
export function searchableText(record) {
  const { prompt, messages, prediction, items, completions } = record.trace || {};
  return texts([
    record.sample_id,
    record.last_request,
    prompt,
    messages,
    prediction,
    items,
    record.targets,
    record.metadata,
    (completions || []).map((each) => [each.reasoning, each.refusal, each.tool_calls]),
    (record.scores || []).map((each) => [each.answer, each.reason, each.metadata]),
    (record.failures || []).map((each) => [`${each.stage} ${each.kind}`, each.message]),
  ])
    .join("\n")
    .toLowerCase()
    .replace(/\s+/g, " ");
}

const NO_WORDS = new Set(["role", "type", "logprobs", "raw"]);

function texts(value) {
  if (typeof value === "string") return value.startsWith("data:") ? [] : [value];
  if (typeof value === "number") return [String(value)];
  if (Array.isArray(value)) return value.flatMap(texts);
  if (!value || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, inner]) => (NO_WORDS.has(name) ? [] : texts(inner)));
}
