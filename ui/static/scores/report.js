/** One report: every metric with its interval, by model and by day, and the exchanges behind it. */

import { api, operator } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { number, t, when } from "../core/page.js";
import { exchanges } from "./exchanges.js";
import { families } from "./figures.js";
import { groups, overDays } from "./parts.js";
import { address, between, drawn, family, figure } from "./words.js";

/**
 * @param {HTMLElement} element
 * @param {{report: string, metric?: string, session?: string}} place
 * @param {(place: any) => void} go
 */
export async function showReport(element, place, go) {
  const report = await api(`/api/reports/${encodeURIComponent(place.report)}`, { token: operator.token });
  const below = h("div", {});
  const look = (metric) => {
    history.replaceState(null, "", address({ report: report.name, metric, session: place.session }));
    replace(below, exchanges(report, { metric, session: place.session }));
    below.scrollIntoView({ behavior: "smooth", block: "start" });
  };
  replace(element,
    top(report, go),
    report.metrics.length ? families(report.metrics).map(([name, metrics]) => metricsCard(name, metrics, look))
      : h("p", { class: "empty" }, t("scores.no_metrics")),
    groups(report), report.metrics.length ? overDays(report) : null, below);
  replace(below, exchanges(report, place));
  if (place.metric || place.session) below.scrollIntoView({ block: "start" });
}

function top(report, go) {
  const back = (event) => {
    if (event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    go({});
  };
  const failed = h("p", { class: "complaint", role: "alert" });
  return h("header", { class: "stack report-top" },
    h("a", { class: "back", href: address({}), on: { click: back } }, `← ${t("scores.all")}`),
    h("div", { class: "scores-head" },
      h("div", {}, h("h1", {}, report.name),
        h("p", { class: "muted" }, [
          when(report.made), report.software,
          t("scores.sessions", { count: number(report.sessions.length) }),
          report.took_sec === null ? null : t("scores.took", { minutes: number(report.took_sec / 60, { maximumFractionDigits: 1 }) }),
        ].filter(Boolean).join(" · "))),
      h("div", { class: "row report-do" },
        report.page ? h("a", { class: "button primary", href: report.page, target: "_blank", rel: "noopener" }, t("scores.open_page")) : null,
        report.files.filter((name) => !name.includes("/")).map((name) =>
          h("button", { class: "button", type: "button", on: { click: () => download(report.name, name, failed) } }, name)),
        remove(report.name, go, failed))),
    failed, judges(report.judges));
}

function judges(list) {
  if (!list.length) return null;
  return h("ul", { class: "judges" }, list.map(({ name, version, host, licence }) =>
    h("li", { class: "chip" }, [name, version, licence].filter(Boolean).join(" "),
      h("span", { class: host ? "remote" : "muted" }, host ? t("scores.judge.remote", { host }) : t("scores.judge.here")))));
}

async function download(report, name, failed) {
  try {
    const response = await api(`/api/reports/${report}/files/${name}`, { token: operator.token, raw: true });
    const url = URL.createObjectURL(await response.blob());
    h("a", { href: url, download: `${report}-${name}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  } catch (error) {
    failed.textContent = error.message;
  }
}

/** Asks once more in place: what is deleted is gone. */
function remove(name, go, failed) {
  let sure = false;
  const button = h("button", { class: "button danger", type: "button" }, t("scores.delete"));
  button.addEventListener("click", async () => {
    if (!sure) {
      sure = true;
      button.textContent = t("scores.delete_sure");
      return;
    }
    try {
      await api(`/api/reports/${name}`, { method: "DELETE", token: operator.token });
      go({});
    } catch (error) {
      failed.textContent = error.message;
    }
  });
  button.addEventListener("blur", () => {
    sure = false;
    button.textContent = t("scores.delete");
  });
  return button;
}

function metricsCard(name, metrics, look) {
  const id = `family-${name.replace(/\W/g, "-")}`;
  return h("section", { class: "card stack", "aria-labelledby": id },
    h("h2", { id }, family(name)),
    h("div", { class: "metrics" }, metrics.map((metric) => row(metric, look))));
}

function row(metric, look) {
  return h("article", { class: "metric" },
    h("div", { class: "metric-name" },
      h("h3", {}, metric.title),
      metric.about ? h("p", { class: "muted small" }, metric.about) : null,
      metric.caveat ? h("p", { class: "caveat small" }, metric.caveat) : null),
    h("div", { class: "metric-drawn" }, drawn(metric), direction(metric)),
    h("div", { class: "metric-figures" },
      h("p", { class: "metric-mean" }, figure(metric.mean, metric)),
      h("p", { class: "muted small" }, metric.mean === null ? t("scores.unscored_all") : between(metric))),
    h("div", { class: "metric-n small" },
      h("p", {}, t("scores.over", { n: number(metric.n) })), unscored(metric),
      h("button", { class: "button quiet small", type: "button", "aria-label": t("scores.look_at", { metric: metric.title }),
        on: { click: () => look(metric.name) } }, t("scores.look"))));
}

function direction({ higher_is_better: up, mean }) {
  if (up === null || mean === null) return null;
  return h("p", { class: "muted direction" }, t(up ? "scores.higher" : "scores.lower"));
}

function unscored({ unscored: count, reasons }) {
  if (!count) return h("p", { class: "muted" }, t("scores.none_unscored"));
  const told = Object.entries(reasons);
  const words = t("scores.unscored", { count: number(count) });
  if (!told.length) return h("p", { class: "muted" }, words);
  return h("details", {}, h("summary", {}, words),
    h("ul", {}, told.map(([why, many]) => h("li", {}, `${number(many)} × ${why}`))));
}
