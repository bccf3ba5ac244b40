/** Which position of a session lies at which pixel. Pure; positions are samples. */

export const CLOSEST = 0.25; // seconds: nothing shorter fills the view

/** @typedef {{start: number, end: number}} View */

/**
 * @param {View} view
 * @param {number} width in pixels
 */
export function scale(view, width) {
  const ratio = (view.end - view.start) / Math.max(width, 1);
  return {
    ratio,
    x: (position) => (position - view.start) / ratio,
    at: (x) => view.start + x * ratio,
  };
}

/** Closer (factor < 1) or farther, so that `around` stays where it is. @returns {View} */
export function zoomed(view, factor, around, total, rate) {
  const shortest = Math.min(CLOSEST * rate, total);
  const length = Math.min(Math.max((view.end - view.start) * factor, shortest), total);
  const share = (around - view.start) / (view.end - view.start);
  return within(around - share * length, length, total);
}

/** @returns {View} */
export function moved(view, by, total) {
  return within(view.start + by, view.end - view.start, total);
}

/** The view that shows a position, moved only if it must be. @returns {View} */
export function showing(view, position, total) {
  const length = view.end - view.start;
  if (position >= view.start && position <= view.end) return view;
  return within(position - length * 0.1, length, total);
}

/** The view that shows a whole stretch with some air around it. @returns {View} */
export function around(start, end, total, rate) {
  const length = Math.max((end - start) * 1.2, CLOSEST * rate);
  return within((start + end) / 2 - length / 2, Math.min(length, total), total);
}

/**
 * Where the ruler has its marks: round times, about `apart` pixels from each other.
 * @returns {{at: number, label: string}[]}
 */
export function ticks(view, width, rate, apart = 90) {
  const seconds = (view.end - view.start) / rate;
  const wanted = (seconds * apart) / Math.max(width, 1);
  const step = STEPS.find((each) => each >= wanted) ?? STEPS.at(-1);
  const first = Math.ceil(view.start / rate / step - 1e-9);
  const found = [];
  for (let n = first; n * step * rate <= view.end; n += 1) {
    found.push({ at: Math.round(n * step * rate), label: clock(n * step, step < 1 ? (step < 0.1 ? 2 : 1) : 0) });
  }
  return found;
}

const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];

/** Seconds as 0:42, 1:05:09 or 0:42.5. */
export function clock(seconds, digits = 0) {
  const unit = 10 ** digits;
  const whole = Math.round(Math.max(seconds, 0) * unit);
  const [hours, minutes] = [Math.floor(whole / unit / 3600), Math.floor(whole / unit / 60) % 60];
  const rest = ((whole / unit) % 60).toFixed(digits).padStart(digits ? digits + 3 : 2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

function within(start, length, total) {
  const begin = Math.min(Math.max(start, 0), Math.max(total - length, 0));
  return { start: begin, end: begin + length };
}
