// What the reader chose, kept in this browser; a private window keeps nothing.

export function kept(/** @type {string} */ name) {
  try {
    return localStorage.getItem(name) || "";
  } catch {
    return "";
  }
}

export function keep(/** @type {string} */ name, /** @type {string} */ value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    /* it is forgotten when the page is closed */
  }
}
