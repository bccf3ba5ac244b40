/** What the scorer found of this session, once it has been scored. */

import { ApiError } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { number, t, when } from "../core/page.js";
import { scores } from "./requests.js";

/** @param {string} id @param {AbortSignal} signal */
export function scoresOf(id, signal) {
  const place = h("div", { class: "stack" }, h("p", { class: "muted" }, t("sessions.loading")));
  const show = async () => {
    try {
      const found = await scores(id, signal);
      replace(place, found.length ? found.map(report) : h("p", { class: "muted" }, t("sessions.scores.none")));
    } catch (error) {
      if (signal.aborted) return;
      const absent = error instanceof ApiError && error.status === 404;
      replace(place, h("p", { class: "muted" }, absent ? t("sessions.scores.none") : error.message ?? t("sessions.scores.none")));
    }
  };
  show();
  return h("section", { class: "card stack scored" }, h("h2", {}, t("sessions.scores.title")), place);
}

function report({ report: { name, made, metrics }, exchanges }) {
  const titles = new Map(metrics.map((metric) => [metric.name, metric]));
  return h("div", { class: "stack" },
    h("p", { class: "muted" }, t("sessions.scores.from", { name, when: made ? when(made) : "" })),
    h("table", {}, h("tbody", {}, [...means(exchanges)].map(([metric, { sum, n, missing }]) => {
      const about = titles.get(metric);
      return h("tr", {}, h("th", { scope: "row" }, about?.title ?? metric),
        h("td", { class: "numeric" }, n ? `${number(sum / n, { maximumFractionDigits: 2 })} ${about?.unit ?? ""}` : "–"),
        h("td", { class: "muted small" }, missing ? t("sessions.scores.missing", { n: number(missing) }) : t("sessions.scores.n", { n: number(n) })));
    }))));
}

/** Mean of every metric over the exchanges. */
export function means(exchanges) {
  const found = new Map();
  for (const { scores: given } of exchanges) {
    for (const [name, { value }] of Object.entries(given)) {
      const so = found.get(name) ?? { sum: 0, n: 0, missing: 0 };
      if (typeof value === "number") {
        so.sum += value;
        so.n += 1;
      } else so.missing += 1;
      found.set(name, so);
    }
  }
  return found;
}
