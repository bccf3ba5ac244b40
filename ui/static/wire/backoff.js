/** When to try again. */

const WAITS_MS = [500, 1_000, 2_000, 4_000, 8_000];
const JITTER = 0.25; // so that many pages do not come back all at once

/**
 * The wait before a try, in ms; the last one stands for all that follow.
 *
 * @param {number} tried how often it was tried before
 * @param {number} [chance] between 0 and 1
 * @returns {number}
 */
export function waitBefore(tried, chance = Math.random()) {
  const wait = WAITS_MS[Math.min(tried, WAITS_MS.length - 1)];
  return wait * (1 - JITTER + 2 * JITTER * chance);
}

/**
 * Pass some time, or less if something is worth waking up for.
 *
 * @param {number} ms
 * @param {EventTarget} target
 * @param {string[]} events
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export function pause(ms, target, events, signal) {
  return new Promise((resolve) => {
    const over = new AbortController();
    const wake = () => {
      clearTimeout(timer);
      over.abort();
      resolve();
    };
    const timer = setTimeout(wake, ms);
    if (signal.aborted) wake();
    for (const event of events) target.addEventListener(event, wake, { signal: over.signal });
    signal.addEventListener("abort", wake, { signal: over.signal });
  });
}
