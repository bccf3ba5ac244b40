/** The key to a round: what opens it later, to have it deleted. */

import { ApiError } from "../core/api.js";
import { h, replace, stylesheet } from "../core/dom.js";
import { t } from "../core/page.js";
import { forget, sentence } from "./requests.js";

const KEY = /(round_[0-9a-f]{20})[.:\s]+([\w-]{16,128})/g;

/** @param {{id: string, secret: string}} round */
export function keyOf({ id, secret }) {
  return `${id}.${secret}`;
}

/** The rounds a key opens; none if it is no key. @returns {{id: string, secret: string}[]} */
export function readKey(text) {
  return [...text.matchAll(KEY)].map(([, id, secret]) => ({ id, secret }));
}

/** The key, to copy. @param {{id: string, secret: string}} round @returns {HTMLElement} */
export function keyCard(round) {
  stylesheet(import.meta.url, "../closing/closing.css");
  const key = h("input", { class: "field mono", readonly: true, value: keyOf(round), "aria-label": t("compare.key.title") });
  const copied = h("span", { class: "small", role: "status" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(key.value);
      replace(copied, t("closing.key.copied"));
    } catch {
      key.focus(); // it is marked now: the person can copy it by hand
      replace(copied, t("closing.key.by_hand"));
    }
  };
  key.addEventListener("focus", () => key.select());
  return h("div", { class: "key-card compare-key" },
    h("p", {}, h("strong", {}, t("compare.key.title"))),
    h("p", { class: "muted small" }, t("compare.key.why")),
    h("div", { class: "key-line" }, key, h("button", { type: "button", class: "button", on: { click: copy } }, t("closing.key.copy"))),
    copied);
}

/**
 * A quiet link, and behind it the place for the key of an earlier round.
 * @param {{onDelete: () => void}} on
 * @returns {HTMLElement}
 */
export function keyDoor({ onDelete }) {
  stylesheet(import.meta.url, "../closing/closing.css");
  const element = h("div", { class: "key-link compare-door" });
  const link = h("button", { type: "button", class: "button quiet small", on: { click: () => open() } }, t("compare.key.link"));
  const field = h("input", { class: "field mono", id: "compare-key", autocomplete: "off", spellcheck: "false", required: true });
  const said = h("p", { class: "small", role: "status" });
  const remove = h("button", { class: "button danger" }, t("compare.key.delete"));
  const submit = async (event) => {
    event.preventDefault();
    const rounds = readKey(field.value);
    if (!rounds.length) return replace(said, t("compare.key.malformed"));
    remove.disabled = true;
    try {
      for (const round of rounds) await forget(round);
      field.value = "";
      replace(said, t("compare.reveal.deleted"));
      onDelete();
    } catch (error) {
      const gone = error instanceof ApiError && error.status === 404;
      replace(said, gone ? t("compare.key.unknown") : sentence(error));
    } finally {
      remove.disabled = false;
    }
  };
  const form = h("form", { class: "card stack compare-key-form", on: { submit } },
    h("label", { for: "compare-key" }, t("compare.key.enter")), field, said,
    h("div", { class: "row" }, remove,
      h("button", { type: "button", class: "button quiet", on: { click: () => back() } }, t("closing.key.close"))));
  const open = () => {
    replace(element, form);
    field.focus();
  };
  const back = () => {
    field.value = "";
    replace(said);
    replace(element, link);
    link.focus();
  };
  replace(element, link);
  return element;
}
