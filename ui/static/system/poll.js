/** Asking again and again, as long as somebody looks. */

/**
 * Call `ask` at once and every so often while the page is visible and the element is in it.
 * @param {HTMLElement} element
 * @param {(awake: boolean) => Promise<boolean | void>} ask `awake`: the first time, or after a
 *   time nobody looked; once it answers false, it is not called again
 * @param {number} everyMs
 */
export function whileSeen(element, ask, everyMs) {
  let timer = null;
  let busy = false;
  let slept = true;
  let shown = false;
  const listening = new AbortController();

  async function turn() {
    timer = null;
    shown ||= element.isConnected; // it may be put into the page a moment later
    if (shown && !element.isConnected) {
      listening.abort();
      return;
    }
    if (document.hidden || busy) return;
    busy = true;
    const awake = slept;
    slept = false;
    const goesOn = await ask(awake).catch(() => true);
    busy = false;
    if (goesOn === false) listening.abort();
    else timer = setTimeout(turn, everyMs);
  }

  function seen() {
    if (document.hidden) {
      clearTimeout(timer);
      timer = null;
      slept = true;
    } else if (timer === null) {
      turn();
    }
  }

  document.addEventListener("visibilitychange", seen, { signal: listening.signal });
  listening.signal.addEventListener("abort", () => clearTimeout(timer));
  turn();
}
