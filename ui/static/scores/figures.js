/** Reading reports: pure. */

import { niceStep } from "../system/readings.js";

/** Those that have a value first; else in the order in which they come. */
export function valuedFirst(metrics) {
  const has = ({ mean }) => mean !== null;
  return [...metrics.filter(has), ...metrics.filter((metric) => !has(metric))];
}

/** What a report is told by in a line: metrics with values, of as many families as there are. */
export function headlines(metrics, many) {
  const valued = metrics.filter(({ mean }) => mean !== null);
  const firsts = families(valued).map(([, [first]]) => first);
  const chosen = [...new Set([...firsts, ...valued])].slice(0, many);
  return valued.filter((metric) => chosen.includes(metric));
}

/** Metrics by family, in the order in which they come; what has no value comes last. */
export function families(metrics) {
  const found = new Map();
  for (const metric of valuedFirst(metrics)) {
    if (!found.has(metric.family)) found.set(metric.family, []);
    found.get(metric.family).push(metric);
  }
  return [...found];
}

/** Every metric that any report has, each once, as the newest report with a value for it tells it. */
export function allMetrics(reports) {
  const found = new Map();
  for (const report of reports) {
    for (const metric of report.metrics) if ((found.get(metric.name)?.mean ?? null) === null) found.set(metric.name, metric);
  }
  return valuedFirst([...found.values()]);
}

/** One metric over all reports, the oldest first. */
export function overReports(reports, name) {
  return reports
    .filter((report) => report.made)
    .map((report) => ({ report, metric: report.metrics.find((each) => each.name === name) }))
    .filter(({ metric }) => metric && metric.mean !== null)
    .map(({ report, metric }) => ({
      x: Date.parse(report.made), y: metric.mean, low: metric.low, high: metric.high, n: metric.n, name: report.name,
    }))
    .sort((one, other) => one.x - other.x);
}

/** The points of /trend as a line for all models, and one for each if there are several. */
export function byModel(points, all) {
  const lines = new Map();
  for (const { day, model, mean, n } of points) {
    const name = model ?? all;
    if (!lines.has(name)) lines.set(name, []);
    lines.get(name).push({ x: Date.parse(day), y: mean, n, low: null, high: null });
  }
  const found = [...lines].map(([name, line]) => ({ name, points: line }));
  return found.length > 2 ? found : found.filter((each) => each.name === all);
}

/** What was better than in the report before: 1, -1, or 0 where intervals overlap or nobody can say. */
export function change(now, before) {
  if (!now || !before || now.higher_is_better === null) return 0;
  if ([now.low, now.high, before.low, before.high].some((each) => each === null)) return 0;
  const rose = now.low > before.high;
  const fell = now.high < before.low;
  if (!rose && !fell) return 0;
  return rose === now.higher_is_better ? 1 : -1;
}

/** The scale a metric is drawn on: its own, or what its figures need. */
export function scaleOf(metric, figures = [metric]) {
  const known = figures.flatMap(({ mean, low, high }) => [mean, low, high]).filter((each) => each !== null);
  const least = metric.smallest ?? Math.min(0, ...known);
  const most = metric.largest ?? Math.max(metric.unit === "%" ? 100 : 0, roundedUp(Math.max(...known, 0) * 1.15) || 1);
  return { least, most, at: (value) => Math.round(1e4 * Math.min(1, Math.max(0, (value - least) / (most - least || 1)))) / 100 };
}

/** To two digits, so that the end of a scale can be told exactly. */
function roundedUp(value) {
  const step = value > 0 ? 10 ** (Math.floor(Math.log10(value)) - 1) : 1;
  return Number((Math.ceil(value / step) * step).toPrecision(2));
}

/** Marks on an axis: round numbers, not many. */
export function ticks(least, most, wished = 5) {
  const step = niceStep((most - least || 1) / wished);
  const found = [];
  for (let at = Math.ceil(least / step) * step; at <= most + step * 1e-6; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}
