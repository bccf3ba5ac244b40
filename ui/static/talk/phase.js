/** What the big button says and does, from what is going on. Pure. */

/**
 * @typedef {{muted: boolean, pushToTalk: boolean, pressed: boolean, silent: boolean,
 *   demo: "waits"|"plays"|null}} Hands
 * `silent`: there is no microphone; prepared recordings (`demo`) or writing stand in for it.
 */

/**
 * The phase as a person would name it.
 * @param {string} phase @param {Hands} hands
 */
export function shown(phase, { muted, pushToTalk, pressed, silent, demo }) {
  if (phase === "thinking" || phase === "speaking" || phase === "reconnecting") return phase;
  if (phase === "connecting" || phase === "ended" || phase === "idle") return phase;
  if (pushToTalk && pressed) return "hearing";
  if (silent && phase === "hearing") return "played";
  if (silent && phase === "listening") return demo ? "ready" : "writing";
  if (silent) return phase;
  if (muted) return "muted";
  if (pushToTalk && phase !== "interrupted") return "waiting";
  return phase;
}

/**
 * What pressing the big button does now.
 * @param {string} phase as shown @param {Hands} hands
 * @returns {"stop"|"hold"|"mute"|"unmute"|"play"|"write"|"none"}
 */
export function deed(phase, { pushToTalk, muted, silent, demo }) {
  if (phase === "connecting" || phase === "reconnecting" || phase === "ended") return "none";
  if (pushToTalk && !silent) return "hold";
  if (phase === "speaking" || phase === "thinking") return "stop";
  if (phase === "writing") return "write";
  if (silent) return phase === "ready" && demo === "waits" ? "play" : "none";
  return muted ? "unmute" : "mute";
}

/**
 * Whose level the ring shows.
 * @param {string} phase as shown
 * @returns {"input"|"output"|null}
 */
export function voiceOf(phase) {
  if (phase === "speaking") return "output";
  if (["listening", "hearing", "played", "interrupted"].includes(phase)) return "input";
  return null;
}
