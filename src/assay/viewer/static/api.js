// Requests data from the viewer's server, or, in an exported site, from the data files next to the page.

import { staticGet } from "./static_data.js";

export const isStatic = Boolean(window.ASSAY_STATIC);

export async function get(what, params) {
  if (isStatic) return staticGet(what, params || {});
  const answer = await fetch(`/api/${what}?${query(params)}`, { headers: { accept: "application/json" } });
  return read(answer);
}

export async function sendMark(mark) {
  const answer = await fetch("/api/marks", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(mark),
  });
  return read(answer);
}

export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

async function read(answer) {
  if (answer.status === 403) throw new Error(await answer.text());
  let data;
  try {
    data = await answer.json();
  } catch {
    throw new Error(`the viewer answered with ${answer.status}`);
  }
  if (!answer.ok) throw new Error(data.error || `the viewer answered with ${answer.status}`);
  return data;
}

export function query(params) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params || {})) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== "" && each !== null && each !== undefined) search.append(name, each);
    }
  }
  return search.toString();
}

// Calls back with the names of runs that changed, for as long as the page is visible. A hidden tab closes its
// connection: a browser has only six of them per server. When visible again, it reloads everything (null).
export function listen(onchange, onstate) {
  if (isStatic) return;
  let events = null;
  const open = () => {
    events = new EventSource("/api/events");
    events.onopen = () => onstate(true);
    events.onerror = () => onstate(false);
    events.onmessage = (event) => onchange(JSON.parse(event.data).changed);
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && events) {
      events.close();
      events = null;
    } else if (!document.hidden && !events) {
      open();
      onchange(null);
    }
  });
  if (!document.hidden) open();
}
