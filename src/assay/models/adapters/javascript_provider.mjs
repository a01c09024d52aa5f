// A provider in JavaScript: a class with `callApi(prompt, context, options)` as the default export of a file.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const providers = new Map();

async function load(file, options) {
  const module = await import(pathToFileURL(resolve(file)).href);
  const Provider = [module.default?.default, module.default].find((each) => typeof each === 'function');
  if (!Provider) throw new Error(`${file} has no class as its default export`);
  return new Provider(options);
}

export async function callProvider(file, options, prompt, context) {
  if (!providers.has(file)) providers.set(file, load(file, options));
  const provider = await providers.get(file);
  return (await provider.callApi(prompt, context, {})) ?? {};
}
