/** A percept as findings: what was heard, how likely it is, and whether to rely on it. Pure. */

/** The names of `models/perception/labels.toml`. `one`: their chances add up to 1. */
export const DIMENSIONS = [
  { name: "emotion", field: "emotion", one: true, rest: "neutral",
    names: ["happy", "surprise", "neutral", "sad", "fear", "disgust", "angry"] },
  { name: "age", field: "age", one: true, rest: "adult", names: ["child", "adult", "elderly"] },
  { name: "gender", field: "gender", one: true, names: ["female", "male"] },
  { name: "speed", field: "speed", one: true, rest: "normal", names: ["slow", "normal", "fast"] },
  { name: "volume", field: "volume", one: true, rest: "normal", names: ["whisper", "normal", "shout"] },
  { name: "physiological", field: "physiological", names: ["tired", "hoarse", "breath", "sobbing"] },
  { name: "nonverbal", field: "events",
    names: ["laughter", "sigh", "yawn", "cough", "moan", "sneeze", "throat", "scream"] },
  { name: "weather", field: "environment", names: ["wind", "rain", "thunderstorm"] },
  { name: "location", field: "environment", names: ["car", "subway", "sea", "basketball"] },
  { name: "human_sounds", field: "environment", names: ["applause", "cheering", "chatter", "children"] },
  { name: "sudden_events", field: "environment", names: ["alarm", "ringtone", "horn"] },
  { name: "other", field: "environment", names: ["music", "dog"] },
];

export const EMOTIONS = DIMENSIONS[0].names;
export const PRIVATE = new Set(["age", "gender"]); // shown only where the operator wants it
export const LIKELY = 0.5; // below it nobody is sure
const FAINT = 0.25; // below it something that need not be there is not worth a word

/**
 * @typedef {{dimension: string, name: string | null, chance: number | null, sure: boolean,
 *   unknown: boolean}} Finding `name` is null where there is nothing to name.
 */

/**
 * What can be told of each dimension the weights in use can hear, in a settled order. One that
 * may hold several things at once is told once for each of them, and not at all for none.
 * @param {object} percept as in docs/wire.md
 * @param {{showAgeGender?: boolean}} [options]
 * @returns {Finding[]}
 */
export function findings(percept, { showAgeGender = true } = {}) {
  const shown = DIMENSIONS.filter((each) => showAgeGender || !PRIVATE.has(each.name));
  return shown.flatMap((dimension) => of(percept, dimension));
}

function of(percept, dimension) {
  const unknown = isUnknown(percept, dimension.name);
  const heard = chances(percept, dimension);
  if (!heard.length) return [];
  const told = dimension.one ? [heard[0]] : heard.filter(([, chance]) => chance >= FAINT);
  if (unknown && !dimension.one) return [finding(dimension, null, null, true)];
  return told.map(([name, chance]) => finding(dimension, name, chance, unknown));
}

function finding({ name: dimension }, name, chance, unknown) {
  return { dimension, name, chance, sure: !unknown && chance >= LIKELY, unknown };
}

/** The names of a dimension that can be heard, the likeliest first. @returns {[string, number][]} */
export function chances(percept, dimension) {
  const deaf = new Set(percept.not_heard ?? []);
  const given = percept[dimension.field] ?? {};
  return dimension.names
    .filter((name) => name in given && !deaf.has(name))
    .map((name) => [name, given[name]])
    .sort((one, other) => other[1] - one[1]);
}

/** Whether nobody should rely on a dimension here. */
export function isUnknown(percept, dimension) {
  return (percept.unknown ?? []).includes(dimension);
}

/** Whether something stands out: an adult at a normal pace is no news. @param {Finding} finding */
export function stands(finding) {
  const { rest } = DIMENSIONS.find((each) => each.name === finding.dimension);
  return finding.sure && finding.name !== rest;
}

/**
 * Sounds the person made, each with when it was if that is known.
 * @returns {{name: string, chance: number, at: number | null}[]}
 */
export function sounds(percept) {
  const moments = percept.moments ?? [];
  const timed = moments.map(({ name, start, probability }) => ({ name, chance: probability, at: start }));
  const named = new Set(moments.map(({ name }) => name));
  const others = findings(percept)
    .filter(({ dimension, name }) => dimension === "nonverbal" && name && !named.has(name))
    .map(({ name, chance }) => ({ name, chance, at: null }));
  return [...timed.sort((one, other) => one.at - other.at), ...others];
}

/**
 * Where a voice lies on the round plane of feeling: x from unpleasant to pleasant, y from calm to
 * lively, both -1 to 1 and within the circle.
 * @param {{valence: number, arousal: number} | null | undefined} affect 1 to 5; 3 is the middle
 */
export function place(affect) {
  if (!affect) return null;
  const x = (affect.valence - 3) / 2;
  const y = (affect.arousal - 3) / 2;
  const length = Math.max(1, Math.hypot(x, y));
  return { x: x / length, y: y / length };
}

/** How the voice was on the whole. @returns {{valence: number, arousal: number} | null} */
export function affect(percept) {
  return percept.vad?.expressed ?? null;
}
