/** The keyboard, for those who use it: each key does what keys.js says. */

import { actionOf, forUs } from "./keys.js";

/**
 * @param {Record<string, (down: boolean) => void>} deeds by action; only `talk` also hears the key go up
 * @param {(action: string) => boolean} wanted
 * @param {() => boolean} holding see keys.js
 */
export function listenToKeys(deeds, wanted, holding) {
  let held = false;
  document.addEventListener("keydown", (event) => {
    const action = actionOf(event);
    if (!action || event.repeat || !wanted(action)) {
      if (held && event.code === "Space") event.preventDefault(); // a held key scrolls the page
      return;
    }
    if (!forUs(document.activeElement, action, holding())) return;
    event.preventDefault();
    held ||= action === "talk";
    deeds[action](true);
  });
  const up = (event) => {
    if (!held || (event.type === "keyup" && event.code !== "Space")) return;
    held = false;
    event.preventDefault();
    if (wanted("talk")) deeds.talk(false);
  };
  document.addEventListener("keyup", up);
  window.addEventListener("blur", up); // the key may go up where we do not hear it
}
