/** What the user says, and how it sounds. */

import { changed, ensured, find, textOf, without } from "./turns.js";

const TRANSCRIPTION = "conversation.item.input_audio_transcription";

/** The user's words are known, or will never be: with none there is nothing to answer. */
function understood(state, id, about) {
  const turns = about.text || about.failed ? changed(state.turns, id, about) : without(state.turns, id);
  const nothing = !about.text && state.phase === "thinking" && (state.reply?.over ?? true);
  return { ...state, turns, phase: nothing ? "listening" : state.phase };
}

/** An item joined the conversation: the page may know it already. */
function added(state, { item }) {
  if (item.type !== "message" || find(state.turns, item.id)) return state;
  if (item.role !== "user") return state; // a reply's turn begins with its response
  const text = textOf(item);
  const spoken = (item.content ?? []).some((part) => part.type === "input_audio");
  const about = { text, spoken, partial: spoken, sessionId: state.session?.id ?? null };
  return { ...state, turns: ensured(state.turns, item.id, "user", about) };
}

export const speech = {
  "input_audio_buffer.speech_started": (state, { item_id: id }) => ({
    ...state,
    phase: "hearing",
    notice: null,
    held: false,
    user: id,
    turns: ensured(without(state.turns, state.user), id, "user", {
      sessionId: state.session?.id ?? null,
    }),
  }),

  "input_audio_buffer.speech_stopped": (state) => ({ ...state, phase: "thinking", user: null }),

  "input_audio_buffer.cleared": (state) => ({
    ...state,
    user: null,
    turns: without(state.turns, state.user),
  }),

  "conversation.item.created": added,
  "conversation.item.added": added,

  [`${TRANSCRIPTION}.delta`]: (state, { item_id: id, delta }) => ({
    ...state,
    phase: state.phase === "interrupted" && state.user === id ? "hearing" : state.phase,
    turns: changed(state.turns, id, (turn) => ({ text: turn.text + delta })),
  }),

  [`${TRANSCRIPTION}.completed`]: (state, { item_id: id, transcript }) =>
    understood(state, id, { text: transcript.trim(), partial: false }),

  [`${TRANSCRIPTION}.failed`]: (state, { item_id: id }) =>
    understood(state, id, { text: "", partial: false, failed: true }),

  "attune.percept": (state, { item_id: itemId, percept, final }) => ({
    ...state,
    percept: { percept, final, itemId },
    turns: changed(state.turns, itemId, { percept }),
  }),

  "local.text": (state, { id, text }) => ({
    ...state,
    phase: "thinking",
    notice: null,
    turns: ensured(state.turns, id, "user", {
      text,
      partial: false,
      spoken: false,
      sessionId: state.session?.id ?? null,
    }),
  }),

  "local.unperceived": (state) => ({ ...state, percept: null }),

  "local.pressed": (state) => ({ ...state, phase: "hearing", notice: null }),
  "local.released": (state) => ({ ...state, phase: "thinking" }),
  "local.too_short": (state) => ({ ...state, phase: "listening", notice: { kind: "too_short" } }),
};
