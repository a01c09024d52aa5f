// Numbers as people read them: `text/numbers.py` in the browser, by the same table and held to the same cases.

import { FORMS } from "./number_forms.js";

/** @typedef {number | null | undefined} Maybe */
/** @typedef {{ low?: number | null, high?: number | null } | null | undefined} Interval */

// As toFixed, but an exact half goes to the even digit, as in Python.
function fixed(/** @type {number} */ value, /** @type {number} */ digits) {
  const text = value.toFixed(digits);
  const rest = Math.abs(value).toFixed(60).split(".")[1] || "";
  const isHalf = /^50*$/.test(rest.slice(digits)) && /[13579]$/.test(text);
  return isHalf ? (Number(text) - Math.sign(value) * 10 ** -digits).toFixed(digits) : text;
}

function significant(/** @type {number} */ value) {
  const digits = FORMS.significant_digits - 1 - Math.floor(Math.log10(Math.abs(value) || 1));
  return String(Number(digits < 0 ? value.toPrecision(FORMS.significant_digits) : fixed(value, digits)));
}

const isMissing = (/** @type {unknown} */ value) => value === null || value === undefined;

export function number(/** @type {Maybe} */ value, digits = FORMS.digits) {
  if (value === null || value === undefined) return FORMS.missing;
  const text = fixed(Number(value), digits);
  return Number(text) === 0 ? text.replace("-", "") : text;
}

export function signed(/** @type {Maybe} */ value, digits = FORMS.digits) {
  if (value === null || value === undefined) return FORMS.missing;
  for (let longer = digits; longer <= FORMS.most_digits_of_a_difference; longer += 1) {
    const text = number(value, longer);
    if (Number(text)) return value > 0 ? `+${text}` : text;
  }
  return `+${number(0, digits)}`;
}

// Nothing where there is no interval: the pages say why in its place.
export function interval(/** @type {Interval} */ ends, digits = FORMS.digits) {
  return !ends || isMissing(ends.low) ? "" : `${number(ends.low, digits)} – ${number(ends.high, digits)}`;
}

export function pValue(/** @type {Maybe} */ p) {
  if (p === null || p === undefined) return FORMS.missing;
  const { least, digits, above } = FORMS.p_values;
  if (p < least) return `< ${least}`;
  const form = digits.find(([below]) => p < below);
  return form ? fixed(p, form[1]) : above;
}

export function percent(/** @type {Maybe} */ share) {
  if (share === null || share === undefined) return FORMS.missing;
  const least = 10 ** -FORMS.percent_digits;
  if (share > 0 && share * 100 < least) return `< ${least} %`;
  if (share < 1 && share * 100 > 100 - least) return `> ${100 - least} %`;
  return `${Number(fixed(share * 100, FORMS.percent_digits))} %`;
}

export function count(/** @type {Maybe} */ value) {
  return value === null || value === undefined ? FORMS.missing : Number(fixed(value, 0)).toLocaleString("en-US");
}

export function short(/** @type {Maybe} */ value) {
  if (value === null || value === undefined) return FORMS.missing;
  const [size, unit] = FORMS.sizes.find(([least]) => Math.abs(value) >= Number(least)) || [1, ""];
  return significant(value / Number(size)) + unit;
}

export function seconds(/** @type {Maybe} */ value) {
  if (value === null || value === undefined) return FORMS.missing;
  if (!value) return "0 s";
  const [factor, unit] = FORMS.seconds.find(([below]) => value < Number(below))?.slice(1) || FORMS.hours;
  return `${significant(value * Number(factor))} ${unit}`;
}

export function milliseconds(/** @type {Maybe} */ value) {
  const { whole_from, digits } = FORMS.milliseconds;
  return value === null || value === undefined || value >= whole_from ? count(value) : fixed(value, digits);
}

export function amount(/** @type {number} */ value, /** @type {string} */ currency) {
  const forms = FORMS.money;
  /** @type {Record<string, string>} */
  const signs = forms.signs;
  const sign = signs[currency] || `${currency} `;
  if (value === 0 || value >= forms.whole_from) {
    const digits = { minimumFractionDigits: forms.digits, maximumFractionDigits: forms.digits };
    return sign + value.toLocaleString("en-US", digits);
  }
  if (value >= forms.plain_below) return sign + Number(value.toPrecision(forms.significant_digits));
  return sign + value.toFixed(1 - Math.floor(Math.log10(value)));
}
