// Numbers and times as people read them, and the words and signs for outcomes.

export const OUTCOMES = {
  right: ["✓", "right", "full marks"],
  partial: ["◐", "partial", "some of the marks"],
  wrong: ["✗", "wrong", "no marks"],
  scored: ["#", "scored", "a number; this task knows no right and wrong"],
  unparsed: ["?", "unparsed", "no answer could be read out of what the model said"],
  unscored: ["–", "unscored", "it has no value for the task's score"],
  excluded: ["⊘", "excluded", "a rule of the task took it out"],
  failed: ["!", "failed", "something broke: not a score"],
  timeout: ["◷", "timeout", "took too long: not a score"],
  unreadable: ["⁇", "unreadable", "this line of the journal is no record"],
};

export const MARKS = { right: "✓ right", wrong: "✗ wrong", unclear: "~ unclear" };

export function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  return Number(value).toFixed(digits).replace("-", "−");
}

export function signed(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  return (value > 0 ? "+" : value < 0 ? "−" : "±") + Math.abs(value).toFixed(digits);
}

export function count(value) {
  return value === null || value === undefined ? "–" : Math.round(value).toLocaleString("en-US");
}

/** @type {[number, string][]} */
const SIZES = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

export function short(value) {
  if (!value) return value === 0 ? "0" : "–";
  for (const [size, unit] of SIZES) {
    if (value >= size) return (value / size).toFixed(value >= 10 * size ? 0 : 1) + " " + unit;
  }
  return String(value);
}

export function percent(share) {
  if (share === null || share === undefined) return "–";
  return (share * 100).toFixed(share > 0.995 && share < 1 ? 1 : 0) + " %";
}

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value > 0 && value < 0.001) return Math.round(value * 1e6) + " µs";
  if (value < 1) return Math.round(value * 1000) + " ms";
  if (value < 100) return value.toFixed(1) + " s";
  if (value < 7200) return Math.round(value / 60) + " min";
  return (value / 3600).toFixed(1) + " h";
}

export function age(epoch) {
  const passed = Date.now() / 1000 - epoch;
  if (passed < 60) return "just now";
  if (passed < 3600) return `${plural(Math.floor(passed / 60), "minute")} ago`;
  if (passed < 86400) return `${plural(Math.floor(passed / 3600), "hour")} ago`;
  return `${plural(Math.floor(passed / 86400), "day")} ago`;
}

export function interval(found, digits = 3) {
  if (!found || found.low === null || found.low === undefined) return "";
  return `${number(found.low, digits)} – ${number(found.high, digits)}`;
}

// What a mean over samples is the mean of: a score as the leaderboard has it, or something else that is named.
export function meanOf(score) {
  if (score.tasks > 1) return `mean of ${score.tasks} task means`;
  return score.headline ? "mean score" : "mean over samples";
}

export function meanNote(score) {
  if (!score) return null;
  if (score.left_out.length) return `without ${score.left_out.join(", ")}: no part of the overall score`;
  return score.headline
    ? null
    : "the mean of the samples' numbers; the task's score on the leaderboard is another measure";
}

export function pValue(p) {
  if (p === null || p === undefined) return "–";
  return p < 0.001 ? "< 0.001" : p.toFixed(3);
}

export function oneLineOf(text) {
  return text === null || text === undefined ? "" : String(text).replace(/\s+/g, " ").trim();
}

export function plural(n, one, many) {
  return `${count(n)} ${n === 1 ? one : many || one + "s"}`;
}

export function money(cost) {
  if (!cost || (cost.value === null && !cost.judged)) return null;
  const told = [amount(cost.value, cost.currency)];
  if (cost.judged && cost.judges !== 0) told.push(`judges ${amount(cost.judges, cost.currency)}`);
  return told.join(" + ");
}

function amount(value, currency) {
  // a cost that nobody knows is never shown as nothing
  return value === null ? "unknown" : `${currency} ${Number(value).toFixed(value === 0 ? 0 : value < 1 ? 4 : 2)}`;
}

// An exported copy may hold only the first samples of a run: said wherever they are counted or listed.
export function copyNote(run) {
  if (!run.left_out) return null;
  const [held, all] = [run.summary.rows - run.left_out, run.summary.rows];
  return (
    `This copy holds the first ${count(held)} of ${count(all)} samples. ` +
    "Leaderboard, slices and comparisons are over all of them; assay view shows the rest."
  );
}
