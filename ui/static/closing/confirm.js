/** A button for what cannot be undone: it asks once more, in its own place. */

import { h, replace } from "../core/dom.js";
import { t } from "../core/page.js";

/**
 * @param {{label: string, question: string, yes: string, danger?: boolean,
 *   act: () => Promise<void>}} options
 * @returns {HTMLElement}
 */
export function confirmed({ label, question, yes, danger = false, act }) {
  const first = h("button", {
    type: "button", class: danger ? "button danger" : "button small", on: { click: ask },
  }, label);
  const element = h("div", { class: "confirm" }, first);

  function ask() {
    const agree = h("button", { type: "button", class: "button danger", on: { click: () => go(agree) } }, yes);
    const no = h("button", { type: "button", class: "button", on: { click: back } }, t("closing.no"));
    replace(element, h("div", { class: "asked", role: "group", "aria-label": question },
      h("p", {}, question), h("div", { class: "row" }, agree, no)));
    no.focus();
  }

  function back() {
    replace(element, first);
    first.focus();
  }

  async function go(button) {
    for (const each of element.querySelectorAll("button")) each.disabled = true;
    button.textContent = t("closing.working");
    try {
      await act();
    } catch (error) {
      replace(element, first, h("p", { class: "complaint small", role: "alert" }, error.message));
    }
  }

  return element;
}
