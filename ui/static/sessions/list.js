/** The list of sessions: filters, a page of rows, and how to get at the rest. */

import { h, replace } from "../core/dom.js";
import { number, t } from "../core/page.js";
import { exporting } from "./exporting.js";
import { filterBar } from "./filter_bar.js";
import { fromAddress, narrowed, PAGE, toAddress, toQuery, toSession } from "./filters.js";
import { listed } from "./requests.js";
import { table } from "./table.js";

const AGAIN = 5000; // ms, while something on the page is being recorded

/**
 * @param {HTMLElement} element
 * @param {(search: string, options?: {replace?: boolean}) => void} go
 */
export function sessionList(element, go) {
  let sought = fromAddress(location.search);
  let asking = null;
  let timer = 0;
  let rows = [];

  const count = h("p", { class: "count muted", role: "status", "aria-live": "polite" });
  const body = h("div", { class: "rows", "aria-busy": "true" });
  const pager = h("nav", { class: "pager row", "aria-label": t("sessions.pages") });
  const bar = filterBar(sought, (changed) => change({ ...changed, page: 1, order: sought.order }));
  const hand = exporting();
  replace(element,
    h("div", { class: "sessions stack" },
      h("header", { class: "list-head" }, h("h1", {}, t("sessions.title")), count),
      bar.element, body, pager, hand.element));

  function change(next) {
    sought = next;
    go(toAddress(sought, location.search), { replace: true });
    load();
  }

  async function load() {
    asking?.abort();
    clearTimeout(timer);
    asking = new AbortController();
    const { signal } = asking;
    body.setAttribute("aria-busy", "true");
    try {
      const found = await listed(toQuery(sought), signal);
      if (signal.aborted) return;
      show(found);
    } catch (error) {
      if (error.name === "AbortError" || signal.aborted) return;
      replace(count);
      replace(pager);
      replace(body, h("div", { class: "card stack", role: "alert" }, h("p", {}, error.message),
        h("button", { class: "button", on: { click: load } }, t("shell.again"))));
    }
    body.setAttribute("aria-busy", "false");
  }

  function show({ sessions, total }) {
    rows = sessions;
    const last = Math.max(1, Math.ceil(total / PAGE));
    if (!sessions.length && total && sought.page > last) {
      change({ ...sought, page: last });
      return;
    }
    replace(count, told(total, sessions.length));
    bar.suggest(sessions);
    hand.show(sought, total);
    if (!sessions.length) replace(body, nothing());
    else {
      const open = (id) => go(toSession(id, location.search));
      replace(body, table(sessions, sought.order, { open, order: (order) => change({ ...sought, order, page: 1 }) }));
    }
    replace(pager, last > 1 ? steps(last) : null);
    if (rows.some(({ state }) => state === "recording")) again();
  }

  function again() {
    timer = setTimeout(() => (document.hidden ? again() : load()), AGAIN);
  }

  function told(total, shown) {
    if (!total) return "";
    const first = (sought.page - 1) * PAGE + 1;
    if (shown === total) return t(total === 1 ? "sessions.count.one" : "sessions.count.all", { total: number(total) });
    return t("sessions.count.part", { first: number(first), last: number(first + shown - 1), total: number(total) });
  }

  function nothing() {
    if (!narrowed(sought)) {
      return h("div", { class: "card empty stack" }, h("h2", {}, t("sessions.none.title")), h("p", {}, t("sessions.none.why")));
    }
    const all = () => {
      bar.clear();
      change({ ...fromAddress(""), order: sought.order });
    };
    return h("div", { class: "card empty stack" }, h("h2", {}, t("sessions.none.match")),
      h("div", {}, h("button", { class: "button", on: { click: all } }, t("sessions.filter.clear"))));
  }

  function steps(last) {
    const to = (page, label, off) => h("button", {
      class: "button", disabled: off, on: { click: () => { change({ ...sought, page }); body.focus?.(); window.scrollTo({ top: 0 }); } },
    }, label);
    return [
      to(sought.page - 1, t("sessions.previous"), sought.page === 1),
      h("span", { class: "muted" }, t("sessions.page", { page: number(sought.page), last: number(last) })),
      to(sought.page + 1, t("sessions.next"), sought.page >= last),
    ];
  }

  load();
  return {
    close() {
      asking?.abort();
      clearTimeout(timer);
    },
  };
}
