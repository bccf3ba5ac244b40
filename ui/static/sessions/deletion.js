/** Deleting a session: what goes is named first, what went afterwards. */

import { h, replace } from "../core/dom.js";
import { t } from "../core/page.js";
import { clock } from "./scale.js";
import { remove } from "./requests.js";

/**
 * @param {{id: string, summary: any}} of
 * @param {() => void} onGone
 */
export function deletion({ id, summary }, onGone) {
  const place = h("div", { class: "stack" });
  const ask = () => {
    const no = h("button", { class: "button", on: { click: rest } }, t("sessions.delete.keep"));
    replace(place,
      h("p", { id: "goes" }, t("sessions.delete.sure")),
      h("ul", { class: "goes" }, goes(summary).map((each) => h("li", {}, each))),
      h("p", { class: "muted" }, t("sessions.delete.stays")),
      h("div", { class: "row" },
        h("button", { class: "button danger solid", "aria-describedby": "goes", on: { click: act } }, t("sessions.delete.yes")), no));
    no.focus();
  };
  const rest = () => {
    const button = h("button", { class: "button danger", on: { click: ask } }, t("sessions.delete.button"));
    replace(place, h("div", {}, button));
    return button;
  };
  const act = async () => {
    replace(place, h("p", { role: "status" }, t("sessions.delete.going")));
    try {
      told(await remove(id));
    } catch (error) {
      replace(place, h("p", { class: "complaint", role: "alert" }, error.message),
        h("div", {}, h("button", { class: "button", on: { click: ask } }, t("shell.again"))));
    }
  };
  const told = (gone) => {
    if (gone.message) {
      replace(place, h("p", { role: "status" }, t("sessions.delete.soon")));
      return;
    }
    const copies = [...gone.exports, ...gone.left];
    if (!copies.length) {
      onGone();
      return;
    }
    replace(place, h("p", { role: "status" }, t("sessions.delete.gone")),
      h("p", {}, t("sessions.delete.copies")), h("ul", { class: "mono" }, copies.map((each) => h("li", {}, each))),
      h("div", {}, h("button", { class: "button", on: { click: onGone } }, t("sessions.delete.done"))));
  };
  rest();
  return h("section", { class: "card stack deletion" }, h("h2", {}, t("sessions.delete.title")), place);
}

/** What would be lost, in words. */
function goes(summary) {
  const found = [];
  if (summary.audio) found.push(t("sessions.delete.sound", { time: clock(summary.seconds ?? 0) }));
  if (summary.transcript) found.push(t("sessions.delete.words"));
  if (summary.audio || summary.transcript) found.push(t("sessions.delete.voice"));
  found.push(t("sessions.delete.timings"));
  if (summary.user_ratings + summary.expert_ratings > 0) found.push(t("sessions.delete.ratings"));
  if (summary.notes || summary.tags?.length) found.push(t("sessions.delete.notes"));
  found.push(t("sessions.delete.made"));
  return found;
}
