/** The connection: how it came about, broke, came back and ended. */

import { brokenOff } from "./story_replies.js";
import { ensured } from "./turns.js";

// Said of things that had come to nothing by themselves before our word arrived.
const HARMLESS = new Set([
  "response_cancel_not_active",
  "output_audio_buffer_clear_not_active",
  "conversation_already_has_active_response",
  "item_retrieve_invalid_item_id",
  "model_error", // told by the reply itself
]);

/** Nothing begun stays open: what was being said is cut off there, and of what nobody knows a
 * word, nothing is left. */
function unplugged(state) {
  const broken = brokenOff(state);
  const begun = broken.turns.filter((turn) => turn.text || !turn.partial);
  const turns = begun.map((turn) => {
    const cut = turn.id === state.user ? { interrupted: true } : {};
    return turn.partial ? { ...turn, ...cut, partial: false } : turn;
  });
  return { ...broken, turns, user: null, held: false, queue: null };
}

/** What was going on when the socket was lost, and still is. */
function whereWeWere({ away, reply }, unheard) {
  const silent = away === "speaking" && (reply?.over ?? true);
  const cut = away === "hearing" && unheard;
  return silent || cut || !away || away === "reconnecting" ? "listening" : away;
}

export const connection = {
  "local.connecting": (state) => ({
    ...state, phase: "connecting", problem: null, notice: null, queue: null,
  }),

  "attune.queue": (state, { position, estimate_sec: seconds }) => ({
    ...state,
    problem: null,
    queue: { position, seconds },
  }),

  "session.created": (state) => {
    const seated = state.queue ? { ...state, queue: null } : state;
    return state.phase === "connecting" ? { ...seated, phase: "listening", problem: null } : seated;
  },

  "attune.session": (state, { id, secret }) => ({
    ...state,
    session: { id, secret },
    sessions: [...state.sessions.filter((known) => known.id !== id), { id, secret }],
    recording: state.session?.id === id ? state.recording : null,
  }),

  "attune.recording": (state, { recording, scopes, reason }) => ({
    ...state,
    recording: { recording, scopes, reason },
  }),

  error: (state, { error }) => {
    if (error.code === "session_limit_reached") return { ...state, problem: { kind: "full" } };
    if (HARMLESS.has(error.code)) return state;
    if (error.code === "input_audio_buffer_commit_empty") {
      return { ...state, phase: "listening", notice: { kind: "too_short" } };
    }
    return { ...state, notice: { kind: "error" } };
  },

  "local.dropped": (state, { stopping = false }) => ({
    ...unplugged(state),
    phase: "reconnecting",
    problem: stopping ? { kind: "gone" } : null,
    notice: { kind: "dropped" },
    recording: null,
  }),

  // The socket is gone, the session is not: whatever was being said may yet go on.
  "local.away": (state) => ({
    ...state,
    phase: "reconnecting",
    away: state.phase,
    problem: null,
    notice: { kind: "dropped" },
  }),

  // `unheard`: what was being said while a button was held is lost.
  "local.resumed": (state, { unheard = false }) => ({
    ...state,
    phase: state.phase === "reconnecting" ? whereWeWere(state, unheard) : state.phase,
    away: null,
    problem: null,
    notice: { kind: "resumed" },
    reconnected: state.reconnected + 1,
  }),

  "local.waiting": (state, { kind, seconds }) => ({
    ...state,
    problem: kind ? { kind, seconds } : null,
    queue: null,
  }),

  "local.reconnected": (state, { thinking = false }) => ({
    ...state,
    phase: thinking ? "thinking" : "listening",
    problem: null,
    notice: { kind: "reconnected" },
    reconnected: state.reconnected + 1,
  }),

  "local.problem": (state, { kind }) => ({ ...state, problem: kind ? { kind } : null }),
  "local.notice": (state, { kind }) => ({ ...state, notice: kind ? { kind } : null }),

  "local.greeting": (state, { id, text }) => ({
    ...state,
    turns: ensured(state.turns, id, "assistant", { text, partial: false, spoken: false }),
  }),

  "local.failed": (state, { kind }) => ({
    ...unplugged(state),
    phase: state.session ? "ended" : "idle",
    problem: { kind },
    notice: null,
    recording: null,
  }),

  "local.ended": (state) => ({ ...unplugged(state), phase: "ended", problem: null, notice: null }),
};
