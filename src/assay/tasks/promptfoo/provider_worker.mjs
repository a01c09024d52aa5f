// Runs a provider in JavaScript: each line is one call in JSON, answered by one line.
import { createInterface } from 'node:readline';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const answer = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
console.log = console.info = console.debug = (...words) => console.error(...words);
let provider;

async function load({ file, options }) {
  const module = await import(pathToFileURL(resolve(file)).href);
  const Provider = [module.default?.default, module.default].find((each) => typeof each === 'function');
  if (!Provider) throw new Error(`${file} has no class as its default export`);
  return new Provider(options);
}

async function call(order) {
  try {
    provider ??= load(order);
    const value = await (await provider).callApi(order.prompt, order.context, {});
    answer({ number: order.number, value: value ?? {} });
  } catch (error) {
    answer({ number: order.number, error: `${error?.name ?? 'Error'}: ${error?.message ?? error}` });
  }
}

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => call(JSON.parse(line))).on('close', () => process.exit(0));
