/** All reports: the newest figures, how they changed, and the way to each. */

import { api, operator } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { number, t, when } from "../core/page.js";
import { lineChart } from "./chart.js";
import { allMetrics, change, headlines, overReports } from "./figures.js";
import { runPanel } from "./run.js";
import { address, drawn, figure } from "./words.js";

const HEADLINES = 4;

/** @param {HTMLElement} element */
export async function showList(element, go) {
  const told = await api("/api/reports", { token: operator.token });
  const again = () => showList(element, go);
  const readable = told.reports.filter((report) => !report.problem);
  replace(element,
    h("header", { class: "scores-head" },
      h("div", {}, h("h1", {}, t("scores.title")), h("p", { class: "muted" }, t("scores.about"))),
      runPanel({ running: told.running, changed: again })),
    told.reports.length ? [
      h("section", { class: "reports", "aria-label": t("scores.reports") }, told.reports.map((report, index) => card(report, comparable(report, told.reports[index + 1]), go))),
      readable.length > 1 ? overTime(readable) : null,
    ] : empty());
}

/** Other judges measure with another rule: then nobody can say what is better. */
function comparable(report, before) {
  return before && String(before.judges) === String(report.judges) ? before : undefined;
}

function empty() {
  return h("section", { class: "card nothing" },
    h("h2", {}, t("scores.empty.title")),
    h("p", {}, t("scores.empty.why")),
    h("p", {}, t("scores.empty.run")));
}

function card(report, before, go) {
  if (report.problem) {
    return h("article", { class: "card report broken" },
      h("h2", {}, report.name), h("p", { class: "complaint" }, t("scores.broken")), h("p", { class: "small" }, report.problem));
  }
  const open = (event) => {
    if (event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    go({ report: report.name });
  };
  return h("article", { class: "card report" },
    h("div", { class: "report-name" },
      h("h2", {}, h("a", { class: "cover", href: address({ report: report.name }), on: { click: open } }, report.name)),
      h("p", { class: "muted small" }, when(report.made))),
    figures(headlines(report.metrics, HEADLINES), before),
    h("p", { class: "muted small" }, [
      t("scores.sessions", { count: number(report.sessions) }),
      t("scores.exchanges", { count: number(report.exchanges) }),
      report.judges.length ? t("scores.judged_by", { judges: report.judges.join(", ") }) : null,
    ].filter(Boolean).join(" · ")));
}

function figures(metrics, before) {
  if (!metrics.length) return h("p", { class: "muted" }, t("scores.no_values"));
  return h("dl", { class: "report-figures" }, metrics.map((metric) => headline(metric, before)));
}

function headline(metric, before) {
  const turn = change(metric, before?.metrics.find((each) => each.name === metric.name));
  return h("div", {},
    h("dt", {}, metric.title),
    h("dd", {}, h("strong", {}, figure(metric.mean, metric)),
      turn ? h("span", { class: turn > 0 ? "turn better" : "turn worse" }, t(turn > 0 ? "scores.better" : "scores.worse")) : null,
      drawn(metric)));
}

function overTime(reports) {
  const metrics = allMetrics(reports);
  const place = h("div", {});
  const choose = h("select", { class: "field", id: "trend-metric", on: { change: () => draw() } },
    metrics.map((metric) => h("option", { value: metric.name }, metric.title)));
  function draw() {
    const metric = metrics.find((each) => each.name === choose.value);
    const points = overReports(reports, metric.name);
    replace(place, points.length ? lineChart({
      label: t("scores.trend.reports", { metric: metric.title }),
      series: [{ name: metric.title, points }],
      smallest: metric.smallest, largest: metric.largest,
      tell: (value) => figure(value, metric), words: { when: t("scores.made"), n: t("scores.n") },
    }) : h("p", { class: "empty" }, t("scores.trend.none")));
  }
  draw();
  return h("section", { class: "card stack", "aria-labelledby": "trend-title" },
    h("div", { class: "head" }, h("div", {}, h("h2", { id: "trend-title" }, t("scores.trend.title")),
      h("p", { class: "muted small" }, t("scores.trend.about"))),
    h("label", { class: "choice", for: "trend-metric" }, h("span", { class: "sr-only" }, t("scores.metric")), choose)),
    place);
}
