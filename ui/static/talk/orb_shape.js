/** How the orb moves: pure numbers, drawn by orb.js. */

const RISE = 28; // per second: a voice shows at once
const FALL = 7; // and fades like one
const TURN = Math.PI * 2;
const MOST = 0.75; // of swelling: what is drawn has to stay on its canvas

/** How lively each phase is: breathing and its pace, waves, and how much of the level shows. */
const MANNERS = Object.freeze({
  idle: { breath: 0.035, pace: 0.9, wave: 0.5, gain: 0, rest: 0.22 },
  connecting: { breath: 0.03, pace: 1.6, wave: 0.4, gain: 0, rest: 0.1 },
  listening: { breath: 0.025, pace: 1.1, wave: 0.7, gain: 1, rest: 0.18 },
  hearing: { breath: 0.015, pace: 1.6, wave: 1.3, gain: 1.25, rest: 0.22 },
  thinking: { breath: 0.03, pace: 2.2, wave: 0.3, gain: 0, rest: 0.08 },
  speaking: { breath: 0.015, pace: 1.5, wave: 1.2, gain: 1.2, rest: 0.2 },
  still: { breath: 0, pace: 0, wave: 0, gain: 0.6, rest: 0.04 },
});

const SAME = { played: "hearing", interrupted: "listening", reconnecting: "connecting" };
const STILL = new Set(["muted", "waiting", "ended", "ready", "writing"]);

/** @param {string} phase */
export function manner(phase) {
  if (STILL.has(phase)) return MANNERS.still;
  return MANNERS[SAME[phase] ?? phase] ?? MANNERS.idle;
}

/**
 * One step of a value towards where it should be: quick up, slow down.
 * @param {number} value @param {number} target @param {number} seconds
 */
export function follow(value, target, seconds) {
  const pace = target > value ? RISE : FALL;
  return target + (value - target) * Math.exp(-pace * seconds);
}

/**
 * The level as the ear takes it: half as loud should look half as large.
 * @param {number} level 0..1
 */
export function felt(level) {
  return Math.min(1, Math.max(0, level)) ** 0.6;
}

/**
 * The radius of one layer in a direction, in parts of the core's.
 * @param {{angle: number, time: number, layer: number, level: number, manner: typeof MANNERS.idle,
 *   moving: boolean}} at
 */
export function reach({ angle, time, layer, level, manner: how, moving }) {
  const swell = Math.min(MOST, how.rest + how.gain * felt(level) * 0.5);
  const still = 1 + swell * (0.28 + 0.13 * layer);
  if (!moving) return still;
  const breath = how.breath * Math.sin(time * how.pace * 1.4 + layer * 0.9);
  const wave =
    Math.sin(angle * 2 + time * how.pace + layer * 2.1) * 0.5 +
    Math.sin(angle * 3 - time * how.pace * 1.3 + layer * 1.3) * 0.32 +
    Math.sin(angle * 5 + time * how.pace * 0.7) * 0.18;
  return still + breath + wave * how.wave * (0.02 + 0.06 * swell) * (1 + layer * 0.25);
}

/** @param {number} parts */
export function* angles(parts) {
  for (let part = 0; part < parts; part += 1) yield (part / parts) * TURN;
}
