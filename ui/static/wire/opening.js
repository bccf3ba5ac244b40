/** What is said to the server at the beginning of every session, consent first. */

const HISTORY = 100; // turns put back after a reconnect
const NAME = 256; // characters of one, at most

/**
 * @typedef {object} Wishes
 * @property {{transcript: boolean, audio: boolean, research: boolean}|null} consent null: refused
 * @property {string|null} name
 * @property {boolean} perception
 * @property {string|null} persona
 * @property {boolean} pushToTalk
 */

/**
 * What may be kept; said before any sound goes out. Without a word or a sound to keep, nobody
 * needs a name.
 *
 * @param {Wishes} wishes
 */
export function consentEvent({ consent, name }) {
  const { transcript = false, audio = false, research = false } = consent ?? {};
  const scopes = { transcript: Boolean(transcript), audio: Boolean(audio), research: Boolean(research) };
  const named = name && (transcript || audio) ? { name: name.slice(0, NAME) } : {};
  return { type: "attune.consent", ...scopes, ...named };
}

/** @param {boolean} pushToTalk */
export const detectionUpdate = (pushToTalk) =>
  update({ audio: { input: { turn_detection: pushToTalk ? null : { type: "semantic_vad" } } } });

/** @param {boolean} perception */
export const perceptionUpdate = (perception) => update({ attune: { perception } });

/** @param {object} capture how the browser records */
export const captureUpdate = (capture) => update({ attune: { capture: described(capture) } });

/**
 * @param {Wishes} wishes
 * @param {object|null} capture
 */
export function settingsUpdate({ persona, perception, pushToTalk }, capture) {
  const attune = { events: true, binary: true, perception, capture: described(capture) };
  const { session } = detectionUpdate(pushToTalk);
  return update({ ...session, ...(persona ? { instructions: persona } : {}), attune });
}

/**
 * The conversation so far, as both heard it.
 *
 * @param {import('./turns.js').Turn[]} turns
 */
export function historyEvents(turns) {
  const said = turns.filter((turn) => turn.text.trim());
  return said.slice(-HISTORY).map(({ id, role, text }) => itemEvent(id, role, text));
}

/**
 * @param {string} id
 * @param {'user'|'assistant'} role
 * @param {string} text
 */
export function itemEvent(id, role, text) {
  const content = [{ type: role === "user" ? "input_text" : "output_text", text }];
  return { type: "conversation.item.create", item: { id, type: "message", role, content } };
}

/** An id for an item of the page's own. */
export const newItemId = () => `item_${crypto.randomUUID().replaceAll("-", "")}`;

/** As the server reads it: some browsers name their canceller instead of saying yes. */
function described(capture) {
  const flag = (name) => ((capture?.[name] ?? null) === null ? null : Boolean(capture[name]));
  const count = (name) => (capture?.[name] > 0 ? Math.round(capture[name]) : null);
  return {
    echo_cancellation: flag("echo_cancellation"),
    noise_suppression: flag("noise_suppression"),
    auto_gain_control: flag("auto_gain_control"),
    sample_rate: count("sample_rate"),
    channel_count: count("channel_count"),
  };
}

function update(session) {
  return { type: "session.update", session: { type: "realtime", ...session } };
}
