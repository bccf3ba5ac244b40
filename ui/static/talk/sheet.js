/** A dialogue over the page, closed with Escape, its button, or a press beside it. */

import { h, stylesheet } from "../core/dom.js";
import { t } from "../core/page.js";
import { icon } from "./icons.js";

stylesheet(import.meta.url, "./sheet.css");

/**
 * @param {HTMLElement} place where it lives in the page, for its colours
 * @param {string} title
 * @param {...any} body
 * @returns {Promise<void>} once it is closed
 */
export function openSheet(place, title, ...body) {
  const close = h("button", { class: "button quiet icon", type: "button", "aria-label": t("talk.options.close") },
    icon("close"));
  const inside = h("div", { class: "talk-sheet-inside" },
    h("header", { class: "talk-sheet-head" }, h("h2", { id: "talk-sheet-title" }, title), close), ...body);
  const sheet = h("dialog", { class: "talk-sheet", "aria-labelledby": "talk-sheet-title" }, inside);
  const closed = new Promise((resolve) => {
    sheet.addEventListener("close", () => {
      sheet.remove();
      resolve();
    }, { once: true });
  });
  close.addEventListener("click", () => sheet.close());
  sheet.addEventListener("pointerdown", (event) => event.target === sheet && sheet.close());
  place.append(sheet);
  sheet.showModal();
  return closed;
}
