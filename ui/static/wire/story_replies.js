/** What is answered, how much of it was heard, and how long it took. */

import { wordsUntil } from "./heard.js";
import { changed, cut, ensured, find, textOf, without } from "./turns.js";

const CANCELLED = "cancelled";
const SAMPLES_PER_MS = 24;

const isNewest = (state, responseId) => state.reply?.responseId === responseId;

const withReply = (state, change) => ({ ...state, reply: { ...state.reply, ...change } });

/** The turn of a response, made when its item is first named. */
function begun(state, responseId, itemId, about = {}) {
  const turns = ensured(state.turns, itemId, "assistant", {
    responseId,
    sessionId: state.session?.id ?? null,
    ...about,
  });
  const told = { ...state, turns };
  return isNewest(state, responseId) ? withReply(told, { itemId }) : told;
}

function more(state, { response_id: responseId, item_id: itemId, delta, samples = 0 }) {
  const known = begun(state, responseId, itemId);
  const turns = changed(known.turns, itemId, (turn) => ({ text: turn.text + delta }));
  const told = { ...known, turns };
  if (!isNewest(told, responseId)) return told;
  return withReply(told, { pieces: [...told.reply.pieces, { begin: samples, text: delta }] });
}

/**
 * When it was heard: as long after its first piece was sent as that waited here, in the buffer and
 * the device, and past the silence it opens with.
 */
function timed(turn, { lag, onset }) {
  const sent = turn.timing?.stages.opened;
  if (lag === null || onset === null || sent === undefined) return {};
  const heard = sent + lag + onset / SAMPLES_PER_MS;
  return { timing: { ...turn.timing, heard: Math.round(heard * 10) / 10 } };
}

function retimed(state, id) {
  return { ...state, turns: changed(state.turns, id, (turn) => timed(turn, state.reply)) };
}

/** By the user's voice, or while it spoke: not by what the user does next already. */
function interrupted(state, itemId) {
  const phase = state.user !== null || state.phase === "speaking" ? "interrupted" : state.phase;
  return { ...state, phase, held: false, turns: changed(state.turns, itemId, { interrupted: true }) };
}

/** A response was stopped; one of which nothing sounded leaves no trace. */
function stopped(state, responseId) {
  const turn = state.turns.find((other) => other.responseId === responseId);
  const heard = isNewest(state, responseId) ? state.reply.lag !== null : Boolean(turn?.text);
  const told = isNewest(state, responseId) ? withReply(state, { over: true, done: true }) : state;
  if (turn && heard) return interrupted(told, turn.id);
  const phase = told.user === null && told.phase !== "hearing" ? "listening" : told.phase;
  return { ...told, held: false, phase, turns: turn ? without(told.turns, turn.id) : told.turns };
}

/** Nothing more of the newest reply will sound. */
function fallenSilent(state, during) {
  const phase = state.phase === during ? "listening" : state.phase;
  return { ...withReply(state, { over: true }), held: false, phase };
}

function done(state, { response }) {
  if (response.status === CANCELLED) return stopped(state, response.id);
  const turn = state.turns.find((other) => other.responseId === response.id);
  const about = { partial: false, failed: response.status === "failed" };
  const ended = turn ? { ...state, turns: changed(state.turns, turn.id, about) } : state;
  if (!isNewest(ended, response.id)) return ended;
  const whole = withReply(ended, { done: true });
  return whole.reply.arrivedAt === null ? fallenSilent(whole, "thinking") : whole;
}

/** Of an item that was cut, the server tells what was heard. */
function told(state, item) {
  if (item.role !== "assistant") return state;
  return { ...state, turns: changed(state.turns, item.id, (turn) => cut(turn, textOf(item))) };
}

function played(state, { responseId, samples, why, at, latency = 0 }) {
  if (!isNewest(state, responseId)) return state;
  const news = withReply(state, { played: Math.max(samples, state.reply.played) });
  if (why === "first" && news.reply.lag === null) {
    const lag = Math.max(0, at - (news.reply.arrivedAt ?? at)) + latency;
    const phase = news.user === null && news.phase !== "hearing" ? "speaking" : news.phase;
    return retimed(withReply({ ...news, phase }, { lag }), news.reply.itemId);
  }
  const over = why === "ended" || (why === "flushed" && news.reply.done);
  return over ? fallenSilent(news, "speaking") : news;
}

/**
 * The connection broke under a reply: what sounded of it was heard, the rest never will be.
 *
 * @param {import('./story.js').State} state
 * @returns {import('./story.js').State}
 */
export function brokenOff(state) {
  const { reply } = state;
  if (!reply || reply.over) return state;
  const over = withReply(state, { over: true, done: true });
  const turn = find(state.turns, reply.itemId);
  if (!turn) return over;
  if (!reply.played) return { ...over, turns: without(over.turns, turn.id) };
  if (reply.done && reply.played >= reply.received) return over;
  const heard = wordsUntil(reply.pieces, reply.received, reply.played);
  const about = { ...cut(turn, heard), interrupted: true, broken: true };
  return { ...over, turns: changed(over.turns, turn.id, about) };
}

export const replies = {
  "response.created": (state, { response }) => ({
    ...state,
    phase: state.user === null && state.phase !== "hearing" ? "thinking" : state.phase,
    held: false,
    reply: {
      responseId: response.id,
      itemId: null,
      pieces: [],
      received: 0,
      played: 0,
      arrivedAt: null,
      onset: null,
      lag: null,
      done: false,
      over: false,
    },
  }),

  "attune.style": (state, { response_id: responseId, item_id: itemId, plan }) =>
    begun(state, responseId, itemId, { plan }),

  "response.output_item.added": (state, { response_id: responseId, item }) =>
    begun(state, responseId, item.id),

  "response.output_audio_transcript.delta": more,
  "response.output_text.delta": more,

  "response.output_audio_transcript.done": (state, { item_id: id, transcript }) => ({
    ...state,
    turns: changed(state.turns, id, { text: transcript, partial: false }),
  }),

  "conversation.item.done": (state, { item }) => (item.status === "incomplete" ? told(state, item) : state),
  "conversation.item.retrieved": (state, { item }) =>
    find(state.turns, item.id)?.interrupted ? told(state, item) : state,

  "conversation.item.truncated": (state, { item_id: id }) => interrupted(state, id),
  "response.done": done,

  "output_audio_buffer.cleared": (state) =>
    state.phase === "thinking" && (state.reply?.over ?? true) ? { ...state, phase: "listening" } : state,

  "attune.timing": (state, { response_id: responseId, stages_ms: stages, overhead_ms: overhead }) => {
    const turn = state.turns.find((other) => other.responseId === responseId);
    if (!turn) return state;
    const timing = { stages, overhead, heard: turn.timing?.heard ?? null };
    const news = { ...state, turns: changed(state.turns, turn.id, { timing }) };
    return isNewest(news, responseId) ? retimed(news, turn.id) : news;
  },

  "attune.hold": (state) => ({ ...state, held: true }),
  "attune.resume": (state) => ({ ...state, held: false }),

  "local.audio": (state, { responseId, received, onset, at }) => {
    if (!isNewest(state, responseId)) return state;
    const known = state.reply.onset !== null;
    const news = withReply(state, { received, onset, arrivedAt: state.reply.arrivedAt ?? at });
    return known || onset === null ? news : retimed(news, news.reply.itemId);
  },

  "local.played": played,

};
