/** Asking the server for an export: made there, then saved by the browser itself. */

import { api, operator } from "../core/api.js";

const AGAIN = 700; // ms between two looks at how far it is
const AMOUNTS = new Set(["rating_min", "longer", "shorter", "latency_min_ms", "latency_max_ms"]);

/**
 * What is sought, as the API takes it in a body.
 * @param {import("./filters.js").Sought} sought
 */
export function toFilter({ values, consent }) {
  const told = Object.entries(values).map(([name, value]) => [name, AMOUNTS.has(name) ? Number(value) : value]);
  return { ...Object.fromEntries(told), ...(consent.length ? { consent } : {}) };
}

/**
 * Have an export made, and give it to the browser to save.
 * @param {import("./filters.js").Sought} sought
 * @param {string} format
 * @param {(progress: {state: string, done: number, total: number}) => void} tell
 * @param {AbortSignal} signal stops it on the server, too
 * @returns {Promise<{name: string, bytes: number, sessions: number, left_out: number}>}
 */
export async function handOut(sought, format, tell, signal) {
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  const json = { format, filter: toFilter(sought), ticket: true };
  const making = api("/api/exports", { method: "POST", json, token: operator.token, signal });
  follow(tell, stop);
  try {
    const made = await making;
    save(made.address, made.name);
    return made;
  } finally {
    over.abort();
  }
}

async function follow(tell, signal) {
  while (!signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, AGAIN));
    try {
      if (signal.aborted) return;
      const progress = await api("/api/exports", { token: operator.token, signal });
      if (!signal.aborted) tell(progress);
    } catch {
      // Only a look: the export itself says what goes wrong.
    }
  }
}

function save(address, name) {
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: name });
  link.click();
}
