/** The operator's recorded sessions: a list to search, and each of them to look into. */

import { asOperator } from "../core/api.js";
import { stylesheet } from "../core/dom.js";
import { sessionList } from "./list.js";
import { sessionView } from "./view.js";

/** @param {HTMLElement} element */
export async function mount(element) {
  await Promise.all(["./sessions.css", "./view.css"].map((file) => stylesheet(import.meta.url, file)));
  await asOperator(element, () => turnPages(element));
}

/** What the address says is what is shown; the browser's own back and forward work. */
function turnPages(element) {
  let shown = null;
  const show = () => {
    shown?.close();
    const id = new URLSearchParams(location.search).get("id");
    shown = id ? sessionView(element, id, go) : sessionList(element, go);
  };
  const go = (search, { replace = false } = {}) => {
    history[replace ? "replaceState" : "pushState"](null, "", `${location.pathname}${search}`);
    if (!replace) {
      show();
      window.scrollTo(0, 0);
      element.focus({ preventScroll: true });
    }
  };
  window.addEventListener("popstate", show);
  show();
}
