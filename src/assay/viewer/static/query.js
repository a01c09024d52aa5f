// The query language, as `assay/results/query` has it: read, completed, and, in an exported copy, evaluated row by row.
// Its meaning is specified by the cases in tests/viewer/query_cases.json; both engines are tested with them.

const SIGNS = ["!=", "<=", ">=", ":", "=", "<", ">"];
const ORDERING = ["<", "<=", ">", ">="];
const WORD = /(?:[^\s()":=<>!,]|!(?!=))+/y;
const VALUE = /[^\s()",]+/y;
const QUOTED = /"((?:[^"\\]|\\.)*)"/sy;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const LONGEST = 8000;
const DEEPEST = 40;
const WANTED = "a comparison such as score<1, or a word";

export class QueryError extends Error {
  constructor(message, at) {
    super(`the query, column ${at + 1}: ${message}`);
    this.at = at;
  }
}

// A query as nested objects; null where the text is blank.
export function parse(text) {
  if (text.length > LONGEST) throw new QueryError(`a query holds at most ${LONGEST} characters`, LONGEST);
  const reader = new Reader(text);
  if (reader.ended()) return null;
  const tree = reader.anyOf(0);
  if (!reader.ended()) throw new QueryError("this `)` closes nothing; remove it, or open it with `(`", reader.at);
  return tree;
}

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  ended() {
    this.match(/[\s,]*/y);
    return this.at === this.text.length;
  }

  anyOf(depth) {
    const parts = [this.allOf(depth)];
    while (this.keyword("or")) parts.push(this.allOf(depth));
    return parts.length === 1 ? parts[0] : { type: "or", parts };
  }

  allOf(depth) {
    const parts = [this.one(depth)];
    while (this.keyword("and") || !(this.ended() || this.text[this.at] === ")" || this.sees("or"))) {
      parts.push(this.one(depth));
    }
    return parts.length === 1 ? parts[0] : { type: "and", parts };
  }

  one(depth) {
    if (depth > DEEPEST) throw new QueryError(`more than ${DEEPEST} brackets or \`not\` inside each other`, this.at);
    if (this.keyword("not")) return { type: "not", part: this.one(depth + 1) };
    if (this.ended()) throw new QueryError(`expected ${WANTED} at the end of the query`, this.at);
    if (this.text[this.at] !== "(") return this.comparedOrSearched();
    const opened = this.at++;
    const inside = this.anyOf(depth + 1);
    if (this.ended()) throw new QueryError("this `(` is never closed; add a `)`", opened);
    this.at++;
    return inside;
  }

  comparedOrSearched() {
    const at = this.at;
    const word = this.sees("and", "or", "not");
    if (word) {
      throw new QueryError(`expected ${WANTED} before \`${word}\`; to look for the word, put it in quotes`, at);
    }
    const [field, quoted] = this.name();
    const ends = this.at;
    if (!quoted) this.match(/\s*/y);
    const sign = SIGNS.find((each) => this.text.startsWith(each, this.at));
    if (!sign) {
      this.at = ends;
      return { type: "text", words: field, quoted, unfinished: !quoted && ends === this.text.length, at };
    }
    this.at += sign.length;
    const values = [this.value(sign)];
    while (!ORDERING.includes(sign) && this.text[this.at] === ",") {
      this.at++;
      values.push(this.value(sign));
    }
    return { type: "compare", field, sign, values, at };
  }

  // A word or a text in quotes; metadata."odd key" is one name.
  name() {
    const begins = this.at;
    const parts = [];
    let quoted;
    do {
      quoted = this.text[this.at] === '"';
      parts.push(quoted ? this.quoted() : this.word());
    } while (quoted ? this.text[this.at] === "." : this.text[this.at - 1] === "." && this.text[this.at] === '"');
    if (!parts.some(Boolean)) throw new QueryError("there is nothing between these quotes", begins);
    return [parts.join(""), quoted && parts.length === 1];
  }

  word() {
    const match = this.match(WORD);
    if (match) return match[0];
    const rest = this.text[this.at];
    if (rest === ")") throw new QueryError(`expected ${WANTED} before this \`)\``, this.at);
    throw new QueryError(`expected a field before \`${rest}\`, as in score<1; texts go in quotes`, this.at);
  }

  value(sign) {
    this.match(/\s*/y);
    const at = this.at;
    if (this.text[at] === '"') return { text: this.quoted(), quoted: true, at };
    const match = this.match(VALUE);
    if (!match) throw new QueryError(`expected a value after \`${sign}\``, at);
    return { text: match[0], quoted: false, at };
  }

  quoted() {
    const match = this.match(QUOTED);
    if (!match) throw new QueryError('this quote is never closed; add a `"`', this.at);
    return match[1].replace(/\\(.)/gs, "$1");
  }

  keyword(word) {
    const seen = this.sees(word);
    this.at += seen ? seen.length : 0;
    return seen !== null;
  }

  sees(...words) {
    this.match(/[\s,]*/y);
    WORD.lastIndex = this.at;
    const match = WORD.exec(this.text);
    return match && words.includes(match[0].toLowerCase()) ? match[0] : null;
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.text);
    if (match) this.at = pattern.lastIndex;
    return match;
  }
}

