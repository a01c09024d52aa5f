// Numbers and times as people read them, and the words and signs for outcomes.

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

export function number(/** @type {number | null | undefined} */ value, digits = 3) {
  if (value === null || value === undefined) return "–";
  return Number(value).toFixed(digits).replace("-", "−");
}

export function signed(/** @type {number | null | undefined} */ value, digits = 3) {
  if (value === null || value === undefined) return "–";
  return (value > 0 ? "+" : value < 0 ? "−" : "±") + Math.abs(value).toFixed(digits);
}

export function count(/** @type {number | null | undefined} */ value) {
  return value === null || value === undefined ? "–" : Math.round(value).toLocaleString("en-US");
}

/** @type {[number, string][]} */
const SIZES = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

export function short(/** @type {number | null | undefined} */ value) {
  if (!value) return value === 0 ? "0" : "–";
  for (const [size, unit] of SIZES) {
    if (value >= size) return (value / size).toFixed(value >= 10 * size ? 0 : 1) + " " + unit;
  }
  return String(value);
}

export function percent(/** @type {number | null | undefined} */ share) {
  if (share === null || share === undefined) return "–";
  return (share * 100).toFixed(share > 0.995 && share < 1 ? 1 : 0) + " %";
}

export function seconds(/** @type {number | null | undefined} */ value) {
  if (value === null || value === undefined) return "–";
  if (value > 0 && value < 0.001) return Math.round(value * 1e6) + " µs";
  if (value < 1) return Math.round(value * 1000) + " ms";
  if (value < 100) return value.toFixed(1) + " s";
  if (value < 7200) return Math.round(value / 60) + " min";
  return (value / 3600).toFixed(1) + " h";
}

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

/** @typedef {{ low?: number | null, high?: number | null } | null | undefined} Interval */

export function interval(/** @type {Interval} */ ends, digits = 3) {
  if (!ends || ends.low === null || ends.low === undefined) return "";
  return `${number(ends.low, digits)} – ${number(ends.high, digits)}`;
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

export function pValue(/** @type {number | null | undefined} */ p) {
  if (p === null || p === undefined) return "–";
  return p < 0.001 ? "< 0.001" : p.toFixed(3);
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
  const parts = [amount(cost.value, cost.currency)];
  if (cost.judged && cost.judges !== 0) parts.push(`judges ${amount(cost.judges, cost.currency)}`);
  return parts.join(" + ");
}

function amount(/** @type {number | null} */ value, /** @type {string} */ currency) {
  // an unknown cost is never shown as zero
  return value === null ? "unknown" : `${currency} ${Number(value).toFixed(value === 0 ? 0 : value < 1 ? 4 : 2)}`;
}

// An exported copy may hold only the first samples of a run: noted wherever they are counted or listed.
export function copyNote(/** @type {{ omitted?: number, summary: { rows: number } }} */ run) {
  if (!run.omitted) return null;
  const [held, all] = [run.summary.rows - run.omitted, run.summary.rows];
  return (
    `This copy holds the first ${count(held)} of ${count(all)} samples. ` +
    "Leaderboard, slices and comparisons are over all of them; assay view shows the rest."
  );
}
