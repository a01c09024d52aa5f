// The pages' modules lie in several folders and are served from one: a sibling that is not there is in another of them.

import { existsSync } from "node:fs";
import { register } from "node:module";
import { fileURLToPath } from "node:url";

const FOLDERS = ["viewer/static/", "pages/rendering/", "pages/charts/", "text/"].map(
  (name) => new URL(`../../src/assay/${name}`, import.meta.url),
);

if (!import.meta.url.includes("?hooks")) register(`${import.meta.url}?hooks`);

export function resolve(specifier, context, next) {
  const isSibling = specifier.startsWith("./") && FOLDERS.some((folder) => context.parentURL?.startsWith(folder.href));
  const place =
    isSibling && FOLDERS.map((folder) => new URL(specifier, folder)).find((url) => existsSync(fileURLToPath(url)));
  return next(place ? place.href : specifier, context);
}
