// Where the reader is, kept in the address after the #, so that every place has a link.

import { query } from "./api.js";

export function current() {
  const [path, search] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const parts = path.split("/").filter(Boolean).map(decode);
  const params = {};
  for (const [name, value] of new URLSearchParams(search || "")) (params[name] ||= []).push(value);
  const [place, run, view, key] = parts;
  if (place === "run" && run !== undefined) return { page: pageOfRun(view), view, run, key, params };
  if (place === "samples" && (params.run || []).length) return { page: "together", runs: params.run, params };
  if (place === "compare") return { page: "compare", runs: params.run || [], params };
  if (place === "history") return { page: "history", params };
  return { page: "runs", params };
}

// The list of runs and a comparison are not pages of a run, whatever the address says.
function pageOfRun(view) {
  const known = ["overview", "samples", "sample", "marks", "provenance"];
  return view === undefined ? "overview" : known.includes(view) ? view : "unknown";
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const toRuns = () => "#/";
export const toHistory = (params) => `#/history${params && query(params) ? "?" + query(params) : ""}`;
export const toRun = (run) => `#/run/${encodeURIComponent(run)}`;
export const toProvenance = (run) => `${toRun(run)}/provenance`;
export const toMarks = (run) => `${toRun(run)}/marks`;

export function toSamples(run, params) {
  const search = query(params);
  return `${toRun(run)}/samples${search ? "?" + search : ""}`;
}

export function toSample(run, key, params) {
  const search = query(params);
  return `${toRun(run)}/sample/${encodeURIComponent(key)}${search ? "?" + search : ""}`;
}

export function toCompare(runs, params) {
  return `#/compare?${query({ run: runs, ...params })}`;
}

// The samples of several runs in one table.
export function toTogether(runs, params) {
  return `#/samples?${query({ run: runs, ...params })}`;
}

// The row that was chosen and how far the page was scrolled are kept with the place in the history.
export const noteRow = (key) => history.replaceState({ ...history.state, row: key }, "");
export const rowNoted = () => history.state?.row;
export const noteScroll = () => history.replaceState({ ...history.state, y: Math.round(scrollY) }, "");
export const scrollNoted = () => history.state?.y || 0;

// A place that was just entered for the first time remembers the one before it; to return there is to go back, with
// its scroll.
export const noteFrom = (hash) => history.state === null && history.replaceState({ from: hash }, "");
// after a step to another sample the table is to start at that one, wherever it was left
export const noteStep = () => history.replaceState({ ...history.state, from: null }, "");
export function returnTo(hash) {
  if (history.state?.from === hash) history.back();
  else goTo(hash);
}

// The sample of a run that was read last: a table starts there when the reader returns to it.
export const lastSeen = new Map();

export function goTo(hash) {
  location.hash = hash;
}

// Another state of the same page, to come back from.
export function push(hash) {
  history.pushState(null, "", hash);
}

// Another state of the same page: the address changes, the history does not grow.
export function replace(hash) {
  history.replaceState(history.state, "", hash);
}
