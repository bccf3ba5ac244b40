/** The single exchanges behind the figures: what each scored, why, and where to hear it. */

import { api, operator } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { number, t } from "../core/page.js";
import { valuedFirst } from "./figures.js";
import { choice, labelled } from "./parts.js";
import { figure, sessionAddress } from "./words.js";

const AT_ONCE = 20;

/**
 * @param {any} report
 * @param {{metric?: string | null, session?: string | null}} wished
 */
export function exchanges(report, { metric = null, session = null }) {
  const metrics = new Map(valuedFirst(report.metrics).map((each) => [each.name, each]));
  const list = h("ol", { class: "exchanges" });
  const count = h("p", { class: "muted small", role: "status" });
  const more = h("button", { class: "button", type: "button", hidden: true, on: { click: () => load(list.childElementCount) } }, t("scores.exchange.more"));
  const which = choice("ex-metric", [["", t("scores.exchange.every")], ...[...metrics].map(([name, each]) => [name, each.title])], anew, metric);
  const order = choice("ex-order", ["lowest", "highest", "number"].map((name) => [name, t(`scores.order.${name}`)]), anew, metric ? "lowest" : "number");

  function anew() {
    replace(list);
    load(0);
  }

  async function load(offset) {
    const asked = new URLSearchParams({ offset, limit: AT_ONCE, order: which.value ? order.value : "number" });
    if (which.value) asked.set("metric", which.value);
    if (session) asked.set("session_id", session);
    order.disabled = !which.value;
    try {
      const told = await api(`/api/reports/${report.name}/exchanges?${asked}`, { token: operator.token });
      if (list.childElementCount !== offset) return; // another was chosen meanwhile
      list.append(...told.exchanges.map((each) => exchange(each, which.value, metrics)));
      count.textContent = told.total ? t("scores.exchange.count", { shown: number(list.childElementCount), total: number(told.total) }) : t("scores.exchange.none");
      more.hidden = list.childElementCount >= told.total;
    } catch (error) {
      count.textContent = error.message;
    }
  }
  anew();
  return h("section", { class: "card stack", id: "exchanges", "aria-labelledby": "exchanges-title" },
    h("div", { class: "head" },
      h("div", {}, h("h2", { id: "exchanges-title" }, t("scores.exchange.title")),
        session ? h("p", { class: "muted small" }, t("scores.exchange.of_session", { session })) : null),
      h("div", { class: "row choices" }, labelled(which, "scores.metric"), labelled(order, "scores.exchange.order"))),
    list, count, more);
}

function exchange(each, chosen, metrics) {
  const asked = Object.entries(each.scores).filter(([name]) => !chosen || name === chosen);
  const shown = [...asked.filter(([, { value }]) => value !== null), ...asked.filter(([, { value }]) => value === null)];
  return h("li", { class: "exchange" },
    h("div", { class: "exchange-where" },
      h("a", { href: sessionAddress(each.session_id), title: each.session_id },
        t("scores.exchange.where", { number: number(each.number + 1), session: each.session_id.slice(0, 11) })),
      Object.values(each.attributes).map((value) => h("span", { class: "chip" }, value))),
    h("dl", { class: chosen ? "exchange-scores" : "exchange-scores all" },
      shown.map(([name, score]) => scored(metrics.get(name) ?? { title: name }, score, !chosen))));
}

/** Many metrics at once are told by their figures alone, one with what the judge said. */
function scored(metric, { value, why, unscored }, short) {
  const reason = t("scores.exchange.unscored", { why: unscored });
  return h("div", { title: short ? (why || (value === null ? reason : null)) : null },
    h("dt", {}, metric.title),
    value === null ? h("dd", { class: "not-scored" }, short ? t("scores.exchange.not") : reason)
      : h("dd", {}, h("strong", {}, figure(value, metric)), why && !short ? h("span", { class: "muted" }, why) : null));
}
