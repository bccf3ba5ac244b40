/** The operator's scores: all reports, or the one in the address. */

import { asOperator } from "../core/api.js";
import { h, replace, stylesheet } from "../core/dom.js";
import { t } from "../core/page.js";
import { showList } from "./list.js";
import { showReport } from "./report.js";
import { address } from "./words.js";

/** @param {HTMLElement} element */
export async function mount(element) {
  await stylesheet(import.meta.url, "./scores.css");
  await asOperator(element, () => {
    const page = h("div", { class: "stack scores" });
    replace(element, page);
    window.addEventListener("popstate", () => show(page));
    return show(page);
  });
}

async function show(page) {
  const asked = Object.fromEntries(new URLSearchParams(location.search));
  const go = (place) => {
    history.pushState(null, "", address(place));
    scrollTo(0, 0);
    show(page);
  };
  page.setAttribute("aria-busy", "true");
  try {
    await (asked.report ? showReport(page, asked, go) : showList(page, go));
  } catch (error) {
    replace(page, h("section", { class: "card nothing" },
      h("p", { class: "complaint", role: "alert" }, error.message),
      h("a", { class: "button", href: address({}) }, t("scores.all"))));
  }
  page.removeAttribute("aria-busy");
}
