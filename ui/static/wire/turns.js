/**
 * The turns of a conversation as the page shows them. Every function returns a new list.
 *
 * @typedef {{stages: Object<string, number>, overhead: number|null, heard: number|null}} Timing
 *   in ms after the end of speech
 * @typedef {object} Turn
 * @property {string} id the item's
 * @property {'user'|'assistant'} role
 * @property {string} text of an interrupted reply: what was heard of it
 * @property {boolean} partial more of it may come
 * @property {boolean} spoken aloud, not typed
 * @property {boolean} interrupted
 * @property {boolean} broken off with the connection, and not by anybody
 * @property {string} unheard the rest of an interrupted reply
 * @property {object|null} percept how it sounded
 * @property {object|null} plan
 * @property {string|null} responseId
 * @property {string|null} sessionId the session in which it was said, for ratings
 * @property {Timing|null} timing
 * @property {boolean} failed
 */

import { restOf } from "./heard.js";

const BLANK = {
  text: "",
  partial: true,
  spoken: true,
  interrupted: false,
  broken: false,
  unheard: "",
  percept: null,
  plan: null,
  responseId: null,
  sessionId: null,
  timing: null,
  failed: false,
};

/**
 * @param {Turn[]} turns
 * @param {string} id
 * @returns {Turn|undefined}
 */
export const find = (turns, id) => turns.find((turn) => turn.id === id);

/**
 * @param {Turn[]} turns
 * @param {string} id
 * @param {Partial<Turn>|((turn: Turn) => Partial<Turn>)} change
 * @returns {Turn[]} the same list if there is no such turn
 */
export function changed(turns, id, change) {
  if (!find(turns, id)) return turns;
  const news = (turn) => (typeof change === "function" ? change(turn) : change);
  return turns.map((turn) => (turn.id === id ? { ...turn, ...news(turn) } : turn));
}

/**
 * With a turn of that id, made if there is none.
 *
 * @param {Turn[]} turns
 * @param {string} id
 * @param {'user'|'assistant'} role
 * @param {Partial<Turn>} [about]
 * @returns {Turn[]}
 */
export function ensured(turns, id, role, about = {}) {
  if (find(turns, id)) return changed(turns, id, about);
  return [...turns, { ...BLANK, id, role, ...about }];
}

/**
 * @param {Turn[]} turns
 * @param {string|null} id
 * @returns {Turn[]}
 */
export const without = (turns, id) => turns.filter((turn) => turn.id !== id);

/**
 * The turn cut to what was heard of it.
 *
 * @param {Turn} turn
 * @param {string} heard
 * @returns {Partial<Turn>}
 */
export function cut(turn, heard) {
  const whole = turn.unheard ? `${turn.text} ${turn.unheard}` : turn.text;
  return { text: heard.trim(), unheard: restOf(whole, heard), partial: false };
}

/**
 * The words of a wire item, written or spoken.
 *
 * @param {{content?: {text?: string|null, transcript?: string|null}[]}} item
 * @returns {string}
 */
export const textOf = (item) =>
  (item.content ?? []).map((part) => part.text ?? part.transcript ?? "").join(" ").trim();
