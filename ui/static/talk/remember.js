/** What this browser remembers of the way somebody likes to talk. Never what they consented to. */

const KEY = "attune.talk";

export const SIZES = Object.freeze(["s", "m", "l", "xl"]);

const DEFAULTS = Object.freeze({
  captions: "m",
  perception: true,
  pushToTalk: false,
  shortcuts: true,
  input: "",
  output: "",
});

/**
 * Only what we know, and only of the kind it should be: storage can hold anything.
 * @param {unknown} stored
 */
export function sound(stored) {
  const known = { ...DEFAULTS };
  if (typeof stored !== "object" || stored === null) return known;
  for (const [name, usual] of Object.entries(DEFAULTS)) {
    if (typeof stored[name] === typeof usual) known[name] = stored[name];
  }
  if (!SIZES.includes(known.captions)) known.captions = DEFAULTS.captions;
  return known;
}

/** What holds for somebody nothing is known of. */
export const usual = () => ({ ...DEFAULTS });

/** Everything that is remembered, with what is usual in place of what is not. */
export function remembered() {
  try {
    return sound(JSON.parse(localStorage.getItem(KEY) ?? "null"));
  } catch {
    return usual(); // storage may be switched off, or hold what is not JSON
  }
}

/**
 * Remembers what is chosen now, and returns it.
 * @param {typeof DEFAULTS} chosen until now
 * @param {Partial<typeof DEFAULTS>} changes
 * @param {{keep?: boolean}} [options] without `keep` it holds for this visit only
 */
export function remember(chosen, changes, { keep = true } = {}) {
  const now = sound({ ...chosen, ...changes });
  if (!keep) return now;
  try {
    localStorage.setItem(KEY, JSON.stringify(now));
  } catch {
    // Without storage the choice holds for this visit.
  }
  return now;
}

/** @param {string} size @param {number} step */
export function resized(size, step) {
  const place = Math.max(0, SIZES.indexOf(size)) + step;
  return SIZES[Math.min(SIZES.length - 1, Math.max(0, place))];
}
