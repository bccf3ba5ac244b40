/** Short words about the conversation itself: that it was interrupted, or will close by itself. */

import { h, replace } from "../core/dom.js";
import { has, t } from "../core/page.js";
import { icon } from "./icons.js";

const SHOWN = 8_000; // ms
const LASTING = new Set(["dropped", "offline"]); // as long as it is so

/** @param {{onStay: () => void, onDismiss: () => void}} options */
export function notices({ onStay, onDismiss }) {
  const place = h("div", { class: "notices", role: "status" });
  const leaving = h("div", { class: "notices" });
  let last = null;
  let timer = 0;

  const hide = () => replace(place);
  const dismiss = () => {
    hide();
    onDismiss();
  };
  const state = ({ notice }) => {
    if (notice === last) return;
    last = notice;
    clearTimeout(timer);
    const key = notice && `talk.notice.${notice.kind}`;
    if (!key || !has(key)) return hide();
    replace(place, h("div", { class: "notice" }, h("p", {}, t(key)),
      h("button", { class: "button quiet icon", type: "button", "aria-label": t("talk.notice.close"), on: { click: dismiss } },
        icon("close"))));
    if (!LASTING.has(notice.kind)) timer = setTimeout(dismiss, SHOWN);
  };
  const left = (seconds) => {
    if (seconds === null) return replace(leaving);
    const words = t("talk.kiosk.left", { seconds });
    const known = leaving.querySelector("p");
    if (known) known.textContent = words;
    else replace(leaving, h("div", { class: "notice", role: "alert" }, h("p", {}, words),
      h("button", { class: "button small", type: "button", on: { click: onStay } }, t("talk.kiosk.stay"))));
    return undefined;
  };
  return { element: h("div", { class: "live-notices" }, place, leaving), state, left };
}
