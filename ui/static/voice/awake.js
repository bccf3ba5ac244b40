/** Keeps a phone from going to sleep in mid-conversation. */

/** @param {AbortSignal} signal until when */
export function stayAwake(signal) {
  if (!navigator.wakeLock) return;
  let lock = null;
  const ask = async () => {
    if (document.visibilityState !== "visible" || signal.aborted) return;
    const given = await navigator.wakeLock.request("screen").catch(() => null); // battery low
    if (signal.aborted) given?.release();
    else lock = given;
  };
  document.addEventListener("visibilitychange", ask, { signal }); // it is lost with every hiding
  signal.addEventListener("abort", () => lock?.release(), { once: true });
  ask();
}
