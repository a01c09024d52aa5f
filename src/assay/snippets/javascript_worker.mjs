// Runs the JavaScript of a test file in a process of its own: one JSON object a line in, one a line out.
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';

const answer = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
console.log = console.info = console.debug = (...words) => console.error(...words);

// a line of statements that begins with a declaration gives the value of its last expression
function bodyOf(code) {
  if (code.includes('\n')) return code;
  const text = code.trim().replace(/;+\s*$/, '');
  if (!/^(const|let|var)\s/.test(text)) return `return ${text}`;
  let quote = null;
  let last = -1;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (letter === '\\') at += 1;
    else if (quote) quote = letter === quote ? null : quote;
    else if (letter === "'" || letter === '"' || letter === '`') quote = letter;
    else if (letter === ';') last = at;
  }
  const rest = text.slice(last + 1).trim();
  return last >= 0 && rest ? `${text.slice(0, last + 1)} return ${rest}` : text;
}

async function functionOf({ code, file, name, parameters = ['output', 'context'] }) {
  if (code !== undefined) return new Function(...parameters, 'process', bodyOf(code));
  const module = await import(pathToFileURL(resolve(file)).href);
  const found = [name && module[name], name && module.default?.[name], module.default, module.default?.default];
  const usable = found.find((each) => typeof each === 'function');
  if (!usable) throw new Error(`${file} exports no function${name ? ` \`${name}\`` : ''}`);
  return usable;
}

async function run(order) {
  try {
    const value = await (await functionOf(order))(...order.arguments, process);
    answer({ number: order.number, value: value === undefined ? null : value, missing: value === undefined });
  } catch (error) {
    answer({ number: order.number, error: `${error?.name ?? 'Error'}: ${error?.message ?? error}` });
  }
}

createInterface({ input: process.stdin }).on('line', (line) => run(JSON.parse(line)));
