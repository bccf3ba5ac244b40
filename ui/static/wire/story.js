/**
 * The story of a conversation: everything the page knows, from everything that happened.
 *
 * `story` is pure. It takes the events of the wire as they come, and events of the page's own
 * (`local.…`), each with `at`, in ms of the page's clock, where time matters.
 *
 * @typedef {'idle'|'connecting'|'listening'|'hearing'|'thinking'|'speaking'|'interrupted'|
 *   'reconnecting'|'ended'} Phase
 * @typedef {object} State
 * @property {Phase} phase
 * @property {{kind: string, seconds?: number}|null} problem `full`, `gone`, `lost` (the
 *   microphone), `refused`, `error`, or a SoundProblem's kind; with `seconds` we try again then
 * @property {{position: number, seconds: number|null}|null} queue while we wait for a seat
 * @property {{id: string, secret: string}|null} session
 * @property {{id: string, secret: string}[]} sessions all of this visit
 * @property {{recording: boolean, scopes: string[], reason: string|null}|null} recording
 * @property {import('./turns.js').Turn[]} turns
 * @property {{percept: object, final: boolean, itemId: string}|null} percept the newest
 * @property {number} reconnected how often
 * @property {Phase|null} away the phase in which the socket was lost
 * @property {{kind: string}|null} notice `dropped`, `resumed`, `reconnected`, `offline`, `gap`,
 *   `too_short`, `error`
 * @property {boolean} held the reply waits: someone may be interrupting
 * @property {string|null} user the item being said
 * @property {Reply|null} reply the newest response
 * @typedef {object} Reply
 * @property {string} responseId
 * @property {string|null} itemId
 * @property {import('./heard.js').Piece[]} pieces
 * @property {number} received samples
 * @property {number} played samples
 * @property {number|null} arrivedAt when its first sound came
 * @property {number|null} onset its first sample one can hear
 * @property {number|null} lag ms from then until it left the loudspeaker
 * @property {boolean} done all of it has come
 * @property {boolean} over nothing of it will sound any more
 */

import { connection } from "./story_connection.js";
import { replies } from "./story_replies.js";
import { speech } from "./story_speech.js";

const HANDLERS = { ...connection, ...speech, ...replies };

/** @type {State} */
export const BEGINNING = Object.freeze({
  phase: "idle",
  problem: null,
  queue: null,
  session: null,
  sessions: [],
  recording: null,
  turns: [],
  percept: null,
  reconnected: 0,
  away: null,
  notice: null,
  held: false,
  user: null,
  reply: null,
});

/**
 * @param {State} state
 * @param {{type: string, [field: string]: any}} event
 * @returns {State} the same object if the event changes nothing
 */
export function story(state, event) {
  const handler = Object.hasOwn(HANDLERS, event.type) ? HANDLERS[event.type] : null;
  return handler ? handler(state, event) : state;
}
