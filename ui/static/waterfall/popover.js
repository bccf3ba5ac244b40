/** A small sheet beside a button: closed by Escape, by a press outside, or by the button itself. */

import { h } from "../core/dom.js";
import { t } from "../core/page.js";

const MARGIN = 12; // px
const sheets = new WeakMap(); // button: what closes its sheet

/**
 * Open the button's sheet, or close it if it is open.
 * @param {HTMLElement} button
 * @param {() => Node} content
 * @param {string} label
 */
export function opened(button, content, label) {
  const close = sheets.get(button);
  if (close) close();
  else open(button, content(), label);
}

function open(button, content, label) {
  const over = new AbortController();
  const cross = h("button", {
    type: "button", class: "button quiet small icon close", "aria-label": t("waterfall.close"),
    on: { click: () => close() },
  }, "✕");
  // "manual": with "auto" a press on the button would close the sheet and open it again.
  const sheet = h("div", { popover: "manual", class: "sheet", role: "dialog", "aria-label": label, tabindex: "-1" },
    h("div", { class: "sheet-head" }, h("strong", {}, label), cross), content);

  function close() {
    const within = sheet.contains(document.activeElement);
    over.abort();
    sheets.delete(button);
    sheet.remove();
    button.setAttribute("aria-expanded", "false");
    if (within) button.focus();
  }

  sheets.set(button, close);
  button.after(sheet);
  button.setAttribute("aria-expanded", "true");
  document.addEventListener("pointerdown", ({ target }) => {
    if (!sheet.contains(target) && !button.contains(target)) close();
  }, { signal: over.signal });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  }, { signal: over.signal, capture: true });
  sheet.showPopover();
  beside(sheet, button);
  sheet.focus();
}

/** Below the button where there is room, else above; never beyond the window. */
function beside(sheet, button) {
  const about = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = sheet;
  const room = document.documentElement;
  const left = Math.min(about.left, room.clientWidth - width - MARGIN);
  const below = about.bottom + 8;
  const fits = below + height + MARGIN <= room.clientHeight;
  sheet.style.left = `${Math.max(MARGIN, left)}px`;
  sheet.style.top = `${fits ? below : Math.max(MARGIN, about.top - height - 8)}px`;
}
