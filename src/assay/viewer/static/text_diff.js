// Where two texts differ, word by word: letters that two words happen to share mean nothing.

const MOST = 1500;
const LONG = 50000;

/** @typedef {[string, string]} Part what a stretch of text is (same, removed, added), and the stretch */

// Parts [kind, text], kind being "same", "removed" (only in a) or "added" (only in b); null when both are too long.
export function textDiff(/** @type {string} */ a, /** @type {string} */ b) {
  if (a.length > LONG || b.length > LONG) return null;
  /** @returns {string[]} */
  const parts = (/** @type {string} */ text) => text.match(/\s+|[\p{L}\p{M}\p{N}]+|[^\s\p{L}\p{M}\p{N}]/gu) || [];
  let [left, right] = [parts(a), parts(b)];
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start++;
  let end = 0;
  while (
    end < left.length - start &&
    end < right.length - start &&
    left[left.length - 1 - end] === right[right.length - 1 - end]
  )
    end++;
  const [head, tail] = [left.slice(0, start), left.slice(left.length - end)];
  left = left.slice(start, left.length - end);
  right = right.slice(start, right.length - end);
  if (left.length > MOST || right.length > MOST) return null;
  return joined([
    ...head.map((text) => /** @type {Part} */ (["same", text])),
    ...between(left, right),
    ...tail.map((text) => /** @type {Part} */ (["same", text])),
  ]);
}

// Where a text differs from another, as parts [differs, text]: equal stretches are cut to the context around a
// difference, so that the difference is on the first lines.
export function otherwise(/** @type {string} */ first, /** @type {string} */ other, around = 40) {
  const parts = (textDiff(first, other) || [["added", other]]).filter(([kind]) => kind !== "removed");
  return parts.map(([kind, text], i) => {
    if (kind === "added" || text.length <= 2 * around) return [kind === "added", text];
    // whole words, where there are any
    const head =
      i === 0
        ? ""
        : text
            .slice(0, around)
            .replace(/(\s)\S*$/, "$1")
            .trimEnd();
    const tail =
      i === parts.length - 1
        ? ""
        : text
            .slice(-around)
            .replace(/^\S*(?=\s)/, "")
            .trimStart();
    return [false, parts.length === 1 ? text : `${head} … ${tail}`];
  });
}

// The longest common subsequence, walked from both ends of its table.
/** @returns {Part[]} */
function between(/** @type {string[]} */ left, /** @type {string[]} */ right) {
  const width = right.length + 1;
  const length = new Uint16Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      length[i * width + j] =
        left[i] === right[j]
          ? length[(i + 1) * width + j + 1] + 1
          : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
    }
  }
  /** @type {Part[]} */
  const parts = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      parts.push(["same", left[i]]);
      i++;
      j++;
    } else if (j >= right.length || (i < left.length && length[(i + 1) * width + j] >= length[i * width + j + 1]))
      parts.push(["removed", left[i++]]);
    else parts.push(["added", right[j++]]);
  }
  return parts;
}

function joined(/** @type {Part[]} */ parts) {
  /** @type {Part[]} */
  const merged = [];
  for (const [kind, text] of parts) {
    const last = merged[merged.length - 1];
    if (last && last[0] === kind) last[1] += text;
    else merged.push([kind, text]);
  }
  return merged;
}

// How much of two texts is the same, roughly: enough to pick the nearest target.
export function likeness(/** @type {string} */ a, /** @type {string} */ b) {
  if (a === b) return 2;
  const words = (/** @type {string} */ text) => new Set(text.slice(0, 5000).toLowerCase().split(/\W+/));
  const [left, right] = [words(a), words(b)];
  let same = 0;
  for (const word of left) same += Number(right.has(word));
  return same / Math.max(1, left.size + right.size - same);
}
