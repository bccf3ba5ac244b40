/** Says politely, to those who do not see the page, what is going on and what was said. */

import { h } from "../core/dom.js";
import { settings, t } from "../core/page.js";

/**
 * Turns that are complete and have not been told, oldest first.
 * @param {{id: string, role: string, text: string, partial: boolean}[]} turns
 * @param {Set<string>} told
 */
export function news(turns, told) {
  return turns.filter((turn) => !turn.partial && turn.text && !told.has(turn.id));
}

/** @returns {{element: HTMLElement, phase: (words: string) => void, turns: (turns: object[]) => void}} */
export function announcer() {
  const now = h("p", { role: "status", "aria-live": "polite" });
  const log = h("div", { role: "log", "aria-live": "polite", "aria-label": t("talk.conversation") });
  const told = new Set();
  const phase = (words) => {
    if (now.textContent !== words) now.textContent = words;
  };
  const turns = (all) => {
    for (const turn of news(all, told)) {
      told.add(turn.id);
      const who = turn.role === "user" ? t("talk.you") : t("talk.reply", { name: settings.name });
      log.append(h("p", {}, `${who}: ${turn.text}`));
    }
    while (log.childElementCount > 6) log.firstElementChild.remove(); // the chat holds them all
  };
  return { element: h("div", { class: "sr-only" }, now, log), phase, turns };
}
