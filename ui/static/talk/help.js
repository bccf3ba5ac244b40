/** The keys, as the page itself uses them. */

import { h } from "../core/dom.js";
import { t } from "../core/page.js";
import { SHORTCUTS } from "./keys.js";
import { openSheet } from "./sheet.js";

/** @param {HTMLElement} place */
export function openHelp(place) {
  const rows = SHORTCUTS.map(({ keys, action }) =>
    h("tr", {}, h("th", { scope: "row" }, caps(keys)), h("td", {}, t(`talk.keys.${action}`))));
  return openSheet(place, t("talk.help.title"),
    h("p", { class: "muted small" }, t("talk.help.note")),
    h("table", { class: "keys" }, h("tbody", {}, rows)));
}

function caps(keys) {
  return keys.flatMap((key, place) => [
    place ? ` ${t("talk.help.or")} ` : null,
    h("kbd", {}, key === "Space" ? t("talk.help.space") : key.toUpperCase()),
  ]);
}
