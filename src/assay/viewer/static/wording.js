// The words and signs for outcomes, costs and times, and sentences that several pages share.

import { amount, count, seconds } from "./numbers.js";

/** @type {Record<string, string[]>} */
export const OUTCOMES = {
  right: ["✓", "right", "full marks"],
  partial: ["◐", "partial", "some of the marks"],
  wrong: ["✗", "wrong", "no marks"],
  scored: ["#", "scored", "a number; this task has no right or wrong"],
  unparsed: ["?", "unparsed", "no answer could be extracted from what the model wrote"],
  unscored: ["–", "unscored", "it has no value for the task's score"],
  excluded: ["⊘", "excluded", "excluded by a rule of the task"],
  failed: ["!", "failed", "something broke: not a score"],
  timeout: ["◷", "timeout", "took too long: not a score"],
};

/** @type {Record<string, string>} */
export const MARKS = { right: "✓ right", wrong: "✗ wrong", unclear: "~ unclear" };

// From the start of a run to its last record.
export function lasted(/** @type {string} */ created, /** @type {number} */ changed) {
  const passed = changed - Date.parse(created) / 1000;
  return passed >= 0 ? seconds(passed) : null;
}

// A time of ours (ISO 8601) to the minute, in the reader's own zone.
export function moment(/** @type {string} */ iso) {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return "";
  const two = (/** @type {number} */ part) => String(part).padStart(2, "0");
  const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

export function age(/** @type {number} */ epoch) {
  const passed = Date.now() / 1000 - epoch;
  if (passed < 60) return "just now";
  if (passed < 3600) return `${plural(Math.floor(passed / 60), "minute")} ago`;
  if (passed < 86400) return `${plural(Math.floor(passed / 3600), "hour")} ago`;
  return `${plural(Math.floor(passed / 86400), "day")} ago`;
}

/** @typedef {{ tasks: number, headline: boolean, excluded: string[] }} Mean */

// What a mean over samples is the mean of: the leaderboard's score, or another value, which is then named.
export function meanOf(/** @type {Mean} */ score) {
  if (score.tasks > 1) return `mean of ${score.tasks} task means`;
  return score.headline ? "mean score" : "mean over samples";
}

export function meanNote(/** @type {Mean | null} */ score) {
  if (!score) return null;
  if (score.excluded.length) return `without ${score.excluded.join(", ")}: no part of the overall score`;
  return score.headline
    ? null
    : "the mean of the samples' numbers; the task's score on the leaderboard is another measure";
}

export function oneLineOf(/** @type {unknown} */ text) {
  return text === null || text === undefined ? "" : String(text).replace(/\s+/g, " ").trim();
}

export function plural(
  /** @type {number} */ n,
  /** @type {string} */ one,
  /** @type {string | undefined} */ many = undefined,
) {
  return `${count(n)} ${n === 1 ? one : many || one + "s"}`;
}

/** @typedef {{ value: number | null, judged: boolean, judges: number | null, currency: string }} Cost */

export function money(/** @type {Cost | null} */ cost) {
  if (!cost || (cost.value === null && !cost.judged)) return null;
  if (!cost.value && !cost.judges) return cost.value === null && cost.judges !== 0 ? "cost unknown" : null;
  const parts = cost.value === 0 ? [] : [known(cost.value, cost.currency)];
  if (cost.judged && cost.judges !== 0) parts.push(`judges ${known(cost.judges, cost.currency)}`);
  return parts.join(" + ");
}

// An unknown cost is never shown as zero.
const known = (/** @type {number | null} */ value, /** @type {string} */ currency) =>
  value === null ? "unknown" : amount(value, currency);

// An exported copy may hold only the first samples of a run: noted wherever they are counted or listed.
export function copyNote(/** @type {{ omitted?: number, summary: { rows: number } }} */ run) {
  if (!run.omitted) return null;
  const [held, all] = [run.summary.rows - run.omitted, run.summary.rows];
  return (
    `This copy holds the first ${count(held)} of ${count(all)} samples. ` +
    "Leaderboard, slices and comparisons are over all of them; assay view shows the rest."
  );
}
