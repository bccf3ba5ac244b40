/** The key to a conversation, to be kept by whoever held it. */

import { h } from "../core/dom.js";
import { t } from "../core/page.js";
import { keyOf } from "./keep.js";

/** The key of these conversations, to copy. @param {{id: string, secret: string}[]} sessions */
export function keyCard(sessions) {
  const key = h("input", { class: "field mono", readonly: true, value: keyOf(sessions), "aria-label": t("closing.key.title") });
  const copied = h("span", { class: "small", role: "status" });
  const copy = h("button", { type: "button", class: "button" }, t("closing.key.copy"));
  key.addEventListener("focus", () => key.select());
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(key.value);
      copied.textContent = t("closing.key.copied");
    } catch {
      key.focus(); // it is marked now: the person can copy it by hand
      copied.textContent = t("closing.key.by_hand");
    }
  });
  return h("div", { class: "key-card" },
    h("p", {}, h("strong", {}, t("closing.key.title"))),
    h("p", { class: "muted small" }, t("closing.key.why")),
    h("div", { class: "key-line" }, key, copy), copied);
}
