/** The way back to an earlier conversation: its key. */

import { h, replace, stylesheet } from "../core/dom.js";
import { t } from "../core/page.js";
import { closingPanel } from "./closing.js";
import { lookUp, readKey } from "./keep.js";

/**
 * Where somebody enters the key of an earlier conversation; it then shows what is kept of it.
 * @param {{onClose?: () => void}} [options]
 * @returns {HTMLElement}
 */
export function keyEntry({ onClose } = {}) {
  stylesheet(import.meta.url, "./closing.css");
  const field = h("input", {
    class: "field mono", id: "closing-key", autocomplete: "off", spellcheck: "false", required: true,
    "aria-describedby": "closing-key-problem",
  });
  const problem = h("p", { class: "complaint small", id: "closing-key-problem", role: "alert" });
  const close = onClose && h("button", { type: "button", class: "button quiet", on: { click: onClose } }, t("closing.key.close"));
  const element = h("section", { class: "key-entry" });
  const submit = async (event) => {
    event.preventDefault();
    problem.textContent = "";
    const sessions = readKey(field.value);
    try {
      if (!sessions.length) problem.textContent = t("closing.key.malformed");
      else if (!(await lookUp(sessions)).length) problem.textContent = t("closing.key.unknown");
      else replace(element, closingPanel({ sessions, later: true }), close);
    } catch (error) {
      problem.textContent = error.message;
    }
  };
  replace(element, h("form", { class: "card stack", on: { submit } },
    h("label", { for: "closing-key" }, t("closing.key.enter")), field, problem,
    h("div", { class: "row" }, h("button", { class: "button primary" }, t("closing.key.open")), close)));
  return element;
}

/** A quiet link that opens the place for the key beneath it. @returns {HTMLElement} */
export function keyLink() {
  const element = h("div", { class: "key-link" });
  const link = h("button", { type: "button", class: "button quiet small", on: { click: open } }, t("closing.key.link"));

  function open() {
    const entry = keyEntry({ onClose: back });
    replace(element, entry);
    entry.querySelector("input").focus();
  }

  function back() {
    replace(element, link);
    link.focus();
  }

  replace(element, link);
  return element;
}
