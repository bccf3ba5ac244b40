/** What the page asks of the arena; docs/arena.md tells the answers. */

import { ApiError, api, guest } from "../core/api.js";
import { has, t } from "../core/page.js";
import { jsonLines, piecesOf } from "./lines.js";

/**
 * @typedef {"a"|"b"} Side
 * @typedef {{id: string, secret: string, keeping: string[], seconds: Record<Side, number>}} Round
 */

/**
 * Have a spoken turn answered twice.
 * @param {Blob} speech
 * @param {{scopes: string[], prepared: boolean}} about what may be kept of it, and whether a
 *   recording spoke
 * @param {(step: {stage: string, answered: number}) => void} onStep
 * @param {AbortSignal} signal
 * @returns {Promise<Round>}
 */
export async function begin(speech, { scopes, prepared }, onStep, signal) {
  const wish = new URLSearchParams(scopes.map((scope) => ["consent", scope]));
  if (prepared) wish.set("prepared", "true");
  const headers = { "Content-Type": speech.type };
  const options = { method: "POST", body: speech, headers, signal, token: guest.token, raw: true };
  const response = await api(`/api/arena/rounds?${wish}`, options);
  for await (const step of jsonLines(piecesOf(response))) {
    if (step.type === "error") throw new ApiError(response.status, step.error.code, step.error.message);
    if (step.type === "progress") onStep(step);
    if (step.type === "ready") {
      return { id: step.round_id, secret: step.secret, keeping: step.keeping, seconds: step.seconds };
    }
  }
  throw new ApiError(0, "broken_off", t("compare.problem.failed"));
}

/** What went wrong, in the page's language where it has words for it. @param {ApiError} error */
export function sentence(error) {
  const key = `compare.problem.${error.code}`;
  return error.code && has(key) ? t(key) : error.message;
}

/** One of the answers, as a WAV file. @param {Round} round @param {Side} side */
export async function answer(round, side, signal) {
  const response = await api(`${path(round)}/answers/${side}`, { token: round.secret, raw: true, signal });
  return response.arrayBuffer();
}

/** @param {Round} round @param {"a"|"b"|"tie"|"bad"} vote @param {string} comment */
export function choose(round, vote, comment) {
  const json = comment ? { vote, comment } : { vote };
  return api(`${path(round)}/vote`, { method: "POST", json, token: round.secret });
}

/** @param {Round} round */
export function forget(round) {
  return api(path(round), { method: "DELETE", token: round.secret });
}

export function leaderboard(signal) {
  return api("/api/arena/leaderboard", { signal, token: guest.token });
}

function path(round) {
  return `/api/arena/rounds/${round.id}`;
}