// Everything that the query looks for in words.
export function textsOf(query) {
  if (!query) return [];
  if (query.type === "text") return [query];
  return query.type === "compare" ? [] : (query.parts || [query.part]).flatMap(textsOf);
}

// The fields by every name they have, in the order in which names win.
export function schemaOf(fields) {
  const known = new Map();
  for (const each of fields) if (!known.has(each.name)) known.set(each.name, each);
  for (const each of fields) for (const name of each.also || []) if (!known.has(name)) known.set(name, each);
  return known;
}

const find = (schema, name) => schema.get(name) || schema.get(`metadata.${name.replace(/^meta\./, "")}`) || null;

// A test for rows, each of which has its values in `fields`; `holds(row, text)` looks for words in a row.
export function compile(query, schema, holds) {
  if (!query) return () => true;
  if (query.type === "text") return (row) => holds(row, query);
  if (query.type === "not") {
    const part = compile(query.part, schema, holds);
    return (row) => !part(row);
  }
  if (query.type === "compare") return compared(query, schema);
  const parts = query.parts.map((part) => compile(part, schema, holds));
  return query.type === "and" ? (row) => parts.every((part) => part(row)) : (row) => parts.some((part) => part(row));
}

function compared(query, schema) {
  const field = find(schema, query.field);
  if (!field) {
    const message = `there is no field \`${query.field}\` here. A text to look for goes in quotes`;
    throw new QueryError(message, query.at);
  }
  if (ORDERING.includes(query.sign)) return ordered(query, field, schema);
  const tests = query.values.map((value) => {
    const other = otherOf(field, query.sign, value, schema);
    return other ? same(field, other, value) : equal(field, value);
  });
  const others = query.values.map((value) => otherOf(field, query.sign, value, schema)).filter(Boolean);
  const hit = (row) => tests.some((test) => test(row));
  if (query.sign !== "!=") return hit;
  return (row) => [field, ...others].every((each) => isPresent(row, each)) && !hit(row);
}

function ordered(query, field, schema) {
  if (field.kind === "text" || field.kind === "choice") {
    throw new QueryError(`\`${field.name}\` holds texts, which have no order; use \`:\`, \`=\` or \`!=\``, query.at);
  }
  const [value] = query.values;
  const other = otherOf(field, query.sign, value, schema);
  const wanted = other ? null : wantedNumber(field, value);
  const compare = { "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b }[
    query.sign
  ];
  return (row) => {
    const [left, right] = [numberIn(row, field), other ? numberIn(row, other) : wanted];
    return left !== null && right !== null && compare(left, right);
  };
}

// The field that stands on the right, where one does: judge!=rule.
function otherOf(field, sign, value, schema) {
  if (sign === ":" || value.quoted || numberOf(value.text) !== null) return null;
  const other = find(schema, value.text);
  const asText = !ORDERING.includes(sign) && (field.kind === "choice" || field.kind === "any");
  if (!other || other.kind === "choice" || (asText && !value.text.includes("."))) return null;
  return other;
}

function equal(field, value) {
  if (value.text === "*" && !value.quoted) return (row) => isPresent(row, field);
  if (field.kind === "number") {
    const wanted = wantedNumber(field, value);
    return (row) => numberIn(row, field) === wanted;
  }
  const parts = value.quoted ? [value.text] : value.text.split("*");
  if (field.kind === "choice" && parts.length === 1 && !field.values.includes(value.text)) {
    const known = field.values.join(", ");
    throw new QueryError(`\`${field.name}\` is never \`${value.text}\`. It is one of: ${known}`, value.at);
  }
  const wanted = field.kind === "any" ? numberOf(value.text) : null;
  return (row) =>
    (wanted !== null && numberIn(row, field) === wanted) ||
    textsIn(row, field).some((text) => (parts.length === 1 ? text === value.text : isLike(text, parts)));
}

