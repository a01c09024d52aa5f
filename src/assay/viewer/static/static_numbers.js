// The numbers over a filtered table, for exported sites: the same definitions as the server's.

const Z = 1.959964;

export function tableSummary(rows) {
  const outcomes = {};
  for (const row of rows) outcomes[row.outcome] = (outcomes[row.outcome] || 0) + 1;
  const sum = (name) => rows.reduce((total, row) => total + (row[name] || 0), 0);
  return {
    rows: rows.length, outcomes, score: interval95(rows.filter((row) => row.score !== null).map((row) => row.score)),
    tokens_in: sum("tokens_in"), tokens_out: sum("tokens_out"), seconds: rows.length ? sum("seconds") / rows.length : null,
  };
}

// Wilson's interval for right and wrong, Student's t for everything else.
function interval95(values) {
  const n = values.length;
  if (!n) return null;
  const mean = values.reduce((a, b) => a + b, 0) / n;
  const found = { value: mean, low: null, high: null, n, level: 0.95 };
  if (values.every((value) => value === 0 || value === 1)) {
    const shrink = 1 + (Z * Z) / n;
    const centre = (mean + (Z * Z) / (2 * n)) / shrink;
    const reach = (Z / shrink) * Math.sqrt((mean * (1 - mean)) / n + (Z * Z) / (4 * n * n));
    return { ...found, low: Math.max(0, centre - reach), high: Math.min(1, centre + reach) };
  }
  const spread = values.reduce((total, value) => total + (value - mean) ** 2, 0);
  if (n < 2 || spread === 0) return found;
  const reach = studentT(n - 1) * Math.sqrt(spread / (n - 1) / n);
  return { ...found, low: mean - reach, high: mean + reach };
}

// The 97.5 % quantile by the expansion of Cornish and Fisher; exact tables for the first few degrees.
function studentT(degrees) {
  const few = [12.706, 4.303, 3.182, 2.776];
  if (degrees <= few.length) return few[degrees - 1];
  const d = degrees;
  return Z + (Z ** 3 + Z) / (4 * d) + (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / (96 * d * d) + (3 * Z ** 7 + 19 * Z ** 5 + 17 * Z ** 3 - 15 * Z) / (384 * d ** 3);
}

export function valueHistogram(values, name) {
  const there = values.filter((value) => value !== null);
  if (!there.length) return null;
  const bounded = !name || name === "score" || /\.(score|is_correct)$/.test(name);
  const low = there.reduce((a, b) => Math.min(a, b), bounded ? 0 : Infinity);
  let high = there.reduce((a, b) => Math.max(a, b), bounded ? 1 : -Infinity);
  if (high <= low) high = low + 1;
  const counts = new Array(20).fill(0);
  for (const value of there) counts[Math.min(19, Math.floor(((value - low) / (high - low)) * 20))]++;
  const edges = Array.from({ length: 21 }, (_, i) => Number((low + ((high - low) * i) / 20).toFixed(9)));
  return { low, high, counts, edges, mean: there.reduce((a, b) => a + b, 0) / there.length, n: there.length };
}
