/** What was kept of a conversation, and what can be done with it. No drawing here. */

import { api, ApiError } from "../core/api.js";

export const SCOPES = ["transcript", "audio", "research"];

/**
 * @typedef {{id: string, secret: string}} Session
 * @typedef {{session: Session, file: object, scopes: string[]}} Kept
 */

/**
 * What the server has of these; those it has nothing of, or no longer, are left out.
 * @param {Session[]} sessions
 * @returns {Promise<Kept[]>}
 */
export async function lookUp(sessions) {
  const found = await Promise.all(sessions.map(one));
  return found.filter((each) => each !== null);
}

async function one(session) {
  try {
    const { session: file } = await api(path(session), { token: session.secret });
    if (file.state === "deleted") return null;
    return { session, file, scopes: allowed(file) };
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 410)) return null;
    throw error;
  }
}

/** What may be kept, by its last word on consent. */
export function allowed(file) {
  const last = file.consent?.at(-1) ?? {};
  return SCOPES.filter((scope) => last[scope]);
}

/** What is kept of any of them. @param {Kept[]} kept */
export function scopesOf(kept) {
  return SCOPES.filter((scope) => kept.some(({ scopes }) => scopes.includes(scope)));
}

/** How long was recorded, in seconds. @param {Kept[]} kept */
export function secondsOf(kept) {
  return kept.reduce((sum, { file }) => sum + (file.audio ? file.audio.samples / file.audio.rate : 0), 0);
}

/** What somebody said when it broke off. @param {Kept[]} kept @returns {string | null} */
export function stoppedBy(kept) {
  return kept.flatMap(({ file }) => file.stopped ?? []).at(-1)?.reason ?? null;
}

/** Take back a scope of all of them. @param {Kept[]} kept */
export async function withdraw(kept, scope) {
  const held = kept.filter(({ scopes }) => scopes.includes(scope));
  return merged(await Promise.all(held.map(({ session }) => api(`${path(session)}/consent`, {
    method: "POST", token: session.secret, json: { [scope]: false },
  }))));
}

/** Delete all of them. @param {Kept[]} kept */
export async function erase(kept) {
  return merged(await Promise.all(kept.map(({ session }) =>
    api(path(session), { method: "DELETE", token: session.secret }))));
}

/** @returns {{removed: string[], exports: string[], left: string[], putOff: boolean}} */
function merged(answers) {
  const all = (name) => [...new Set(answers.flatMap((answer) => answer[name] ?? []))];
  return {
    removed: all("removed"), exports: all("exports"), left: all("left"),
    putOff: answers.some((answer) => answer.message !== undefined),
  };
}

/**
 * Fetch the sound or the log of each, and hand it to the person.
 * @param {Kept[]} kept @param {"audio" | "events"} what
 */
export async function download(kept, what) {
  const [folder, suffix] = what === "audio" ? ["audio", "flac"] : ["events", "jsonl"];
  for (const { session } of kept) {
    const response = await api(`${path(session)}/${folder}`, { token: session.secret, raw: true });
    save(await response.blob(), `${session.id}.${suffix}`);
  }
}

function save(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // the browser may still be reading it
}

function path({ id }) {
  return `/api/sessions/${encodeURIComponent(id)}`;
}

// A key is what opens a conversation later: its id and its secret.
const KEY = /(sess_[0-9a-f]{20})[.:\s]+([\w-]{16,128})/g;

/** @param {Session[]} sessions */
export function keyOf(sessions) {
  return sessions.map(({ id, secret }) => `${id}.${secret}`).join(" ");
}

/** The conversations a key opens; none if it is no key. @returns {Session[]} */
export function readKey(text) {
  return [...text.matchAll(KEY)].map(([, id, secret]) => ({ id, secret }));
}