function same(field, other, value) {
  if (field.kind === "number" || other.kind === "number") {
    return (row) => numberIn(row, field) !== null && numberIn(row, field) === numberIn(row, other);
  }
  const few = ["task", "id", "run", "model", "failure", "key", "attempts"];
  if (few.includes(field.name) || few.includes(other.name)) {
    const message = `\`${field.name}\` and \`${other.name}\` cannot be compared`;
    throw new QueryError(`${message}; put \`${value.text}\` in quotes for the text`, value.at);
  }
  return (row) => textsIn(row, field).some((text) => textsIn(row, other).includes(text));
}

function wantedNumber(field, value) {
  const number = value.quoted ? null : numberOf(value.text);
  if (number === null) {
    const wanted = "a number such as 0.5, or another field";
    throw new QueryError(`\`${field.name}\` is compared with ${wanted}, got \`${value.text}\``, value.at);
  }
  return number;
}

function numberOf(text) {
  if (text === "true" || text === "false") return Number(text === "true");
  const number = NUMBER.test(text) ? Number(text) : NaN;
  return Number.isFinite(number) ? number : null;
}

// A value is a number, a text, several texts, or a number n that is also written as texts t.
function numberIn(row, field) {
  const value = row.fields[field.name];
  if (value === undefined || value === null) return null;
  return typeof value === "number" ? value : (value.n ?? null);
}

function textsIn(row, field) {
  const value = field.name === "key" ? row.key : row.fields[field.name];
  if (value === undefined || value === null || typeof value === "number") return [];
  return typeof value === "string" ? [value] : Array.isArray(value) ? value : value.t;
}

const isPresent = (row, field) => numberIn(row, field) !== null || textsIn(row, field).length > 0;

// Begins with the first part, ends with the last, and holds the others between, in this order.
function isLike(text, parts) {
  const [head, tail] = [parts[0], parts[parts.length - 1]];
  const end = text.length - tail.length;
  let at = head.length;
  if (at > end || !text.startsWith(head) || !text.endsWith(tail)) return false;
  for (const part of parts.slice(1, -1)) {
    const index = text.slice(0, end).indexOf(part, at);
    if (index < 0) return false;
    at = index + part.length;
  }
  return true;
}

// What may follow at the caret: which part of the text it replaces, and what to offer.
export function complete(text, caret, fields) {
  const before = text.slice(0, caret);
  if ((before.replace(/\\./g, "").match(/"/g) || []).length % 2) return null;
  const value = /((?:[^\s()":=<>!,]|!(?!=))+)\s*(!=|<=|>=|:|=|<|>)(?:[^\s(),"]*,)*([^\s(),"]*)$/.exec(before);
  if (value) {
    const field = find(schemaOf(fields), value[1]);
    const typed = value[3];
    const offered = ((field && field.values) || []).filter((each) => each !== typed && startsLike(each, typed));
    return options(
      caret - typed.length,
      caret,
      typed,
      offered.map((each) => ({ text: inValue(each), about: "" })),
    );
  }
  const [typed] = /(?:[^\s()":=<>!,]|!(?!=))*$/.exec(before) || [""];
  if (!typed) return null;
  const offered = fields.filter((each) => [each.name, ...(each.also || [])].some((name) => startsLike(name, typed)));
  const made = offered.map((each) => ({ text: inField(each), about: each.about || "" }));
  return options(caret - typed.length, caret, typed, made);
}

const startsLike = (name, typed) => {
  const [full, part] = [name.toLowerCase(), typed.toLowerCase()];
  return full.startsWith(part) || (part.length > 1 && full.includes(part));
};
const inField = (field) =>
  (/^(?:[^\s()":=<>!,]|!(?!=))+$/.test(field.name) ? field.name : inQuotes(field.name)) +
  (field.kind === "number" ? "" : ":");
const inValue = (text) => (/^[^\s()",*]+$/.test(text) ? text : inQuotes(text));
export const inQuotes = (text) => `"${text.replace(/["\\]/g, "\\$&")}"`;

// Options that begin with the typed text come first.
function options(from, to, typed, offers) {
  const begins = (each) => Number(!each.text.toLowerCase().startsWith(typed.toLowerCase()));
  const sorted = offers.sort((a, b) => begins(a) - begins(b)).slice(0, 12);
  return sorted.length ? { from, to, options: sorted } : null;
}
