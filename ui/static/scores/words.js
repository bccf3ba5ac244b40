/** Scores in words and drawings that every view shares. */

import { h } from "../core/dom.js";
import { has, number, t } from "../core/page.js";
import { scaleOf } from "./figures.js";

/** A figure of a metric, with its unit. */
export function figure(value, { unit = "", largest = null } = {}) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 || (largest ?? 0) > 10 ? 1 : 2;
  const said = number(value, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return unit ? `${said} ${unit}` : said;
}

/** The interval in words. */
export function between({ low, high, ...metric }) {
  return low === null || high === null ? t("scores.no_interval")
    : t("scores.between", { low: figure(low, { ...metric, unit: "" }), high: figure(high, metric) });
}

/** A mean and its interval on the metric's scale; for the eye only. */
export function interval(figures, scale, { better = null } = {}) {
  const { mean, low, high } = figures;
  const from = scale.at(low ?? mean);
  const to = scale.at(high ?? mean);
  return h("div", { class: "interval", "aria-hidden": "true", dataset: { better: String(better) } },
    h("i", { class: "rail" }),
    mean === null ? null : [
      h("i", { class: "span", style: `left:${from}%;width:${to - from}%` }),
      h("i", { class: "mean", style: `left:${scale.at(mean)}%` }),
    ],
    h("span", { class: "end least" }, number(scale.least)),
    h("span", { class: "end most" }, number(scale.most)));
}

/** Nothing, where there is nothing to draw. */
export function drawn(metric) {
  return metric.mean === null ? null : interval(metric, scaleOf(metric), { better: metric.higher_is_better });
}

export function family(name) {
  const key = `scores.family.${name}`;
  return has(key) ? t(key) : name;
}

export function dimension(name) {
  const key = `scores.by.${name}`;
  return has(key) ? t(key) : name.replaceAll("_", " ");
}

/** An address of this page with other parameters; those of no report go along. */
export function address(changes) {
  const url = new URL(location.href);
  for (const name of ["report", "metric", "session"]) url.searchParams.delete(name);
  for (const [name, value] of Object.entries(changes)) if (value) url.searchParams.set(name, value);
  return url.pathname + url.search;
}

/** A session in the operator's own view of it. */
export function sessionAddress(id) {
  const theme = new URLSearchParams(location.search).get("__theme");
  return `/sessions?id=${encodeURIComponent(id)}${theme ? `&__theme=${theme}` : ""}`;
}
