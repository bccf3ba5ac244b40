/** Which key does what. Pure, so that the help sheet and the keyboard cannot disagree. */

/** @type {ReadonlyArray<{keys: string[], action: string}>} */
export const SHORTCUTS = Object.freeze([
  { keys: ["Space"], action: "talk" },
  { keys: ["m"], action: "mute" },
  { keys: ["s"], action: "stop" },
  { keys: ["t"], action: "type" },
  { keys: ["p"], action: "push" },
  { keys: ["+", "="], action: "larger" },
  { keys: ["-"], action: "smaller" },
  { keys: ["o"], action: "options" },
  { keys: ["e"], action: "end" },
  { keys: ["?"], action: "help" },
]);

/**
 * The action a key stands for, or null.
 * @param {{key: string, code: string, ctrlKey?: boolean, metaKey?: boolean, altKey?: boolean}} event
 */
export function actionOf(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const pressed = event.code === "Space" ? "Space" : event.key.toLowerCase();
  return SHORTCUTS.find(({ keys }) => keys.includes(pressed))?.action ?? null;
}

/**
 * Whether keys are for us: not while somebody writes, and space not while a control has it.
 * @param {Element | null} focused @param {string} action
 * @param {boolean} holding the large button is held to talk, and not pressed
 */
export function forUs(focused, action, holding) {
  if (!focused || focused === document.body) return true;
  if (focused.closest("input, textarea, select, [contenteditable=true], dialog")) return false;
  if (action !== "talk") return true;
  if (focused.closest(".orb")) return holding;
  return !focused.closest("button, a, summary, [tabindex]");
}
